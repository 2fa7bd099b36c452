"""A field that no body has: which one its sender most likely meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from shared import suggest


def hint(body: Any, place: Sequence[str | int]) -> str:
    """Return a sentence that names the nearest field at a place of a body, or nothing.

    `body` is what the body is said to be; the last of the place is what was not known.
    """
    models = [*_models(body)]
    for part in place[:-1]:
        below = [*_below(models, part)]
        # A place within a list, and the name of one of several models, are no field.
        models = below or models
    known = {name for one in models for name in one.model_fields}
    return suggest.hint(str(place[-1]), known) if place else ""


def _below(models: Sequence[type[BaseModel]], part: str | int) -> Iterator[Any]:
    for one in models:
        field = one.model_fields.get(str(part))
        if field is not None:
            yield from _models(field.annotation)


def _models(said: Any) -> Iterator[type[BaseModel]]:
    if isinstance(said, type) and issubclass(said, BaseModel):
        yield said
    for one in get_args(said):
        yield from _models(one)
