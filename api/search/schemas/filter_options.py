"""Values that a filter can be given, as the contract words them."""

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from api.server.body_model import Body
from shared import entry_fields

VALUED = (
    *(*entry_fields.NAMES, "author", "device", "kind", "logbook", "source", "system"),
    "tag",
)
_CALLED = ("authors", "source_system", "source_systems", "tags")
if TYPE_CHECKING:
    OptionField = str
else:
    # Type checkers want literals that are written out; these come from the table.
    OptionField = Literal[*sorted((*VALUED, *_CALLED))]


class FilterOption(BaseModel):
    """One value, and how many entries that the caller may see have it."""

    value: str = Field(description="What the filter takes.")
    label: str
    count: int


class FilterOptions(Body):
    """The commonest values of a field."""

    field: str
    options: list[FilterOption]
    exact: bool
    """False: of the newest `facet_max_matches` entries alone."""
