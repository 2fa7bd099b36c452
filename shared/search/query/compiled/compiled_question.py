"""A question compiled once, for the languages of the entries that it may meet.

Each entry is compared with the terms of its own language alone: negated in another
language, the very entry that it should exclude would match.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shared.search.query import name_query
from shared.search.query.compiled import conditions
from shared.search.query.compiled.conditions import All, AnyOf, Condition, Not
from shared.search.query.compiled.word_clauses import Known, Words
from shared.search.query.filters.filters import Filters
from shared.search.query.language import tree
from shared.search.query.language.tree import Node
from shared.text.facility.facility import PLAIN, Facility
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary import common_words
from shared.vocabulary.expand import LANGUAGES, UNSTEMMED

# The branches and the page of a search use the same question. A long question takes a
# megabyte in all languages together.
_MAX_KEPT = 16


@dataclass(frozen=True, slots=True)
class Guard:
    """Languages whose entries are compared with the same condition."""

    languages: tuple[str, ...]
    condition: Condition


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """The whole question: for each language its condition, if it has one there."""

    guards: tuple[Guard, ...]
    # The filters of the question's fields, by the number of each field.
    fields: tuple[Filters, ...] = ()
    # How many plain words were left out because there were too many.
    dropped: int = 0

    @property
    def finds(self) -> bool:
        """Whether the question has words to find, not only exclusions and filters."""
        return any(
            guard.condition == conditions.NOTHING
            or conditions.is_found(guard.condition)
            for guard in self.guards
        )

    @property
    def is_exact(self) -> bool:
        """Whether nothing matches without a name or a phrase that is asked for."""
        return bool(self.guards) and all(
            conditions.is_exact(guard.condition) for guard in self.guards
        )

    def asks_more_than(self, other: CompiledQuery) -> bool:
        """Tell whether this question has all parts of the other, and perhaps more."""
        return len(self.guards) == len(other.guards) and all(
            ours.languages == theirs.languages
            and conditions.asks_more_than(ours.condition, theirs.condition)
            for ours, theirs in zip(self.guards, other.guards, strict=True)
        )

    def relaxed(self) -> CompiledQuery:
        """Return the question with any plain word enough; equal if there are none."""
        return self._with({g: conditions.relaxed(g.condition) for g in self.guards})

    def with_any(self) -> CompiledQuery:
        """Return the relaxed question, by which entries with all words rank higher."""
        return self._with({g: conditions.with_any(g.condition) for g in self.guards})

    def kept(self) -> CompiledQuery:
        """Return the exclusions and fields alone, which every branch keeps to."""
        parts = {g: conditions.without_what_is_wanted(g.condition) for g in self.guards}
        if all(part == conditions.EVERYTHING for part in parts.values()):
            return NOTHING_ASKED
        return self._with(parts)

    def _with(self, made: Mapping[Guard, Condition]) -> CompiledQuery:
        guards = tuple(Guard(g.languages, made[g]) for g in self.guards)
        return replace(self, guards=guards)


NOTHING_ASKED = CompiledQuery(())


@dataclass(slots=True)
class _Compiler:
    """Compiles a question's tree to the condition of one language."""

    words: Words
    # The number of each field in the tree.
    numbers: Mapping[Filters, int]

    def condition(self, node: Node, *, is_wanted: bool = True) -> Condition | None:
        """Compile a part of the tree; None: it has no term in this language."""
        match node:
            case tree.Words(text):
                if not is_wanted:
                    return self._all(self.words.excluded(text), is_loose=False)
                return self._all(self.words.wanted(text), is_loose=True)
            case tree.Phrase(text):
                return self.words.phrase(text)
            case tree.Pattern(text):
                return self.words.pattern(text)
            case tree.Field(filters):
                return conditions.Passes(self.numbers[filters], filters)
            case tree.Not(part):
                made = self.condition(part, is_wanted=not is_wanted)
                return None if made is None else conditions.none_of(made)
            case tree.And(parts, is_written, wishes):
                made_of = self._parts(parts, is_wanted=is_wanted)
                # Whoever writes AND means such a word, too: `IT AND pump`.
                alike = self._all if not is_written else _every
                made = alike(made_of, is_loose=is_wanted and not is_written)
                return self._wishing(made, wishes if is_wanted else ())
            case tree.Or(parts):
                options = self._parts(parts, is_wanted=is_wanted)
                return conditions.any_of(options) if options else None

    def _wishing(
        self, made: Condition | None, wishes: tuple[tree.Phrase, ...]
    ) -> Condition | None:
        """Return a condition to which these phrases are added for the ranking alone."""
        phrases = [self.words.phrase(one.text) for one in wishes]
        found = [one for one in phrases if one is not None]
        return conditions.rank_beside(made, found) if made and found else made

    def _parts(self, parts: tuple[Node, ...], *, is_wanted: bool) -> list[Condition]:
        made = [self.condition(part, is_wanted=is_wanted) for part in parts]
        return [one for one in made if one is not None]

    def _all(self, parts: list[Condition], *, is_loose: bool) -> Condition | None:
        """Require all parts; leave out function words that only join the others."""
        if not parts:
            return None
        made = conditions.all_of(parts, is_loose=is_loose)
        if not isinstance(made, All):
            return made
        joining = [part for part in made.parts if self.words.joins(part)]
        telling = [
            part
            for part in made.parts
            if part not in joining and conditions.is_found(part)
        ]
        if not joining or not telling:
            return made
        left = (part for part in made.parts if part not in joining)
        return conditions.all_of(left, is_loose=is_loose)


def _every(parts: list[Condition], *, is_loose: bool) -> Condition | None:
    return conditions.all_of(parts, is_loose=is_loose) if parts else None


class _CompiledLanguage(NamedTuple):
    """A question compiled for one language, and how many words were left out."""

    condition: Condition
    dropped: int


def compile_question(
    node: Node | None,
    facility: Facility = PLAIN,
    *,
    known: Known | None = None,
    max_terms: int = 64,
    languages: Sequence[str] = (),
) -> CompiledQuery:
    """Compile a question for these languages; one guard holds equal conditions.

    Without languages it is compiled for every language that there may be.
    """
    if node is None:
        return NOTHING_ASKED
    together: dict[Condition, list[str]] = {}
    dropped = 0
    for language, names in _named(languages).items():
        if known:
            made = _compiled(node, facility, known, max_terms, language)
        else:
            made = _plainly(node, facility, max_terms, language)
        if made is not None:
            dropped = max(dropped, made.dropped)
            together.setdefault(made.condition, []).extend(names)
    guards = (Guard(tuple(names), made) for made, names in together.items())
    return CompiledQuery(tuple(guards), tuple(_numbers(node)), dropped)


@functools.lru_cache(maxsize=_MAX_KEPT)
def find_own_languages(node: Node | None) -> frozenset[str]:
    """Return the languages that a question may be written in; empty: any.

    What it has in quotes may be of another language.
    """
    wanted = name_query.wanted_words(node)
    return common_words.find_languages(
        " ".join(one.text for one in wanted if isinstance(one, tree.Words))
    )


def _named(languages: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the names that stand for each language in a guard.

    All languages without a stemmer stand together, for they are compared alike.
    """
    if not languages:
        return {language: (language,) for language in LANGUAGES}
    named: dict[str, tuple[str, ...]] = {
        one: (one,) for one in STEMMED_LANGUAGES if one in languages
    }
    others = tuple(one for one in languages if one not in named)
    if others:
        named[UNSTEMMED] = (UNSTEMMED, *others)
    return named


@functools.lru_cache(maxsize=_MAX_KEPT * len(LANGUAGES))
def _plainly(
    node: Node, facility: Facility, max_terms: int, language: str
) -> _CompiledLanguage | None:
    """Compile a question once, for its branches and its page read the same one."""
    return _compiled(node, facility, {}, max_terms, language)


def _compiled(
    node: Node, facility: Facility, known: Known, max_terms: int, language: str
) -> _CompiledLanguage | None:
    words = Words(language, facility, known, find_own_languages(node))
    compiler = _Compiler(words, _numbers(node))
    made = compiler.condition(_both_ways(node))
    if made is None:
        return None
    if isinstance(node, tree.Words):
        # Without operators and quotes nobody insists on a word as `off`.
        made = conditions.with_states_beside(made)
    made, dropped = _bounded(made, max_terms)
    return _CompiledLanguage(made, dropped)


def _both_ways(node: Node) -> Node:
    """Return `SW-12?`, where it is all that is asked, as a pattern or that name."""
    if isinstance(node, tree.Pattern):
        name = node.text.removesuffix("?")
        if name != node.text and not {"*", "?"} & {*name}:
            return tree.Or((node, tree.Words(name, node.start)))
    return node


def _numbers(node: Node) -> dict[Filters, int]:
    """Number the fields of a question by their first places, for all languages."""
    return {one: number for number, one in enumerate(dict.fromkeys(tree.fields(node)))}


def _bounded(condition: Condition, max_terms: int) -> tuple[Condition, int]:
    """Drop plain words beyond the limit; nothing that is negated or gates as it is.

    The shortest first, of equal ones the last: the longest words of a question find as
    well as those that fewest entries have (Cranfield, eight of each: nDCG@10 .347 and
    .347 by BM25, the first eight .295), and nobody need be asked for them.
    """
    over = len([*dict.fromkeys(conditions.iterate_leaves(condition))]) - max_terms
    if over <= 0:
        return condition, 0
    plain = sorted(
        dict.fromkeys(_plain(condition)),
        key=lambda one: len(one.word or "".join(one.lexemes)),
        reverse=True,
    )
    kept = max(0, len(plain) - over)
    left = _without(condition, {*plain[kept:]})
    if left is None or not conditions.is_found(left):
        # Exclusions alone find no hits, so one wanted word stays beside them.
        kept = max(1, kept)
        left = _without(condition, {*plain[kept:]})
    return (condition, 0) if left is None else (left, len(plain) - kept)


def _plain(condition: Condition) -> Iterator[conditions.Clause]:
    """Yield the plain words below no negation, where to drop one is to find more."""
    match condition:
        case Not():
            return
        case All(parts) | AnyOf(parts):
            for part in parts:
                yield from _plain(part)
        case _ if conditions.is_plain(condition):
            yield condition


def _without(condition: Condition, gone: set[conditions.Leaf]) -> Condition | None:
    match condition:
        case Not():
            return condition
        case All(parts, is_loose):
            some = _left_of(parts, gone)
            return conditions.all_of(some, is_loose=is_loose) if some else None
        case AnyOf(parts):
            some = _left_of(parts, gone)
            return conditions.any_of(some) if some else None
        case _:
            return None if condition in gone else condition


def _left_of(parts: Iterable[Condition], gone: set[conditions.Leaf]) -> list[Condition]:
    left = (_without(part, gone) for part in parts)
    return [part for part in left if part is not None]
