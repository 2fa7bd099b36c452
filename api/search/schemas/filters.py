"""Filters of a search as its description words them: every name, and what it takes."""

from pydantic.config import JsonDict

from shared.search.query.filters import filter_operators, filters, time_range

_MAX_VALUES = 100
_TEXT: JsonDict = {"type": "string"}
_UUID: JsonDict = {"type": "string", "format": "uuid"}
_SCALAR: JsonDict = {"type": ["string", "number", "boolean"]}
_NUMBER_OR_NONE: JsonDict = {"type": ["number", "null"]}
_TEXT_OR_NONE: JsonDict = {"type": ["string", "null"]}
_PART: JsonDict = {"type": "string", "pattern": r"\S"}


def _listed(item: JsonDict) -> JsonDict:
    return {"type": "array", "items": item, "minItems": 1, "maxItems": _MAX_VALUES}


def _object(properties: JsonDict) -> JsonDict:
    return {
        "type": "object",
        "properties": properties,
        "minProperties": 1,
        "additionalProperties": False,
    }


def _valued(item: JsonDict, said: frozenset[str], **more: JsonDict) -> JsonDict:
    """Return a value, or what may be said of several of them."""
    told: JsonDict = {
        name: _PART if name == "contains" else _listed(item) for name in sorted(said)
    }
    return {"anyOf": [item, _object({**told, **more})]}


def _quantity() -> JsonDict:
    properties: JsonDict = {
        "unit": _TEXT,
        "gte": _NUMBER_OR_NONE,
        "lte": _NUMBER_OR_NONE,
        "name": _TEXT_OR_NONE,
    }
    ends: JsonDict = {"anyOf": [{"required": ["gte"]}, {"required": ["lte"]}]}
    return {"anyOf": [_TEXT, {**_object(properties), "required": ["unit"], **ends}]}


def _of(name: str) -> JsonDict:
    if name in filters.TIMES:
        return _TEXT
    if name == filters.QUANTITY:
        return _quantity()
    if name == filters.HAS_ATTACHMENT:
        return {"enum": [True, False, "true", "false"]}
    if name == filters.EXCLUDED:
        return _listed(_UUID)
    if name == filters.ENTRY:
        return _valued(_TEXT, frozenset({"in"}))
    if name == filters.THREAD:
        return _valued(_UUID, filter_operators.LISTED)
    return _valued(_TEXT, filter_operators.SAID)


def _schema() -> JsonDict:
    named: JsonDict = {name: _of(name) for name in filters.BUILT}
    called: JsonDict = {one: _of(name) for one, name in filters.ALIASES.items()}
    end: JsonDict = {"type": ["number", "string"]}
    both: JsonDict = {"type": "array", "items": _TEXT_OR_NONE}
    metadata = _valued(_SCALAR, filter_operators.SAID, gte=end, lte=end)
    return {
        "properties": {
            **named,
            **called,
            time_range.RANGE: {**both, "minItems": 2, "maxItems": 2},
        },
        "patternProperties": {r"^metadata\..+": metadata},
        "additionalProperties": False,
    }


SCHEMA = _schema()
