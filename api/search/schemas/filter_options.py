"""Values that a filter can be given, as the contract words them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

OptionField = Literal[
    "author",
    "authors",
    "category",
    "device",
    "kind",
    "level",
    "logbook",
    "shift",
    "source",
    "source_system",
    "source_systems",
    "system",
    "tag",
    "tags",
]


class FilterOption(BaseModel):
    """One value, and how many entries that the caller may see have it."""

    value: str = Field(description="What the filter takes.")
    label: str
    count: int


class FilterOptions(BaseModel):
    """The commonest values of a field."""

    field: str
    options: list[FilterOption]
    exact: bool = Field(
        description="False: of the newest `facet_max_matches` entries alone."
    )
