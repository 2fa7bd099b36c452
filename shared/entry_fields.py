"""The fields of an entry that hold one text of its source's, in one table.

Whatever is done to such a field is made from here: its column in statements, its place
in a revision and the content hash, the indexed document and its mapping, facts, filters
and the query grammar, what an entry shows and edits, and what adapters map. Beside it,
a field needs a migration that adds the column, and its description in the schema of
entries (`api/entries/schemas`). Lists, times, links and rights have rules of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, LiteralString, NamedTuple

# What kind of entry one may be.
Kind = Literal[
    "logbook",
    "shift_summary",
    "procedure",
    "maintenance",
    "incident",
    "device",
    "attachment",
    "ops_memory",
]


class Field(NamedTuple):
    """One field, called the same as column, key, filter and attribute."""

    # A literal, for statements are made of it.
    name: LiteralString
    # A field that comes later stands in the content hash where it is set, and nowhere
    # else: every stored entry would get a new revision when it is read again.
    always_hashed: bool = False


FIELDS = (
    Field("shift", always_hashed=True),
    Field("level", always_hashed=True),
    Field("category", always_hashed=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFields:
    """The attributes of these fields, for each form that an entry takes on its way."""

    shift: str | None = None
    level: str | None = None
    category: str | None = None

    def field_values(self) -> Mapping[str, str | None]:
        """Return the values by the names of the fields."""
        return {name: getattr(self, name) for name in NAMES}


NAMES: tuple[LiteralString, ...] = tuple(field.name for field in FIELDS)
assert tuple(EntryFields.__dataclass_fields__) == NAMES


def columns(prefix: LiteralString = "") -> LiteralString:
    """Return the columns of the fields as a statement lists them."""
    return ", ".join([prefix + name for name in NAMES])
