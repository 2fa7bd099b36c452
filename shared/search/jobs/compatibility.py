"""Plans and outcomes travel between releases: each reads the fields that it knows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache, partial
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

_Kind = TypeVar("_Kind")
_SEVERAL = {tuple: tuple, frozenset: frozenset, list: list, Sequence: list}


def read_fields(kind: type[_Kind], values: Mapping[str, Any]) -> _Kind:
    """Read a dataclass back from JSON; leave out the fields of a newer release.

    A dataclass inside that is stored in a form of its own has a `from_values`.
    """
    readers = _readers(kind)  # type: ignore[arg-type]
    return kind(
        **{
            name: values[name] if read is None else read(values[name])
            for name, read in readers.items()
            if name in values
        }
    )


def to_json_value(part: Any) -> Any:
    """Return a dataclass or a set as JSON takes it; a set is sorted."""
    # Not `asdict`: it copies all values, which takes most of the time of making a plan.
    if isinstance(part, frozenset):
        return sorted(part)
    return {name: getattr(part, name) for name in _names(part.__class__)}


@cache
def _readers(kind: Any) -> dict[str, Callable[[Any], Any] | None]:
    hints = get_type_hints(kind)
    return {name: _reader(hints[name]) for name in _names(kind)}


def _reader(hint: Any) -> Callable[[Any], Any] | None:
    """Return the function that reads one value of this type; None: JSON has it."""
    kind: Any = get_origin(hint) or hint
    parts = [part for part in get_args(hint) if part is not NoneType]
    if kind is datetime:
        return datetime.fromisoformat
    if is_dataclass(kind):
        own: Callable[[Any], Any] = getattr(
            kind, "from_values", partial(read_fields, hint)
        )
        return own
    if kind in _SEVERAL:
        has_pairs = kind is tuple and Ellipsis not in parts
        read = None if has_pairs else _reader(parts[0])
        return partial(_read_several, _SEVERAL[kind], read)
    if len(parts) == 1 and NoneType in get_args(hint) and (read := _reader(parts[0])):
        return partial(_read_optional, read)
    return None


def _read_several(
    kind: Callable[[Any], Any], read: Callable[[Any], Any] | None, values: Any
) -> Any:
    return kind(values if read is None else map(read, values))


def _read_optional(read: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else read(value)


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))
