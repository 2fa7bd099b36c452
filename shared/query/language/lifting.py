"""Fields that every hit must pass, taken out of a question and into its filters."""

from __future__ import annotations

from shared.query.filters import Filters
from shared.query.language.tree import And, Field, Node


def lift(tree: Node | None, filters: Filters) -> tuple[Node | None, Filters]:
    """Return what is left of a question, and its filters with the request's own.

    A field under OR or NOT stays where it is, and so does one that no single filter can
    hold beside another.
    """
    if not isinstance(tree, And):
        return _one(tree, filters)
    left: list[Node] = []
    for part in tree.parts:
        rest, filters = lift(part, filters)
        if rest is not None:
            left.append(rest)
    if len(left) < 2:  # noqa: PLR2004 - one is no conjunction
        return (left[0] if left else None), filters
    return And(tuple(left), tree.is_written), filters


def _one(node: Node | None, filters: Filters) -> tuple[Node | None, Filters]:
    if isinstance(node, Field):
        both = filters.both(node.filters)
        if both is not None:
            return None, both
    return node, filters
