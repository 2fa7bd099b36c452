"""The place of a body's flaw, as its sender wrote it."""

from collections.abc import Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from shared import suggest


def as_sent(
    body: Any, place: Sequence[str | int], *, is_unknown: bool
) -> list[str | int]:
    """Return a place of a body without the names that models of a choice have.

    Of `PushBody` these are `one` and `many`, of `rerank` all that it may be.
    `is_unknown`: the last of the place is a field that no model has.
    """
    said = [body]
    kept: list[str | int] = []
    for number, part in enumerate(place, 1):
        models = [one for annotation in said for one in suggest.find_models(annotation)]
        found = [info for one in models if (info := _field(one, part)) is not None]
        if found:
            said = [info.annotation for info in found]
        is_key = isinstance(part, int) or any(map(_is_mapping, said))
        if found or is_key or (is_unknown and number == len(place)):
            kept.append(part)
    return kept


def _field(model: type[BaseModel], part: str | int) -> FieldInfo | None:
    fields = model.model_fields
    named = (info for info in fields.values() if part == info.alias)
    return fields.get(str(part)) or next(named, None)


def _is_mapping(said: Any) -> bool:
    return get_origin(said) is dict or any(map(_is_mapping, get_args(said)))
