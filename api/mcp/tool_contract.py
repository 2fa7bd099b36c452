"""What a tool is: a name, arguments that we check ourselves, and a function."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from api.mcp.rest_calls import RestCalls
from api.mcp.result_size import DEFAULT_CHARS, LEAST_CHARS, take_marks_off
from shared.errors import InvalidRequestError
from shared.suggest import hint

Text = Annotated[str, Field(max_length=10_000)]
Ref = Annotated[str, Field(min_length=1, max_length=1000)]


class Arguments(BaseModel):
    """What a tool takes; anything else is refused, with the nearest right name."""

    model_config = ConfigDict(
        extra="forbid", strict=True, use_attribute_docstrings=True
    )


class Bounded(Arguments):
    """What a tool takes whose result may be long."""

    max_chars: Annotated[int, Field(ge=LEAST_CHARS, le=200_000)] = DEFAULT_CHARS
    """Most of the whole result."""


Run = Callable[[RestCalls, Any], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One thing that an agent may ask for."""

    name: str
    description: str
    arguments: type[Arguments]
    run: Run
    is_write: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of its arguments, as short as it can be."""
        found: dict[str, Any] = _untitled(self.arguments.model_json_schema())
        found.pop("description", None)
        return found

    def read(self, given: Mapping[str, Any]) -> Arguments:
        """Return the arguments, or refuse them and say what would be right.

        What is copied from a result is taken without its marks, but into no entry.
        """
        given = given if self.is_write else take_marks_off(given)
        fields = self.arguments.model_fields
        known = [one.alias or name for name, one in fields.items()]
        for name in given:
            if name not in known:
                takes = f" It takes {', '.join(known)}."
                message = f"{self.name} has no argument {name[:100]!r}."
                message += hint(name, known) or takes
                raise InvalidRequestError.field(name[:100], "unknown_field", message)
        try:
            return self.arguments.model_validate(_with_integers(given))
        except ValidationError as exc:
            raise refusal(self.name, exc) from exc


def _with_integers(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in which 3.0 is 3: in JSON, and in our schemas, it is."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in given.items()
    }


def refusal(name: str, exc: ValidationError) -> InvalidRequestError:
    """Return the error for the first wrong argument of a tool's call."""
    first = exc.errors(include_url=False, include_input=False)[0]
    path = ".".join(map(str, first["loc"]))
    message = f"{name}: {path}: {first['msg']}."
    return InvalidRequestError.field(path, first["type"], message)


def _untitled(value: Any) -> Any:
    """Return a schema without the titles that repeat its names."""
    if isinstance(value, list):
        return [_untitled(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _untitled(one)
        for name, one in value.items()
        if not (name == "title" and isinstance(one, str))
    }
