"""Hits (their fields are those of `Hit`) and cards in the words of the contract."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from api.search.schemas.branches import BranchOutcome
from api.server.body_model import body_model
from api.server.field_names import refuse_unknown_fields
from shared.search.response.card import Card, CardLine
from shared.search.results.hit import Hit


def _all_optional(schema: dict[str, Any]) -> None:
    schema.pop("required", None)


class SearchHit(body_model(Hit)):  # type: ignore[misc]
    """One entry found, in its place; where `fields` are named, these alone."""

    model_config = ConfigDict(json_schema_extra=_all_optional)


def parse_hit_fields(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the fields of a hit that are wanted, or refuse one that none has."""
    refuse_unknown_fields(names or (), SearchHit.model_fields)
    return None if names is None else tuple(names)


class ResultsCut(BaseModel):
    """What was left off because less text was asked for."""

    entries: int
    chars: int


class SearchCardLine(body_model(CardLine)):  # type: ignore[misc]
    """One thing that a card tells, and the entry that says so."""


_Fields = body_model(
    Card,
    entry_ids=Annotated[list[str], Field(max_length=20)],
    lines=list[SearchCardLine],
)


class SearchCard(_Fields):  # type: ignore[misc, valid-type]
    """A thing or a thread that the question is about, or that its best hits share."""


class SimilarEntries(BaseModel):
    """What is like an entry, best first, and by which ways that was told."""

    entry_id: str
    results: list[SearchHit]
    cut: ResultsCut
    total_results: int
    branches: list[BranchOutcome]
