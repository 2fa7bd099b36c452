"""The stages that an entry passes under these settings, by the names of their work."""

from collections.abc import Callable

from shared.settings.settings import Settings
from shared.stages import installed_stages
from shared.stages.stage_contract import StageDescriptor


def list_configured_stages(settings: Settings) -> tuple[str, ...]:
    """Return every stage, in the order in which an entry passes them."""
    return _rows(settings, lambda one: not one.on_demand)


def list_entry_stages(settings: Settings) -> tuple[str, ...]:
    """Return the stages that are due at once, without those that follow others."""
    at_once = _rows(settings, lambda one: not one.on_demand and not one.after)
    return (*at_once, *installed_stages.broken(settings))


def list_runnable_stages(settings: Settings) -> frozenset[str]:
    """Return every stage that can be run here, those too that few entries need."""
    return frozenset(_rows(settings, lambda _: True))


def list_finder_stages(settings: Settings) -> frozenset[str]:
    """Return the stages that the search of an entry does not wait for."""
    return frozenset(_rows(settings, lambda one: one.find is not None))


def list_deletion_stages(settings: Settings) -> tuple[str, ...]:
    """Return the stages that are due for a deleted entry."""
    return _rows(settings, lambda one: one.on_deletion)


def list_next_stages(settings: Settings, name: str) -> tuple[str, ...]:
    """Return the stages that the end of a stage makes due."""
    return _rows(settings, lambda one: name in one.after)


def _rows(
    settings: Settings, is_one: Callable[[StageDescriptor], bool]
) -> tuple[str, ...]:
    enabled = installed_stages.list_enabled_stages(settings)
    return tuple(one.row_of(settings) for one in enabled if is_one(one))
