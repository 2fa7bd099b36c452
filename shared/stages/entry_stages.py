"""The stages that an entry passes under these settings, by the names of their work."""

from __future__ import annotations

from shared.settings.settings import Settings
from shared.stages import installed_stages


def list_configured_stages(settings: Settings) -> tuple[str, ...]:
    """Return every stage, in the order in which an entry passes them."""
    return tuple(
        one.row_of(settings)
        for one in installed_stages.list_enabled_stages(settings)
        if not one.on_demand
    )


def list_entry_stages(settings: Settings) -> tuple[str, ...]:
    """Return the stages that are due at once, without those that follow others."""
    return tuple(
        one.row_of(settings)
        for one in installed_stages.list_enabled_stages(settings)
        if not one.on_demand and not one.after
    ) + tuple(installed_stages.broken(settings))


def list_runnable_stages(settings: Settings) -> frozenset[str]:
    """Return every stage that can be run here, those too that few entries need."""
    return frozenset(
        one.row_of(settings) for one in installed_stages.list_enabled_stages(settings)
    )


def list_finder_stages(settings: Settings) -> frozenset[str]:
    """Return the stages that the search of an entry does not wait for."""
    return frozenset(
        one.row_of(settings)
        for one in installed_stages.list_enabled_stages(settings)
        if one.find is not None
    )


def list_deletion_stages(settings: Settings) -> tuple[str, ...]:
    """Return the stages that are due for a deleted entry."""
    return tuple(
        one.row_of(settings)
        for one in installed_stages.list_enabled_stages(settings)
        if one.on_deletion
    )


def list_next_stages(settings: Settings, name: str) -> tuple[str, ...]:
    """Return the stages that the end of a stage makes due."""
    return tuple(
        one.row_of(settings)
        for one in installed_stages.list_enabled_stages(settings)
        if name in one.after
    )
