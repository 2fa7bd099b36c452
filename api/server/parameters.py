"""Parameters that several routes take."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from fastapi import Header, Query

from shared.errors import InvalidRequestError
from shared.suggest import hint

# The pattern is written down here and checked elsewhere: its refusal has its own code.
IdempotencyKey = Annotated[
    str | None,
    Header(
        description="The same key again gets the same answer.",
        json_schema_extra={"pattern": "^[!-~]{1,128}$"},
    ),
]
WaitFor = Annotated[
    Literal["index"] | None, Query(description="Answer once it can be found.")
]
WaitMs = Annotated[int, Query(ge=0, le=30_000)]
PageSize = Annotated[int, Query(ge=1, le=100)]


def split_names(written: str | None) -> list[str]:
    """Return the names in `a,b`."""
    return [one.strip() for one in (written or "").split(",") if one.strip()]


def refuse_unknown_fields(names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a wanted field that does not exist, with the nearest name."""
    for name in names:
        if name not in known:
            message = f"There is no field {name[:100]!r}.{hint(name, known)}"
            raise InvalidRequestError.field("fields", "unknown_field", message)
