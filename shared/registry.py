"""Plug-ins: what an entry point names is found, ours and other people's alike."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

SEARCH_MODULES = "logchord.search_modules"
ADAPTERS = "logchord.adapters"
STAGES = "logchord.enhancers"


def points(group: str) -> Mapping[str, EntryPoint]:
    """Return what is registered in a group, by name, not loaded yet."""
    return {point.name: point for point in entry_points(group=group)}
