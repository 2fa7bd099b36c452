"""Finds what a question says and no cited entry does: a deed, a denial, a number."""

import math
import re
from collections.abc import Iterator, Sequence

from shared.answers.evidence.evidence import EvidenceEntry, Sentence
from shared.answers.question import deeds
from shared.answers.question.counts import UNIT_WORDS
from shared.answers.question.plain_numbers import find_numbers
from shared.answers.question.question import Question
from shared.text.reading.quantities import Quantity, find_quantities
from shared.vocabulary import common_words

_DENIAL = (
    r"(?:\b(?:not|never|no longer|cannot|unable to|failed to|fails to|refused to"
    r"|refuses to|nicht|nie|nie mehr|kein\w{0,2})\b|n['\u2019]t\b)"
)
# The verb that is denied stands behind the word, or ends the clause: `didn't the beam
# come back after the trip`. NOT in capitals denies nothing: it excludes a word.
_EXCLUDES = r"(?!(?-i:NOT)\b)"
_NEXT = re.compile(
    rf"(?i)\b{_EXCLUDES}(?:not|never|no longer|nicht|nie)(?: mehr)? (\w+)"
)
_BEHIND = re.compile(rf"(?i)(?P<denial>{_EXCLUDES}{_DENIAL})(?P<rest>.*)\Z", re.DOTALL)
_NEXT_CLAUSE = re.compile(
    r"(?i)\b(?:after|as|at|because|before|by|during|for|from|if|in|on|since|than|to|under"
    r"|until|when|while|with|bei|nach|nachdem|vor|w\u00e4hrend|weil|wenn)\b"
)
_WORD = re.compile(r"\w+")
# So many letters of a verb are alike in its forms.
_LETTERS = 4

# What is measured in a dimension.
_MEASURES = {
    "voltage": r"voltages?|\w*spannung",
    "pressure": r"pressures?|\w*druck",
    "temperature": r"temperatures?|\w*temperatur",
    # What something cost us may be time.
    "money": r"prices?|preis|how much (?:did|does|do|will|would) .+? cost|was kostet"
    r"|what (?:did|does|do|will|would) .+? cost(?= in\b|\W*\Z)"
    r"|prix|prezzo|precio|(?:wie ?viel|combien|quanto|cu[a\u00e1]nto)"
    r"(?: (?!de\b)\S+){0,4}? (?:kost|co[u\u00fb]t|cost)\w*",
}
# What stands between the word that asks and the measure that is asked for.
_ASKED_FOR = (
    r"(?:\Awas|\bwhat|\bwhich|\bwelche[rsnm]?|\bwie|\bquel(?:le)?|\bquale?|\bcu[a\u00e1]l)"
    r"(?:['\u2019]s)?\s(?:(?!(?:happen|went|caus|made|chang|wrong|do|to|of|with|in|on|at"
    r"|by|mit|zu|von)\w{0,3}\b)[\w-]+\s){0,4}?"
)
# What tells of it besides.
_ALSO = {"pressure": r"\w*va[ck]uum\w*", "money": r"price\w*|\w*preis\w*"}
_SIGNS = {"money": re.compile("[$\u20ac\u00a3]")}
_WHICH = re.compile(
    r"\b(?:which|welche[rsnm]?|quel(?:le)?s?|quale|quali)\s+(\w+)", re.IGNORECASE
)
_RANKED = re.compile(
    r"\b(?:(?:most|least) (?:often|frequent(?:ly)?|common(?:ly)?)"
    r"|(?:am )?(?:h\u00e4ufigste|seltenste)[nrsm]?"
    r"|le (?:plus|moins) souvent|la? (?:plus|moins) fr\u00e9quente?"
    r"|pi\u00f9 (?:spesso|frequente(?:mente)?)"
    r"|m\u00e1s (?:a menudo|frecuente(?:mente)?|veces))\b",
    re.IGNORECASE,
)
_HOW_MANY = r"(?i)\b(?:how many|wie viele?)\s+"
# What asks for yes or no, of what is over.
_WHETHER = re.compile(
    r"\W*(?:was|were|did|had|wurden?|war(?:en)?|hatten?)\b", re.IGNORECASE
)
_MEASURED_KINDS = frozenset({"how_much", "what", "which"})
_NUMERAL = re.compile(r"[\d.,]*\d")
# What is reckoned from two others is stated by neither: `by 5 mA`, `3 hours`, `30 %`.
_RECKONED = frozenset({"time", "fraction", "ratio"})
_DIFFERENCE = re.compile(r"(?i)\b(?:by|um)\W*\Z")
# What lies between the name of a measure and its size, or a verb and what denies it.
_BESIDE = r"[^.!?\n]{0,40}"
# Who asks may round.
_ROUNDED = 0.1


def list_unsaid(
    question: Question,
    cited: Sequence[EvidenceEntry],
    beside: Sequence[EvidenceEntry] = (),
    told: Sequence[Sentence] = (),
) -> tuple[str, ...]:
    """List what of a question stands in none of the cited entries.

    `beside`: the others of their threads; `told`: the sentences that are chosen.
    """
    unsaid = (
        find_unsaid_deed(question, told if question.is_of_state else [*cited, *beside]),
        find_unsaid_doing(question, told),
        find_unsaid_denial(question, cited),
        find_unsaid_unit(question, cited),
        find_unsaid_number(question, cited),
        find_unsaid_noun(question, cited),
        find_unsaid_ranking(question, cited),
    )
    return tuple(one for one in unsaid if one is not None)


def find_unsaid_deed(
    question: Question, told: Sequence[EvidenceEntry | Sentence]
) -> str | None:
    """Return the deed of a question, `repaired`, where nothing that is told says it.

    When it was, who did it or whether it is or was so, nobody wrote then. A cause is
    told in words that no question knows.
    """
    is_asked = (
        question.kind in deeds.KINDS
        or question.is_of_state
        or question.is_how_to
        or _WHETHER.match(question.text) is not None
    )
    if not (question.deed and is_asked):
        return None
    is_said = any(
        not question.deed_in(one.language).isdisjoint(one.terms)
        or (question.is_of_state and question.tells_order(one.text, one.language))
        for one in told
    )
    return None if is_said else question.deed


def find_unsaid_doing(question: Question, told: Sequence[Sentence]) -> str | None:
    """Return the thing and its deed in a question, where others did that alone.

    None: one of the sentences says it of that thing, or none says it of anything.
    """
    doing = deeds.find_doing(question.text)
    if doing is None or not {*doing} <= {*question.plain_words}:
        return None
    what, did = doing
    saying = [
        (one, terms)
        for one in told
        for terms in [one.terms | one.entry.context_terms]
        if question.terms_in(one.entry.language).get(did) in terms
    ]
    is_of_it = any(
        question.terms_in(one.entry.language).get(what) in terms
        for one, terms in saying
    )
    return None if is_of_it or not saying else f"{what} {did}"


def find_unsaid_denial(
    question: Question, entries: Sequence[EvidenceEntry]
) -> str | None:
    """Return the denied verb of a question, where no entry denies it, too.

    None where it denies nothing, or an entry does as well.
    """
    denied = _find_denied(question)
    if denied is None:
        return None
    written, verb = denied
    stem = re.escape(verb[: max(_LETTERS, len(verb) - 2)])
    said = re.compile(rf"(?i){_DENIAL}{_BESIDE}\b{stem}|\b{stem}\w*{_BESIDE}{_DENIAL}")
    texts = (
        one.translate(text) for one in entries for text in (one.row.title, one.text)
    )
    return None if any(map(said.search, texts)) else written


def find_unsaid_unit(
    question: Question, entries: Sequence[EvidenceEntry]
) -> str | None:
    """Return the unit or measure that a question is about, where no entry tells of it.

    None where it names nothing of the kind, or an entry has it as well.
    """
    asked = [*_find_dimensions(question)]
    stated = [*_find_stated(question.text)]
    if not asked and not stated:
        return None
    texts = [
        (text, one.language) for one in entries for text in (one.row.title, one.text)
    ]
    told = [
        (text[one.start : one.end], one)
        for text, language in texts
        for one in find_quantities(text, language)
    ]
    whole = "\n".join(text for text, _ in texts)
    dimensions = {one.dimension for _, one in told}
    for written, dimension in asked:
        if dimension not in dimensions and not _is_told(dimension, whole):
            return written
    return next(
        (
            written
            for written, one in stated
            if not _is_stated(written, one, told, whole)
        ),
        None,
    )


def tells_dimensions(question: Question, sentence: Sentence) -> bool:
    """Tell whether a sentence has a size of each kind that a question is about."""
    if question.kind != "how_much":
        return True
    asked = {dimension for _, dimension in _find_dimensions(question)}
    if not asked:
        return True
    # A number of something else is beside the name of a measure, too.
    rest = sentence.text
    for one in reversed([*find_quantities(rest, sentence.entry.row.language)]):
        asked.discard(one.dimension)
        rest = f"{rest[: one.start]};{rest[one.end :]}"
    for thing in question.called:
        rest = re.sub(re.escape(thing.written), "", rest, flags=re.IGNORECASE)
    return all(_is_told(dimension, rest) for dimension in asked)


def find_unsaid_number(
    question: Question, entries: Sequence[EvidenceEntry]
) -> str | None:
    """Return the first number of a question that no entry has; None: they have all."""
    if not question.numbers:
        return None
    told = {number for one in entries for number in find_numbers(_whole(one))}
    return next(
        (one for one in question.numbers if not told.issuperset(find_numbers(one))),
        None,
    )


def find_unsaid_noun(
    question: Question, entries: Sequence[EvidenceEntry]
) -> str | None:
    """Return the thing that is asked for, `which pump`, where no entry has one.

    Entries in another language have another word for it.
    """
    asked = _WHICH.search(question.text) if question.kind == "which" else None
    language = common_words.detect_language(question.text)
    if asked is None or any(one.language != language for one in entries):
        return None
    term = question.terms_in(language).get(asked[1])
    return asked[1] if term and not any(term in one.terms for one in entries) else None


def find_unsaid_ranking(
    question: Question, entries: Sequence[EvidenceEntry]
) -> str | None:
    """Return `most often` of a question, where no entry says so of anything.

    Nobody counts what each of them tells once.
    """
    asked = _RANKED.search(question.text)
    if asked is None or any(_RANKED.search(_whole(one)) for one in entries):
        return None
    return asked[0]


def _find_denied(question: Question) -> tuple[str, str] | None:
    """Return the denial of a question in its words, and the verb; None: no denial."""
    if following := _NEXT.search(question.text):
        return following[0], following[1]
    behind = _BEHIND.search(question.text)
    if behind is None:
        return None
    clause = _NEXT_CLAUSE.split(behind["rest"])[0]
    for part in (clause, behind["rest"]):
        # What is no content word is a time, or says nothing.
        words = [one for one in _WORD.findall(part) if one in question.words]
        if words:
            denial = behind["denial"]
            denial = "not" if denial.endswith(("'t", "\u2019t")) else denial
            return f"{denial} {words[-1]}", words[-1]
    return None


def _find_dimensions(question: Question) -> Iterator[tuple[str, str]]:
    """Yield the dimensions a question asks for, each with its word."""
    for dimension, units in UNIT_WORDS.items():
        counted = re.search(rf"{_HOW_MANY}({units})\b", question.text)
        if counted:
            yield counted[1], dimension
    if question.kind in _MEASURED_KINDS:
        is_asked = question.kind == "how_much"
        for dimension, names in _MEASURES.items():
            # `What happened to the pressure gauge` asks for no pressure.
            before = "" if is_asked or dimension == "money" else _ASKED_FOR
            measured = re.search(rf"(?i){before}\b({names})\b", question.text)
            if measured:
                yield measured[1].rpartition(" ")[2], dimension


def _find_stated(text: str) -> Iterator[tuple[str, Quantity]]:
    """Yield the quantities that a question states, as they are written."""
    for one in find_quantities(text):
        if one.dimension in _RECKONED or _DIFFERENCE.search(text, 0, one.start):
            continue
        yield text[one.start : one.end], one


def _is_told(dimension: str, text: str) -> bool:
    """Tell whether a text has a unit of a dimension, or its name beside a number.

    `At the price of cathode life` says of no price how high it is.
    """
    signs = _SIGNS.get(dimension)
    if signs and signs.search(text):
        return True
    ways = (source.get(dimension) for source in (_MEASURES, _ALSO))
    names = "|".join(one for one in ways if one)
    told = rf"\b(?:{UNIT_WORDS[dimension]})\b"
    if names:
        told += rf"|\d{_BESIDE}\b(?:{names})\b|\b(?:{names})\b{_BESIDE}\d"
    return re.search(f"(?i){told}", text) is not None


def _is_stated(
    written: str, asked: Quantity, told: Sequence[tuple[str, Quantity]], text: str
) -> bool:
    """Tell whether a quantity is there, about as large, or its number alone."""
    if any(
        one.dimension == asked.dimension
        and math.isclose(one.value, asked.value, rel_tol=_ROUNDED)
        for _, one in told
    ):
        return True
    number = _NUMERAL.search(written)
    if number is None:
        return True
    with_unit = any(
        (m := _NUMERAL.search(said)) and m[0] == number[0] for said, _ in told
    )
    # What is told in another unit is not meant where the number stands alone.
    return not with_unit and bool(
        re.search(rf"(?<![\d.,]){re.escape(number[0])}(?![.,]?\d)", text)
    )


def _whole(one: EvidenceEntry) -> str:
    row = one.row
    year = str(row.entry_time.year)
    beside = (row.external_id, year, *row.tags, *map(str, row.metadata.values()))
    return "\n".join((row.title, one.text, *beside))
