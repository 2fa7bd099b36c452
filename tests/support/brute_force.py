"""What a question finds, worked out entry by entry, by no code of a search.

It knows a question as a tree of its own, writes it down as people do, and judges an
entry by what the analyser has kept of it and by what the analyser makes of a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shared.text.analysis.tokens import scan
from shared.text.facility.facility import PLAIN
from shared.text.words import compounds, folding, function_words
from shared.text.words.character_runs import Token
from shared.vocabulary import common_words

CJK = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class Words:
    text: str


@dataclass(frozen=True)
class Quoted:
    text: str


@dataclass(frozen=True)
class Signs:
    """A pattern, `inj*` or `sr:c0?-rf*`."""

    text: str


@dataclass(frozen=True)
class Field:
    name: str
    value: str


@dataclass(frozen=True)
class No:
    part: Part


@dataclass(frozen=True)
class Every:
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Some:
    parts: tuple[Part, ...]


Part = Words | Quoted | Signs | Field | No | Every | Some


def written(part: Part) -> str:
    """Return the question as somebody types it; what is inside stands in brackets."""
    match part:
        case Words(text) | Signs(text):
            return text
        case Quoted(text):
            return f'"{text}"'
        case Field(name, value):
            return f"{name}:{value}"
        case No(Words(text)) if " " not in text:
            return f"NOT {text}"
        case No(inner):
            return f"-{_inside(inner)}"
        case Every(parts):
            return "".join(_joined(parts))
        case Some(parts):
            return " OR ".join(_inside(one) for one in parts)


def _joined(parts: Sequence[Part]) -> Iterator[str]:
    for number, one in enumerate(parts):
        if number:
            # Side by side they would be read together.
            beside = isinstance(one, Words) and isinstance(parts[number - 1], Words)
            yield " AND " if beside else " "
        yield _inside(one)


def _inside(part: Part) -> str:
    is_one = isinstance(part, Quoted | Signs | Field | No)
    is_one = is_one or (isinstance(part, Words) and " " not in part.text)
    return written(part) if is_one else f"({written(part)})"


@dataclass(frozen=True)
class Entry:
    """What is kept of one entry."""

    language: str
    # Neighbours, line by line.
    lines: tuple[tuple[str, ...], ...]
    idents: frozenset[str]
    source: str = "api"
    logbooks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    metadata: Mapping[str, Sequence[str]] = field(default_factory=dict)
    terms: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def group(self) -> str:
        """Whose words its words are compared with."""
        return self.language if self.language in folding.STEMMED_LANGUAGES else "*"

    def has(self, phrase: Sequence[str]) -> bool:
        """Whether these terms stand side by side."""
        if len(phrase) == 1:
            return phrase[0] in self.terms
        if not self.terms.issuperset(phrase):
            return False
        wanted = tuple(phrase)
        return any(
            line[at : at + len(wanted)] == wanted
            for line in self.lines
            for at in range(len(line) - len(wanted) + 1)
        )


class Vocabulary:
    """Words as written, by language, each with its stem; and names."""

    def __init__(self, words: Mapping[str, Mapping[str, str]], names: set[str]) -> None:
        self.words = words
        self.names = names
        # Going through all of it costs more than all the rest.
        self._known: dict[tuple[str, str], tuple[set[str], set[str]]] = {}

    def meant(self, signs: str, group: str) -> tuple[set[str], set[str]]:
        """Return the terms and the names that a pattern stands for."""
        if (signs, group) not in self._known:
            self._known[signs, group] = self._meant(signs, group)
        return self._known[signs, group]

    def _meant(self, signs: str, group: str) -> tuple[set[str], set[str]]:
        shape = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in signs)
        fits = re.compile(shape.lower(), re.DOTALL).fullmatch
        words = self.words.get(group, {})
        return (
            {term for word, term in words.items() if fits(word)},
            {name for name in self.names if fits(name)},
        )


def matches(part: Part, entry: Entry, known: Vocabulary) -> bool:
    """Whether the entry is what is asked for."""
    own = _languages(part)
    if isinstance(part, Words):
        return _has_words(part.text, entry, own, negated=False, alone=True)
    return _judge(part, entry, known, own, negated=False)


def is_left(part: Part, entry: Entry, known: Vocabulary) -> bool:
    """Whether the entry is what the question does not exclude, whatever it says.

    What is excluded is excluded whole, with what it excludes itself in turn.
    """
    return _is_left(part, entry, known, _languages(part))


def _is_left(part: Part, entry: Entry, known: Vocabulary, own: frozenset[str]) -> bool:
    match part:
        case No(inner):
            twice = _alone(inner)
            if isinstance(twice, No):
                return _is_left(twice.part, entry, known, own)
            return _judge(part, entry, known, own, negated=False)
        case Every(parts):
            return all(_is_left(one, entry, known, own) for one in parts)
        case Some(parts):
            return any(_is_left(one, entry, known, own) for one in parts)
        case Field():
            return _judge(part, entry, known, own, negated=False)
    return True


def _languages(part: Part) -> frozenset[str]:
    """Return the languages that the wanted words of a question may be in."""
    return common_words.find_languages(" ".join(_wanted(part)))


def _wanted(part: Part) -> Iterator[str]:
    match part:
        case Words(text):
            yield text
        case Every(parts) | Some(parts):
            for one in parts:
                yield from _wanted(one)


def _alone(part: Part) -> Part:
    while isinstance(part, Every | Some) and len(part.parts) == 1:
        (part,) = part.parts
    return part


def _judge(
    part: Part, entry: Entry, known: Vocabulary, own: frozenset[str], *, negated: bool
) -> bool:
    def judge(one: Part, *, inside_not: bool = negated) -> bool:
        return _judge(one, entry, known, own, negated=inside_not)

    match part:
        case No(inner):
            return not judge(inner, inside_not=not negated)
        case Every(parts):
            return all(judge(one) for one in parts)
        case Some(parts):
            return any(judge(one) for one in parts)
        case Field(name, value):
            return _passes(name, value, entry)
    match part:
        case Words(text):
            return _has_words(text, entry, own, negated=negated)
        case Quoted(text):
            return _has_phrase(text, entry, known)
        case Signs(text):
            terms, names = known.meant(text, entry.group)
            return not entry.terms.isdisjoint(terms) or not entry.idents.isdisjoint(
                names
            )


def _passes(name: str, value: str, entry: Entry) -> bool:
    match name:
        case "source":
            return entry.source == value
        case "logbook":
            return value in entry.logbooks
        case "tag":
            return value in entry.tags
        case "author":
            return any(value.lower() in one.lower() for one in entry.authors)
        case _:
            held = entry.metadata.get(name.removeprefix("metadata."), ())
            return any(_lies_in(value, one) for one in held)


_SIGNED = re.compile("(?P<sign>[<>]=?|=|)(?P<end>.*)")
_MONTH = re.compile(r"\d{4}-\d\d")


def _lies_in(asked: str, held: str) -> bool:
    """Whether a value is what is asked for; of a date its month is looked at."""
    low, dots, high = asked.partition("..")
    if dots:
        is_above = not low or _is_at_least(held, low)
        return is_above and (not high or _is_at_least(high, held))
    match = _SIGNED.fullmatch(asked)
    assert match is not None
    end = match["end"]
    is_least, is_most = _is_at_least(held, end), _is_at_least(end, held)
    match match["sign"]:
        case ">=":
            return is_least
        case "<=":
            return is_most
        case ">":
            return is_least and not is_most
        case "<":
            return is_most and not is_least
    return is_least and is_most


def _is_at_least(one: str, other: str) -> bool:
    month, another = _MONTH.match(one), _MONTH.match(other)
    if month and another:
        return month[0] >= another[0]
    try:
        return float(one) >= float(other)
    except ValueError:
        # A number is not comparable to a word, nor to a date.
        return False


# So many words say little of how a thing is; in more, `off` is one among others.
_FEW = 3
_STATES = frozenset({"on", "off", "up", "down", "no", "not", "again", "all"})


def _has_words(
    text: str, entry: Entry, own: frozenset[str], *, negated: bool, alone: bool = False
) -> bool:
    tokens = [*scan(text, entry.group)]
    things: list[tuple[list[Token], bool]] = []
    for number, token in enumerate(tokens):
        before = tokens[number - 1] if number else None
        is_cjk = CJK.match(token.term) is not None
        if is_cjk and before and before.end - token.start == 1:
            things[-1][0].append(token)
            continue
        gap = text[before.end : token.start] if before else " "
        if negated and before and not any(map(str.isspace, gap)):
            # Pieces of one word are no words of their own.
            things[-1] = ([*things[-1][0], token], True)
            continue
        things.append(([token], is_cjk))
    telling = [one for one in things if not _joins(one[0], text, entry.group, own)]
    if alone and len(telling) > _FEW:
        said = [one for one in telling if not _is_state(one[0], text)]
        telling = said or telling
    return all(
        entry.has([token.term for token in run])
        if len(run) > 1
        else _has_token(run[0], tokens, text, entry, is_cjk=is_cjk)
        for run, is_cjk in telling or things
    )


def _joins(run: Sequence[Token], text: str, group: str, own: frozenset[str]) -> bool:
    if len(run) > 1 or run[0].kind is not None:
        return False
    whole = folding.fold_surface(text[run[0].start : run[0].end], group)
    return any(
        function_words.joins(form, group)
        or (own and all(function_words.joins(form, one) for one in own))
        for form in (whole, run[0].term)
    )


def _is_state(run: Sequence[Token], text: str) -> bool:
    if len(run) > 1 or run[0].kind is not None:
        return False
    return text[run[0].start : run[0].end].casefold() in _STATES


def _has_token(
    token: Token, tokens: Sequence[Token], text: str, entry: Entry, *, is_cjk: bool
) -> bool:
    if token.term in entry.terms:
        return True
    if is_cjk:
        return len(token.term) == 1 and token.term in entry.idents
    if token.kind is not None:
        colon = re.sub(r"^(\d\d)(\d\d)$", r"\1:\2", token.term)
        return not entry.idents.isdisjoint({token.term, colon, token.loose})
    written_so = text[token.start : token.end]
    whole = folding.fold_surface(written_so, entry.group)
    after = tokens.index(token) + 1
    named = tokens[after].loose if after < len(tokens) else None
    if not entry.idents.isdisjoint(
        filter(None, (whole, token.term, token.loose, named))
    ):
        return True
    if entry.group != "de":
        other = folding.spell_out_umlauts(written_so)
        return bool(other) and folding.stem(other or "", entry.group) in entry.terms
    spans = compounds.split(whole, PLAIN.parts)
    parts = [folding.stem(whole[start:end], "de") for start, end in spans]
    return bool(parts) and entry.has(parts)


def _has_phrase(text: str, entry: Entry, known: Vocabulary) -> bool:
    if "*" in text:
        ways: list[list[str]] = [[]]
        for chunk in text.split():
            if "*" in chunk:
                terms, names = known.meant(chunk, entry.group)
                options = sorted(terms | names)
                ways = [[*way, one] for way in ways for one in options]
            else:
                more = [token.term for token in scan(chunk, entry.group)]
                ways = [[*way, *more] for way in ways]
        return any(entry.has(way) for way in ways if way)
    tokens = [*scan(text, entry.group)]
    if len(tokens) == 1:
        return _has_token(tokens[0], tokens, text, entry, is_cjk=False)
    return entry.has([token.term for token in tokens])
