"""Plug-ins: what an entry point names, or somebody registers, is found by its name.

Ours and other people's are found alike. Nothing is loaded before somebody asks for it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import _lru_cache_wrapper, cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeVar, get_args

from shared.errors import ConfigurationError, ModuleNotEnabledError

SEARCH_MODULES = "logchord.search_modules"
PIPELINES = "logchord.pipelines"
ADAPTERS = "logchord.adapters"
STAGES = "logchord.enhancers"
CAPABILITIES = "logchord.capabilities"

OURS = "logchord"
# Python modules that register something when they are imported, by their names.
VARIABLE = "LOGCHORD_REGISTRY"
Category = Literal["llm", "direct"]
# What such a module offers, whichever way it was registered.
PROVIDERS = {
    SEARCH_MODULES: "get_tool_descriptor",
    PIPELINES: "get_pipeline_descriptor",
}
# The form of names that other packages may give.
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_MODULE_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SearchModuleRegistration:
    """A search module of a package without an entry point for it."""

    name: str
    module_path: str
    # Shown where its descriptor has none.
    description: str = ""


@dataclass(frozen=True, slots=True)
class PipelineRegistration:
    """A pipeline of a package without an entry point for it."""

    name: str
    module_path: str
    description: str = ""
    # Whether a model reasons in it.
    category: Category = "direct"

    def __post_init__(self) -> None:
        """Refuse a category that is none."""
        check_category(self.name, self.category)


Registration = SearchModuleRegistration | PipelineRegistration

_registered: dict[str, dict[str, Registration]] = {}
_forget: list[Callable[[], None]] = []


def extend_registry(
    *,
    search_modules: Iterable[SearchModuleRegistration] = (),
    pipelines: Iterable[PipelineRegistration] = (),
) -> None:
    """Register plug-ins; a repeated registration changes nothing, a taken name raises.

    A module is imported when it is first asked for, as one of an entry point is.
    """
    for group, given in ((SEARCH_MODULES, search_modules), (PIPELINES, pipelines)):
        for one in given:
            _register(group, one)
    for forget in _forget:
        forget()


def until_extended(read: Callable[[], T]) -> _lru_cache_wrapper[T]:
    """Cache a function's result until another plug-in is registered."""
    kept = cache(read)
    _forget.append(kept.cache_clear)
    return kept


def points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, registered ones too, not loaded."""
    added = {
        one.name: EntryPoint(one.name, f"{one.module_path}:{PROVIDERS[group]}", group)
        for one in _registered.get(group, {}).values()
    }
    return {point.name: point for point in entry_points(group=group)} | added


def usable(found: Mapping[str, T | ConfigurationError], name: str, kind: str) -> T:
    """Return a plug-in that was found, or raise why it cannot be used."""
    one = found.get(name)
    if one is None:
        message = f"No {kind} is called {name!r}."
        raise ModuleNotEnabledError(message, module_name=name, available=sorted(found))
    if isinstance(one, ConfigurationError):
        raise one
    return one


def of_others(group: str) -> set[str]:
    """Return the names in a group that did not come with Logchord."""
    return {name for name, point in points(group).items() if not is_ours(point)}


def is_ours(point: EntryPoint) -> bool:
    """Tell whether the plug-in came with Logchord."""
    return point.dist is not None and point.dist.name == OURS


def registration(group: str, name: str) -> Registration | None:
    """Return the registration of a plug-in that has no entry point."""
    return _registered.get(group, {}).get(name)


def import_named(environ: Mapping[str, str]) -> None:
    """Import the modules that the environment names, so that they can register."""
    for name in environ.get(VARIABLE, "").replace(",", " ").split():
        try:
            importlib.import_module(name)
        except ImportError as exc:
            message = f"{VARIABLE} names {name}, which cannot be imported: {exc}."
            raise ConfigurationError(message, config_key=VARIABLE) from exc


def load_named(named: str, config_key: str) -> Any:
    """Load the object that a setting names as `module:object`, or raise why not."""
    try:
        return EntryPoint(config_key, named, "").load()
    except (ImportError, AttributeError, ValueError) as exc:
        message = f"{config_key} names {named}, which cannot be loaded: {exc}."
        raise ConfigurationError(message, config_key=config_key) from exc


def check_category(name: str, category: str) -> None:
    """Refuse a category of pipelines that is none."""
    if category not in get_args(Category):
        legal = " or ".join(get_args(Category))
        message = f"The pipeline {name} is {legal}, and not {category!r}."
        raise ConfigurationError(message, config_key=f"pipelines.{name}")


def _register(group: str, one: Registration) -> None:
    key = f"{group.removeprefix('logchord.')}.{one.name}"
    known = _registered.setdefault(group, {})
    if not NAME.fullmatch(one.name) or not _MODULE_PATH.fullmatch(one.module_path):
        message = (
            f"{one.name!r} in {one.module_path!r} cannot be registered: a name has"
            " small letters, digits and underscores, and a module its dotted path."
        )
        raise ConfigurationError(message, config_key=key)
    taken = entry_points(group=group, name=one.name)
    if taken or known.get(one.name, one) != one:
        message = f"{key} cannot be registered: another one has that name."
        raise ConfigurationError(message, config_key=key)
    known[one.name] = one
