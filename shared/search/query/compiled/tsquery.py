"""A condition as the text to cast to `tsquery`: never parsed, every term quoted.

Postgres compares fields that are no terms of an entry by themselves; for each that the
entry passes, a mark stands beside its terms.
"""

from dataclasses import replace

from shared.search.query.compiled import conditions
from shared.search.query.compiled.conditions import Condition
from shared.search.query.filters.filters import Filters
from shared.text.analysis.analyser import IDENT_PREFIX, quote_lexeme

# A mark has a blank, for no term has one.
_MARK = "passes "
_NO_TERM = quote_lexeme(" ")


def mark(number: int) -> str:
    """Return the mark that Postgres adds to an entry's terms if it passes a field."""
    return f"{_MARK}{number}"


def gate(condition: Condition) -> str:
    """Return the part of a condition that an entry's terms alone can fail.

    Fields that are no terms are left out of it.
    """

    def left(leaf: conditions.Leaf, is_wanted: bool) -> Condition:  # noqa: FBT001
        if isinstance(leaf, conditions.Passes) and _terms_of(leaf.filters) is None:
            return conditions.EVERYTHING if is_wanted else conditions.NOTHING
        return leaf

    return write_tsquery(conditions.with_leaves(condition, left))


def needs_marks(condition: Condition) -> bool:
    """Tell whether a condition has a field that is no term of an entry."""
    return write_tsquery(condition) != gate(condition)


def write_tsquery(condition: Condition) -> str:
    """Write the whole condition as the text of a tsquery."""
    match condition:
        case conditions.All(()):
            return f"!{_NO_TERM}"
        case conditions.AnyOf(()):
            return _NO_TERM
        case conditions.All(parts):
            return f"({' & '.join(map(write_tsquery, parts))})"
        case conditions.AnyOf(parts):
            return f"({' | '.join(map(write_tsquery, parts))})"
        case conditions.Not(part):
            return f"!{write_tsquery(part)}"
        case _:
            return _leaf(condition)


def _leaf(leaf: conditions.Leaf) -> str:
    match leaf:
        case conditions.Clause():
            return _clause(leaf)
        case conditions.OneOf(terms, idents):
            return _any([*map(quote_lexeme, terms), *map(_ident, idents)])
        case conditions.Places(places) if not all(places):
            return _NO_TERM
        case conditions.Places(places):
            return (
                f"({' <-> '.join(_any([*map(quote_lexeme, one)]) for one in places)})"
            )
        case conditions.Passes(number, filters):
            return _terms_of(filters) or quote_lexeme(mark(number))


def _clause(clause: conditions.Clause) -> str:
    phrases = (clause.lexemes, *clause.also)
    parts = [" <-> ".join(map(quote_lexeme, phrase)) for phrase in phrases]
    parts = [f"({part})" if " <-> " in part else part for part in parts if part]
    return _any([*parts, *map(_ident, clause.idents)])


def _any(parts: list[str]) -> str:
    if not parts:
        return _NO_TERM
    return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"


def _ident(ident: str) -> str:
    return quote_lexeme(IDENT_PREFIX + ident)


def _terms_of(filters: Filters) -> str | None:
    """Return the tsquery of filters by facts alone, which are terms; else None."""
    if replace(filters, facts=()):
        return None
    wanted = filters.params["only_facts"]
    return f"({wanted})" if wanted else f"!{_NO_TERM}"
