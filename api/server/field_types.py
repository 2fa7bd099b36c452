"""Fields of requests that take what they say and nothing that only looks like it.

Bounds stand within the check, else the description of the API does not tell them.
"""

from collections.abc import Callable
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator, Field


def _needs(is_it: Callable[[object], bool], message: str) -> BeforeValidator:
    def check(value: object) -> object:
        if not is_it(value):
            raise ValueError(message)
        return value

    return BeforeValidator(check)


def _is_no_word(value: object) -> bool:
    return not isinstance(value, bool | str)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


WHOLE = _needs(_is_no_word, "A whole number is needed.")
Whole = Annotated[int, WHOLE]
Limit = Annotated[int, Field(ge=1, le=100), WHOLE]
Share = Annotated[float, Field(ge=0, le=1), _needs(_is_no_word, "A number is needed.")]
Moment = Annotated[
    AwareDatetime, _needs(_is_text, "A time is needed, as 2024-06-12T04:30:00Z.")
]
