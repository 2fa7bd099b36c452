"""What the check of a model's sentences keeps and catches: true ones, planted errors.

The sentences are those that answers were made of, cut short or joined as a model words
them; the errors are planted from one seed.
"""

import random
import re
import statistics
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from bench import answers_table
from bench.answer_questions import CLOCKS
from bench.answers_corpus import SAMPLE
from shared.answers.answer_question import PreparedAnswer
from shared.answers.evidence.evidence import Sentence
from shared.answers.worded.check_sentence import Checker
from shared.search.retrieval.search_context import SearchContext
from shared.text.analysis.tokens import scan

_SEED = 27
# What must be caught, and aimed at; and of true sentences kept.
FLOORS = {
    "number": (0.97, 0.99),
    "device": (0.97, 0.99),
    "foreign entry": (0.97, 0.99),
    "denial": (0.97, 0.99),
    "other number of the entry": (0.90, 0.98),
}
TRUE = ("verbatim", "cut short", "two joined")
_NUMBER = re.compile(r"(?<![\w.,:])\d{1,4}(?:\.\d+)?(?![\w.,:]*\d)(?![A-Za-z])")
_VERB = re.compile(r"\b(is|was|are|were|has|had|ist|war|sind|wurde|wurden|hat)\b")
_GERMAN = frozenset({"ist", "war", "sind", "wurde", "wurden", "hat"})
_DENIED = re.compile(
    r"\b(?:no|not|never|without|kein\w*|nicht|ohne)\b|n't\b", re.IGNORECASE
)
_CUT = re.compile(r"[,;:]\s|\s(?:and|und|which|because|weil)\s")
_LEAST_WORDS = 5
# A sentence with what it cites; None: nothing can be planted in it.
Planted = tuple[str, list[Sentence]] | None
Plant = Callable[[Sentence, Sequence[Sentence], random.Random], Planted]


def show(
    context: SearchContext, prepared: Sequence[PreparedAnswer | None]
) -> list[str]:
    """Print what is kept and caught; return what is below its floor."""
    sentences = list(_list_sentences(prepared))
    checker = Checker(context.facility, CLOCKS[SAMPLE].zone)
    table = Table(title="the check of a model's sentences", title_justify="left")
    for heading in ("sentences", "n", "kept", "caught", "floor", "aim"):
        table.add_column(heading, justify="right")
    failures = []
    for name, plant in _WAYS.items():
        draw = random.Random(_SEED)  # noqa: S311 - the same ones each time
        made = [one for s in sentences if (one := plant(s, sentences, draw))]
        if not made:
            continue
        flaws = [checker.find_flaw(text, cited) for text, cited in made]
        caught = [float(flaw is not None) for flaw in flaws]
        if name in TRUE:
            kept = answers_table.with_interval([1 - one for one in caught])
            table.add_row(name, str(len(made)), kept, "", "", "")
            continue
        floor, aim = FLOORS[name]
        share = statistics.fmean(caught)
        table.add_row(
            name,
            str(len(made)),
            "",
            answers_table.with_interval(caught),
            f"{floor:.2f}",
            f"{aim:.2f}",
        )
        if share < floor:
            failures.append(f"check, {name}: {share:.3f}, {floor:.2f} is the floor")
    Console(width=120).print(table)
    return failures


def _list_sentences(prepared: Sequence[PreparedAnswer | None]) -> Iterator[Sentence]:
    """Yield each sentence of the sample logbook once that an answer was made of."""
    known = set()
    for one in prepared:
        if one is None or one.plan.scope.tenant != SAMPLE:
            continue
        for scored in one.sentences:
            sentence = scored.candidate
            words = sentence.text.split()
            if (
                sentence.start is not None
                and sentence.place not in known
                and len(words) >= _LEAST_WORDS
            ):
                known.add(sentence.place)
                yield sentence


def _verbatim(one: Sentence, _: Sequence[Sentence], __: random.Random) -> Planted:
    return one.text, [one]


def _cut_short(one: Sentence, _: Sequence[Sentence], __: random.Random) -> Planted:
    cuts = [match.start() for match in _CUT.finditer(one.text)]
    cuts = [cut for cut in cuts if len(one.text[:cut].split()) >= _LEAST_WORDS]
    return (f"{one.text[: cuts[-1]]}.", [one]) if cuts else None


def _joined(one: Sentence, among: Sequence[Sentence], draw: random.Random) -> Planted:
    beside = [two for two in among if two.entry is one.entry and two is not one]
    if not beside:
        return None
    other = draw.choice(beside)
    first = one.text.rstrip(".!? ")
    return f"{first}, and {other.text[0].lower()}{other.text[1:]}", [one, other]


def _number(one: Sentence, _: Sequence[Sentence], draw: random.Random) -> Planted:
    known = set(_NUMBER.findall(f"{one.text} {one.entry.row.title}"))
    numbers = list(_NUMBER.finditer(one.text))
    if not numbers:
        return None
    at = draw.choice(numbers)
    others = [str(n) for n in range(11, 999) if str(n) not in known]
    return _replaced(one.text, at, draw.choice(others)), [one]


def _other_number(one: Sentence, _: Sequence[Sentence], draw: random.Random) -> Planted:
    own = set(_NUMBER.findall(f"{one.text} {one.entry.row.title}"))
    others = sorted(set(_NUMBER.findall(one.entry.text)) - own)
    numbers = list(_NUMBER.finditer(one.text))
    if not others or not numbers:
        return None
    return _replaced(one.text, draw.choice(numbers), draw.choice(others)), [one]


def _device(one: Sentence, among: Sequence[Sentence], draw: random.Random) -> Planted:
    names = _names_of(one)
    # The same in another spelling is no other device.
    own = {_bare(name) for name in (*names, *_names_of(one, one.entry.row.title))}
    others = sorted({name for two in among[:400] for name in _names_of(two)})
    others = [name for name in others if _bare(name) not in own]
    if not names or not others:
        return None
    name = draw.choice(names)
    return one.text.replace(name, draw.choice(others)), [one]


def _bare(name: str) -> str:
    return re.sub(r"[-_ ]+|(?<=[A-Za-z_ -])0+(?=\d)", "", name).lower()


def _names_of(one: Sentence, text: str | None = None) -> list[str]:
    text = one.text if text is None else text
    tokens = scan(text, one.entry.language, one.entry.facility)
    names = [text[token.start : token.end] for token in tokens if token.is_name]
    return [name for name in names if any(map(str.isalpha, name))]


def _foreign(one: Sentence, among: Sequence[Sentence], draw: random.Random) -> Planted:
    others = [two for two in among if two.entry.thread != one.entry.thread]
    return (one.text, [draw.choice(others)]) if others else None


def _denial(one: Sentence, _: Sequence[Sentence], draw: random.Random) -> Planted:
    verbs = list(_VERB.finditer(one.text))
    # What denies something already, another denial turns no further.
    if not verbs or _DENIED.search(one.text):
        return None
    at = draw.choice(verbs)
    denial = "nicht" if at[0] in _GERMAN else "not"
    return _replaced(one.text, at, f"{at[0]} {denial}"), [one]


def _replaced(text: str, at: re.Match[str], by: str) -> str:
    return f"{text[: at.start()]}{by}{text[at.end() :]}"


_WAYS: dict[str, Plant] = {
    "verbatim": _verbatim,
    "cut short": _cut_short,
    "two joined": _joined,
    "number": _number,
    "device": _device,
    "foreign entry": _foreign,
    "denial": _denial,
    "other number of the entry": _other_number,
}
