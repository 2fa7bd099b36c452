"""How much of its hits an answer tells, as the address of a route asks for it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Depends, Query

from api.search.schemas.hits import parse_hit_fields
from api.server.field_names import split_names
from shared.search.query.result_detail import Amount, Detail


@dataclass(frozen=True, slots=True)
class AskedAmount:
    """The amount of each result, and of all their text, that an address asks for."""

    asked: Mapping[str, Any]

    def instead_of(self, own: Amount) -> Amount:
        """Return the amount that is meant: what is not asked for stays."""
        return replace(own, **self.asked)


async def read_hit_amount(
    detail: Annotated[
        Detail | None, Query(description="`brief` cuts each text to 500 characters.")
    ] = None,
    fields: Annotated[
        str | None, Query(description="Of each result these alone: `title,content`.")
    ] = None,
    max_chars: Annotated[
        int | None, Query(ge=0, description="Most text of all results together.")
    ] = None,
) -> AskedAmount:
    """Read from an address how much of its results is wanted."""
    asked = {
        "detail": detail,
        "fields": parse_hit_fields(split_names(fields) or None),
        "max_chars": max_chars,
    }
    return AskedAmount({name: one for name, one in asked.items() if one is not None})


HitAmount = Annotated[AskedAmount, Depends(read_hit_amount)]
