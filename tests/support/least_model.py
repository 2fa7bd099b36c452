"""The least that a model of the client takes, for answers of a stub server."""

from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from api.client.models.model import Model


def least(kind: Any) -> Any:
    """Return the least that a model of the API's description takes."""
    if isinstance(kind, type) and issubclass(kind, Model):
        kind.model_rebuild()
        return {
            field.alias or name: least(field.annotation)
            for name, field in kind.model_fields.items()
            if field.is_required()
        }
    if kind is datetime:
        return "2026-03-02T04:10:00Z"
    values: tuple[Any, ...] = (None, False, 0, "", [], {})
    for value in values:
        try:
            TypeAdapter(kind).validate_python(value, strict=True)
        except ValidationError:
            continue
        return value
    message = f"There is no least {kind}."
    raise AssertionError(message)
