"""What a search takes beside its question, so that a page can ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from shared.errors import ConfigurationError

Kind = Literal["float", "int", "bool", "select", "date", "text", "dynamic_select"]


@dataclass(frozen=True, slots=True)
class ParameterDescriptor:
    """One control: what it is called, what it takes, and what it is without one."""

    name: str
    label: str
    type: Kind
    default: float | str | bool | None = None
    min: float | None = None
    max: float | None = None
    step: float | None = None
    section: str = "General"
    options: tuple[str, ...] = ()
    placeholder: str = ""
    # Where the options of a `dynamic_select` are read.
    options_endpoint: str | None = None

    def __post_init__(self) -> None:
        """Refuse a control that nobody could draw."""
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
