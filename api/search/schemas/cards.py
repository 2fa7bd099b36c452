"""Cards beside hits, as the contract words them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from api.server.body_model import body_model
from shared.search.response.card import Card, CardLine


class SearchCardLine(body_model(CardLine)):  # type: ignore[misc]
    """One thing that a card tells, and the entry that says so."""


_Fields = body_model(
    Card,
    entry_ids=Annotated[list[str], Field(max_length=20)],
    lines=list[SearchCardLine],
)


class SearchCard(_Fields):  # type: ignore[misc, valid-type]
    """A thing or a thread that the question is about, or that its best hits share."""
