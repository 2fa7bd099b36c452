"""Fields of requests that take what they say and nothing that only looks like it.

Bounds stand within the check, else the description of the API does not tell them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator, Field


def _whole(value: object) -> object:
    if isinstance(value, bool | str):
        message = "A whole number is needed."
        raise ValueError(message)  # noqa: TRY004 - pydantic turns it into a field error
    return value


def _number(value: object) -> object:
    if isinstance(value, bool | str):
        message = "A number is needed."
        raise ValueError(message)  # noqa: TRY004 - pydantic turns it into a field error
    return value


def _written(value: object) -> object:
    if not isinstance(value, str):
        message = "A time is needed, as 2024-06-12T04:30:00Z."
        raise ValueError(message)  # noqa: TRY004 - pydantic turns it into a field error
    return value


WHOLE = BeforeValidator(_whole)
Whole = Annotated[int, WHOLE]
Limit = Annotated[int, Field(ge=1, le=100), WHOLE]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_number)]
Moment = Annotated[AwareDatetime, BeforeValidator(_written)]
