"""Bodies of responses, described by the typed values that they are made of."""

from collections.abc import Collection
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Annotated, Any, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.config import JsonDict, JsonValue

from shared.times.rfc3339 import timestamp


def shown_by(*examples: JsonDict, **told: JsonValue) -> ConfigDict:
    """Return the configuration of a body that is shown by examples.

    `told`: what its schema says besides.
    """
    return ConfigDict(json_schema_extra={"examples": [*examples], **told})


class Body(BaseModel):
    """A body; what its fields are that needs more room is told below them."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class RequestBody(Body):
    """A body that is sent to us; a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class ResponseBody(Body):
    """A body that may grow; clients ignore what they do not know."""

    model_config = ConfigDict(extra="allow")


def body_model(
    kind: type, *, without: Collection[str] = (), **narrower: Any
) -> type[BaseModel]:
    """Return a model with the fields of a dataclass, to be the base of a body's.

    A string in `Annotated` is a field's description. `narrower` names what the body
    says more exactly than the dataclass, or has besides.
    """
    hints = get_type_hints(kind, include_extras=True)
    described: dict[str, Any] = {}
    for one in fields(kind):
        if one.name in without:
            continue
        default = ... if one.default is MISSING else one.default
        told = hints[one.name]
        hint, *said = get_args(told) if get_origin(told) is Annotated else (told,)
        hint = narrower.pop(one.name, hint)
        described[one.name] = (hint, Field(default, description=next(iter(said), None)))
    described |= {more: (hint, ...) for more, hint in narrower.items()}
    return create_model(f"{kind.__name__}Fields", **described)


def dump_fields(
    model: type[BaseModel], thing: object, /, **given: object
) -> dict[str, Any]:
    """Return the fields of a body as JSON: those given, the others as the thing has.

    A field with a default is left out unless it is given.
    """
    return {
        name: _as_sent(given[name] if name in given else getattr(thing, name))
        for name, one in model.model_fields.items()
        if name in given or one.is_required()
    }


def _as_sent(value: object) -> object:
    if isinstance(value, datetime):
        return timestamp(value)
    return str(value) if isinstance(value, UUID) else value
