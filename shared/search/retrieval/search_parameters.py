"""Parameters of a search beside its question, described so that a page can ask."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from shared import suggest
from shared.errors import ConfigurationError, InvalidRequestError

Kind = Literal["float", "int", "bool", "select", "date", "text", "dynamic_select"]
Value = float | str | bool | None
# How long a text may be where its descriptor does not say.
MAX_TEXT_CHARS = 1000


@dataclass(frozen=True, slots=True)
class ParameterDescriptor:
    """One parameter as a control: its name, the values it takes, and its default."""

    name: str
    label: str
    type: Kind
    default: Value = None
    min: float | None = None
    max: float | None = None
    step: float | None = None
    section: str = "General"
    options: tuple[str, ...] = ()
    placeholder: str = ""
    # Where the options of a `dynamic_select` are read.
    options_endpoint: str | None = None

    def __post_init__(self) -> None:
        """Refuse a parameter that no page could draw as a control."""
        wrong = None
        if self.type not in get_args(Kind):
            wrong = f"{self.type!r} is no type of a parameter"
        elif self.type == "select" and not self.options:
            wrong = "a select has options"
        elif (self.type == "dynamic_select") != (self.options_endpoint is not None):
            wrong = "a dynamic_select, and nothing else, has an options_endpoint"
        elif self.min is not None and self.max is not None and self.min > self.max:
            wrong = "min is above max"
        if wrong:
            message = f"The parameter {self.name!r}: {wrong}."
            raise ConfigurationError(message, config_key=self.name)


def check_parameters(
    given: Mapping[str, object], described: Sequence[ParameterDescriptor]
) -> dict[str, Value]:
    """Return a value for each parameter, the default where none is given.

    An unknown name and a value out of bounds are refused.
    """
    known = {one.name: one for one in described}
    for name in given:
        if name not in known:
            hint = suggest.hint(name, known)
            message = f"No module of this search takes it.{hint}"
            path = f"parameters.{name[:50]}"
            raise InvalidRequestError.field(path, "extra_forbidden", message)
    return {
        name: _value(one, given[name]) if name in given else one.default
        for name, one in known.items()
    }


def _value(one: ParameterDescriptor, value: object) -> Value:
    wrong = _flaw(one, value)
    if wrong:
        raise InvalidRequestError.field(f"parameters.{one.name}", "range", wrong)
    return value  # type: ignore[return-value]


def _flaw(one: ParameterDescriptor, value: object) -> str | None:
    """Say in a sentence why a value is refused; None: it is fine."""
    if one.type == "bool":
        return None if isinstance(value, bool) else "It takes true or false."
    if one.type in {"int", "float"}:
        kinds = (int,) if one.type == "int" else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            return "It takes a number."
        low = -math.inf if one.min is None else one.min
        high = math.inf if one.max is None else one.max
        within = abs(value) != math.inf and low <= value <= high
        return None if within else f"It takes {low:g} to {high:g}."
    if not isinstance(value, str):
        return "It takes a text."
    if one.type == "select" and value not in one.options:
        return f"It takes one of {', '.join(one.options)}."
    if one.type == "date" and not _is_date(value):
        return "It takes a date such as 2024-06-10."
    most = MAX_TEXT_CHARS if one.max is None else int(one.max)
    return None if len(value) <= most else f"It takes {most} characters at most."


def _is_date(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True
