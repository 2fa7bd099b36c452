"""Plans and outcomes travel between releases: each reads the fields that it knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any


def select_known_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a dataclass of this release has; drop newer ones."""
    return {name: values[name] for name in _names(kind) if name in values}


def to_json_value(part: Any) -> Any:
    """Return a dataclass or a set as JSON takes it; a set is sorted."""
    # Not `asdict`: it copies all values, which takes most of the time of making a plan.
    if isinstance(part, frozenset):
        return sorted(part)
    return {name: getattr(part, name) for name in _names(part.__class__)}


@lru_cache(maxsize=32)
def _names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))
