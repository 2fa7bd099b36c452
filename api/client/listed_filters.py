"""Filters as the address of a listing takes them."""

from collections.abc import Mapping
from typing import Any

from shared.errors import InvalidRequestError

_IN = "in"


def read_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return filters as parameters, of which each is a value or several.

    Whatever a search takes besides would be sent as a text that nothing is called.
    """
    return {name: _values(name, value) for name, value in filters.items()}


def _values(name: str, value: Any) -> Any:
    if isinstance(value, Mapping) and value.keys() == {_IN}:
        value = value[_IN]
        if not isinstance(value, list | tuple):
            raise _refused(name)
    several = value if isinstance(value, list | tuple) else [value]
    # None at all would list everything.
    if not several or any(isinstance(one, Mapping | list | tuple) for one in several):
        raise _refused(name)
    return value


def _refused(name: str) -> InvalidRequestError:
    message = f"{name}: a listing takes a value, or {{in: [...]}} of one value or more."
    return InvalidRequestError.field(f"filters.{name}", "not_a_value", message)
