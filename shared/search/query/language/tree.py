"""The tree of a question, which travels as JSON with its plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from shared.search.jobs.compatibility import read_fields
from shared.search.jobs.outcome import Diagnostic
from shared.search.query.filters.filters import Filters

_OF_NAMES = re.compile(r"[\d:_.]")


@dataclass(frozen=True, slots=True)
class Words:
    """Neighbouring plain words, analysed together: `HCM 03` is one name."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in quotes, which stand in that order."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """The beginning of a word, or a name with `*` and `?` in it."""

    text: str
    start: int

    @property
    def is_name(self) -> bool:
        """Whether the pattern has signs that names have and words do not."""
        return _OF_NAMES.search(self.text) is not None

    @property
    def is_beginning(self) -> bool:
        """Whether the pattern is letters and a `*`, so that it has a meaning itself."""
        return self.text.rstrip("*").isalpha()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an entry, as the filters that it must pass."""

    filters: Filters
    start: int
    name: str
    # The whole text of the field, `author:smith`.
    written: str


@dataclass(frozen=True, slots=True)
class Not:
    """A part that no hit may match."""

    part: Node


@dataclass(frozen=True, slots=True)
class And:
    """A hit must match all of two or more parts."""

    parts: tuple[Node, ...]
    # AND was written: no part may be given up so that more is found.
    is_written: bool = False
    # Phrases whose words are among the parts: with them an entry stands further up.
    wishes: tuple[Phrase, ...] = ()


@dataclass(frozen=True, slots=True)
class Or:
    """A hit must match any of two or more parts."""

    parts: tuple[Node, ...]


Leaf: TypeAlias = Words | Phrase | Pattern | Field
Node: TypeAlias = Leaf | Not | And | Or


@dataclass(frozen=True, slots=True)
class Parsed:
    """The tree of a question with its diagnostics; None: nothing was asked for."""

    tree: Node | None
    diagnostics: tuple[Diagnostic, ...] = ()


def leaves(node: Node | None, *, is_wanted: bool = True) -> Iterator[tuple[Leaf, bool]]:
    """Yield every leaf in the order of the text, and whether it is wanted."""
    match node:
        case None:
            return
        case Not(part):
            yield from leaves(part, is_wanted=not is_wanted)
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves(part, is_wanted=is_wanted)
        case _:
            yield node, is_wanted


def affirmed(node: Node | None) -> Iterator[Leaf]:
    """Yield the leaves that stand below no NOT at all."""
    match node:
        case None | Not():
            return
        case And(parts) | Or(parts):
            for part in parts:
                yield from affirmed(part)
        case _:
            yield node


def fields(node: Node) -> Iterator[Filters]:
    """Yield the filters of every field, negated or not, in the order of the text."""
    return (leaf.filters for leaf, _ in leaves(node) if isinstance(leaf, Field))


def to_values(node: Node) -> dict[str, Any]:
    """Return a tree as the values of JSON."""
    match node:
        case Words(text, start):
            return {"words": text, "start": start}
        case Phrase(text, start):
            return {"phrase": text, "start": start}
        case Pattern(text, start):
            return {"pattern": text, "start": start}
        case Field(filters, start, name, written):
            said = {"field": name, "start": start, "written": written}
            return {**said, "filters": asdict(filters)}
        case Not(part):
            return {"not": to_values(part)}
        case And(parts, is_written, wishes):
            listed = [to_values(part) for part in parts]
            told = {"and": listed, "is_written": is_written}
            return {**told, "wishes": [to_values(one) for one in wishes]}
        case Or(parts):
            return {"or": [to_values(part) for part in parts]}


def from_values(values: Mapping[str, Any]) -> Node:
    """Read a tree back from the values of JSON."""
    match values:
        case {"words": text, "start": start}:
            return Words(text, start)
        case {"phrase": text, "start": start}:
            return Phrase(text, start)
        case {"pattern": text, "start": start}:
            return Pattern(text, start)
        case {"field": name, "start": start, "written": written, "filters": filters}:
            return Field(read_fields(Filters, filters), start, name, written)
        case {"not": part}:
            return Not(from_values(part))
        case {"and": parts, "is_written": is_written}:
            # A plan of the release before has no wishes.
            given = values.get("wishes", ())
            wishes = tuple(Phrase(one["phrase"], one["start"]) for one in given)
            return And(tuple(map(from_values, parts)), is_written, wishes)
        case {"or": parts}:
            return Or(tuple(map(from_values, parts)))
        case _:
            raise ValueError(f"no part of a question: {sorted(values)}")
