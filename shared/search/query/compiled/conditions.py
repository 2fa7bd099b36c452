"""What a question comes to for entries of one language: conditions of literal terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard

from shared.search.query import name_query
from shared.search.query.filters.filters import Filters
from shared.text.words import function_words

# In a question of at most so many words a state word as `off` must match.
_SHORT = 3
# More words are hardly ever all in one entry, and OpenSearch takes 1,024 clauses.
_TOGETHER = 20


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing to find: a term or a phrase of them, or else one of the idents."""

    lexemes: tuple[str, ...]
    idents: tuple[str, ...] = ()
    # Identifiers and quoted words must match: they are never relaxed to any-of.
    is_exact: bool = False
    # Phrases that match in its place: other spellings, and forms of the glossary.
    also: tuple[tuple[str, ...], ...] = ()
    # The word as it was typed, where it may be misspelt.
    word: str | None = None


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of the terms or identifiers that a pattern stands for."""

    terms: tuple[str, ...] = ()
    idents: tuple[str, ...] = ()
    # The pattern as it was typed; two patterns may stand for the same terms.
    pattern: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Places:
    """A phrase with patterns: any of the terms of each place, in their order."""

    places: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Passes:
    """Filters that an entry passes; the number names them in every language."""

    number: int
    filters: Filters


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that an entry must not match."""

    part: Condition


@dataclass(frozen=True, slots=True)
class All:
    """An entry must match all parts; without parts every entry does."""

    parts: tuple[Condition, ...] = ()
    # Words side by side: any of them may do where no entry has them all.
    is_loose: bool = False
    # Conditions that need not match, and rank an entry higher where they do.
    ranking: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """An entry must match any of the parts; without parts none does."""

    parts: tuple[Condition, ...] = ()


Leaf: TypeAlias = Clause | OneOf | Places | Passes
Condition: TypeAlias = Leaf | Not | All | AnyOf

EVERYTHING = All()
NOTHING = AnyOf()


def all_of(parts: Iterable[Condition], *, is_loose: bool = False) -> Condition:
    """Return one condition that requires all parts, simplified."""
    kept: dict[Condition, None] = {}
    for part in parts:
        if part == NOTHING:
            return NOTHING
        if isinstance(part, All) and not part.ranking and part.is_loose == is_loose:
            kept |= dict.fromkeys(part.parts)
        elif part != EVERYTHING:
            kept[part] = None
    listed = tuple(kept)
    return listed[0] if len(listed) == 1 else All(listed, is_loose and bool(listed))


def rank_beside(condition: Condition, ranking: Iterable[Condition]) -> Condition:
    """Add conditions that need not match, and rank an entry higher where they do."""
    more = tuple(ranking)
    if not more:
        return condition
    if isinstance(condition, All):
        return All(condition.parts, condition.is_loose, (*condition.ranking, *more))
    return All((condition,), ranking=more)


def any_of(parts: Iterable[Condition]) -> Condition:
    """Return one condition that requires any of the parts, simplified."""
    kept: dict[Condition, None] = {}
    for part in parts:
        if part == EVERYTHING:
            return EVERYTHING
        kept |= dict.fromkeys(part.parts if isinstance(part, AnyOf) else (part,))
    listed = tuple(kept)
    return listed[0] if len(listed) == 1 else AnyOf(listed)


def none_of(part: Condition) -> Condition:
    """Return the negation of a condition."""
    if isinstance(part, Not):
        return part.part
    if part == EVERYTHING:
        return NOTHING
    return EVERYTHING if part == NOTHING else Not(part)


def with_leaves(
    condition: Condition,
    leaf: Callable[[Leaf, bool], Condition],
    *,
    is_wanted: bool = True,
) -> Condition:
    """Replace each leaf of a condition; `leaf` gets it and whether it is wanted."""
    match condition:
        case Not(part):
            return none_of(with_leaves(part, leaf, is_wanted=not is_wanted))
        case All(parts, is_loose, ranking):
            made = [with_leaves(part, leaf, is_wanted=is_wanted) for part in parts]
            beside = [with_leaves(one, leaf, is_wanted=is_wanted) for one in ranking]
            return rank_beside(all_of(made, is_loose=is_loose), beside)
        case AnyOf(parts):
            return any_of(with_leaves(one, leaf, is_wanted=is_wanted) for one in parts)
        case _:
            return leaf(condition, is_wanted)


def iterate_leaves(condition: Condition) -> list[tuple[Leaf, bool]]:
    """Return every leaf, with True where it is wanted and False where negated."""
    found: list[tuple[Leaf, bool]] = []

    def note(leaf: Leaf, is_wanted: bool) -> Condition:  # noqa: FBT001
        found.append((leaf, is_wanted))
        return leaf

    with_leaves(condition, note)
    return found


def asks_more_than(condition: Condition, other: Condition) -> bool:
    """Tell whether a condition requires all parts of the other, and perhaps more."""
    return (
        isinstance(condition, All)
        and isinstance(other, All)
        and set(condition.parts) >= set(other.parts)
    )


def without_what_is_wanted(condition: Condition) -> Condition:
    """Return the exclusions and fields of a condition, which every branch keeps to."""
    match condition:
        case Not() | Passes():
            return condition
        case All(parts):
            return all_of(without_what_is_wanted(part) for part in parts)
        case AnyOf(parts):
            return any_of(without_what_is_wanted(part) for part in parts)
        case _:
            return EVERYTHING


def relaxed(condition: Condition) -> Condition:
    """Return the condition with any plain word enough where all were required.

    Names, phrases, patterns and fields must still match, and so must state words of a
    short question; beside a name, a phrase or a pattern plain words only rank.
    """
    match condition:
        case AnyOf(parts):
            return any_of(relaxed(part) for part in parts)
        case All(parts, is_loose=True, ranking=ranking):
            states = [one for one in parts if len(parts) <= _SHORT and _is_state(one)]
            plain = [one for one in parts if is_plain(one) and one not in states]
            others = [relaxed(one) for one in parts if not is_plain(one)]
            if any(is_sought(one) for one in others) and plain:
                return All((*others, *states), ranking=(*plain, *ranking))
            if len(plain) > 1:
                return rank_beside(all_of([any_of(plain), *states, *others]), ranking)
            wider = all_of((relaxed(one) for one in parts), is_loose=True)
            return rank_beside(wider, ranking)
        case All(parts):
            return all_of(relaxed(part) for part in parts)
        case _:
            return condition


def with_any(condition: Condition) -> Condition:
    """Relax a condition; entries that meet the whole of it count twice."""
    wider = relaxed(condition)
    found = [leaf for leaf, _ in iterate_leaves(condition)]
    are_words = all(isinstance(leaf, Clause) for leaf in found)
    if wider == condition or len(found) > _TOGETHER or not are_words:
        return wider
    return rank_beside(wider, [condition])


def with_states_beside(condition: Condition) -> Condition:
    """Let the state words of a long question only rank, where all are plain words."""
    match condition:
        case All(parts, is_loose=True) if len(parts) > _SHORT:
            states = [one for one in parts if _is_state(one)]
            telling = [one for one in parts if one not in states]
            if telling and states:
                return All(tuple(telling), is_loose=True, ranking=tuple(states))
    return condition


def is_plain(condition: Condition) -> TypeGuard[Clause]:
    """Tell whether a condition is a plain word: no name, and not in quotes."""
    return isinstance(condition, Clause) and not condition.is_exact


def plain_words(condition: Condition) -> int:
    """Return how many plain words stand side by side and are all required."""
    match condition:
        case All(parts, is_loose=True):
            return sum(map(is_plain, parts))
        case All(parts) | AnyOf(parts):
            return max(map(plain_words, parts), default=0)
        case _:
            return 0


def count_words(condition: Condition, *, any_word: bool) -> int:
    """Return how many of a question's terms a good match has.

    Of alternatives it has one; with `any_word` these are the question's own words, and
    a good match has them all.
    """
    match condition:
        case Not() | Passes():
            return 0
        case All(parts):
            return sum(count_words(part, any_word=any_word) for part in parts)
        case AnyOf(parts):
            counts = [count_words(part, any_word=any_word) for part in parts]
            return sum(counts) if any_word else max(counts, default=0)
        case _:
            return 1


def _is_state(condition: Condition) -> bool:
    return is_plain(condition) and function_words.is_state(condition.word or "")


def is_found(condition: Condition) -> bool:
    """Tell whether a condition has anything to find beside exclusions and fields."""
    return any(
        is_wanted and not isinstance(leaf, Passes)
        for leaf, is_wanted in iterate_leaves(condition)
    )


def is_sought(condition: Condition) -> bool:
    """Tell whether a condition has anything to find below no negation at all."""
    match condition:
        case Not() | Passes():
            return False
        case All(parts) | AnyOf(parts):
            return any(is_sought(part) for part in parts)
        case _:
            return True


def is_exact(condition: Condition) -> bool:
    """Tell whether no entry matches without a wanted name or phrase."""
    match condition:
        case Clause():
            return condition.is_exact
        case Passes(filters=filters):
            return name_query.is_named(filters)
        case Places():
            return True
        case All(parts):
            return any(is_exact(part) for part in parts)
        case AnyOf(parts):
            return bool(parts) and all(is_exact(part) for part in parts)
        case _:
            return False
