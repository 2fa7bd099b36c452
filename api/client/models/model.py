"""What every answer is: a frozen model that keeps what a newer server tells besides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict

T_co = TypeVar("T_co", covariant=True)


class Model(BaseModel):
    """Something that the API has told."""

    # Built when it is first read: there are many, and a program uses a few of them.
    model_config = ConfigDict(
        defer_build=True,
        extra="allow",
        frozen=True,
        populate_by_name=True,
        protected_namespaces=(),
    )


class Page(Protocol[T_co]):
    """A model that is a page of a list."""

    @property
    def items(self) -> Sequence[T_co]:
        """What stands on it."""

    @property
    def next_cursor(self) -> str | None:
        """What the next page is asked with."""

    @classmethod
    def model_validate_json(cls, json_data: bytes) -> Self:
        """Read it from an answer."""
