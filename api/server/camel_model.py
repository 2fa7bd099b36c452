"""Bodies as routes below `/v1/advisory-ai/` spell them: the same models, in camelCase.

Names of fields change, and nothing else: what an entry or a map says stays as it is.
"""

import functools
import json
from collections.abc import Mapping
from copy import copy
from dataclasses import is_dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from fastapi import Response
from pydantic import BaseModel, ConfigDict, create_model
from pydantic.alias_generators import to_camel

from api.server.body_model import body_model
from api.server.json_response import as_json


@functools.lru_cache(maxsize=256)
def make_camel_model(model: type[BaseModel]) -> type[BaseModel]:
    """Return a model whose fields, and those of its parts, have names in camelCase."""
    fields: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        # An alias that is no other spelling is a name of its own: `from`.
        alias = info.alias or to_camel(name)
        spelt = copy(info)
        spelt.alias = spelt.validation_alias = spelt.serialization_alias = alias
        spelt.annotation = _camel(info.annotation)
        fields[name] = (spelt.annotation, spelt)
    config = ConfigDict(
        json_schema_extra=model.model_config.get("json_schema_extra"),
        validate_by_name=True,
        validate_by_alias=True,
    )
    return create_model(
        f"Camel{model.__name__}", __config__=config, __doc__=model.__doc__, **fields
    )


def spell_in_camel(kind: Any, body: Any) -> Any:
    """Return a body with the names that a model in camelCase, or a part of one, has."""
    origin, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _spell_model(kind, body) if isinstance(body, Mapping) else body
    if body is None or not inner:
        return body
    if origin is Annotated:
        return spell_in_camel(inner[0], body)
    if origin in {Union, UnionType}:
        models = [one for one in inner if one is not type(None)]
        return spell_in_camel(models[0], body) if len(models) == 1 else body
    if isinstance(body, Mapping):
        return {name: spell_in_camel(inner[-1], one) for name, one in body.items()}
    if isinstance(body, list):
        return [spell_in_camel(inner[0], one) for one in body]
    return body


def spell_response(
    response: Response, models: Mapping[int, type[BaseModel]]
) -> Response:
    """Return an answer in JSON in the other spelling; an error has one shape."""
    model = models.get(response.status_code)
    if model is None:
        return response
    body = spell_in_camel(model, json.loads(bytes(response.body)))
    headers = {
        name: value
        for name, value in response.headers.items()
        if name not in {"content-length", "content-type"}
    }
    return as_json(body, response.status_code, headers)


def _spell_model(model: type[BaseModel], body: Mapping[str, Any]) -> dict[str, Any]:
    by_name = model.model_fields
    by_alias = {info.alias: info for info in by_name.values()}
    spelt = {}
    for key, value in body.items():
        info = by_name.get(key) or by_alias.get(key)
        if info is None:
            spelt[key] = value
        else:
            spelt[info.alias or key] = spell_in_camel(info.annotation, value)
    return spelt


def _camel(annotation: Any) -> Any:
    if isinstance(annotation, type):
        if issubclass(annotation, BaseModel):
            return make_camel_model(annotation)
        if is_dataclass(annotation):
            named = create_model(annotation.__name__, __base__=body_model(annotation))
            return make_camel_model(named)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is None or not inner:
        return annotation
    if origin is Annotated:
        return Annotated[_camel(inner[0]), *inner[1:]]
    made = tuple(_camel(one) for one in inner)
    if made == inner:
        return annotation
    if origin is UnionType:
        return functools.reduce(lambda one, other: one | other, made)
    return origin[made]
