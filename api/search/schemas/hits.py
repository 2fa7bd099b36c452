"""A hit as the contract words it, and what was left off of several."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from api.server.body_model import body_model
from shared.search.results.hit import Hit


def _all_optional(schema: dict[str, Any]) -> None:
    schema.pop("required", None)


class SearchHit(body_model(Hit)):  # type: ignore[misc]
    """One entry found, in its place; where `fields` are named, these alone."""

    model_config = ConfigDict(json_schema_extra=_all_optional)


class ResultsCut(BaseModel):
    """What was left off because less text was asked for."""

    entries: int
    chars: int
