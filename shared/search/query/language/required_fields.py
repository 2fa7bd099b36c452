"""Fields that every hit must pass, taken out of a question and into its filters."""

from dataclasses import dataclass

from shared.search.query.filters.filters import Filters
from shared.search.query.language.tree import And, Field, Node


@dataclass(frozen=True, slots=True)
class Lifted:
    """A question without required fields, its filters, and the fields in them."""

    tree: Node | None
    filters: Filters
    fields: tuple[Field, ...] = ()


def lift(tree: Node | None, filters: Filters) -> Lifted:
    """Return a question without the fields that filters can hold beside their own.

    A field under OR or NOT stays where it is, and so does one that no single filter can
    hold beside another.
    """
    if isinstance(tree, Field):
        both = filters.both(tree.filters)
        return Lifted(tree, filters) if both is None else Lifted(None, both, (tree,))
    if not isinstance(tree, And):
        return Lifted(tree, filters)
    left: list[Node] = []
    fields: tuple[Field, ...] = ()
    for part in tree.parts:
        one = lift(part, filters)
        filters, fields = one.filters, fields + one.fields
        if one.tree is not None:
            left.append(one.tree)
    if len(left) > 1:
        return Lifted(And(tuple(left), tree.is_written), filters, fields)
    return Lifted(left[0] if left else None, filters, fields)
