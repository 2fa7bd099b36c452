"""The stages that are installed, ours and other people's: which, and as configured.

A module that cannot be loaded costs its own stage alone: the others go on.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from shared import plugins
from shared.errors import ConfigurationError, LogchordError
from shared.log import get_logger
from shared.stages.stage_contract import FACILITY, StageDescriptor

if TYPE_CHECKING:
    from shared.settings.settings import Settings
    from shared.text.facility.facility import Facility

log = get_logger()

# Declared and made of options stand beside each other in one integer of the database.
_VERSION_BITS = 15
# What importing somebody else's module ends in.
_BROKEN = (ImportError, AttributeError, TypeError, ValueError, LookupError, OSError)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage that finds things, with its settings."""

    descriptor: StageDescriptor
    options: BaseModel
    facility: Facility
    # The module's version, under a mark of options and the facility's file if read.
    version: int
    max_bytes: int


@cache
def load_descriptors() -> Mapping[str, StageDescriptor | ConfigurationError]:
    """Return every installed stage by its name, or why it cannot be used."""
    return {name: _load(name) for name in sorted(plugins.points(plugins.STAGES))}


def list_stages() -> Mapping[str, StageDescriptor]:
    """Return the stages that can be used, in the order in which an entry passes."""
    usable = [
        one for one in load_descriptors().values() if isinstance(one, StageDescriptor)
    ]
    return {one.name: one for one in sorted(usable, key=lambda s: (s.order, s.name))}


def is_installed(name: str) -> bool:
    """Tell whether a stage is there, usable or not."""
    return name in load_descriptors()


def list_enabled_stages(settings: Settings) -> list[StageDescriptor]:
    """Return the stages that are switched on, in order."""
    return [one for one in list_stages().values() if _is_on(one, settings)]


def broken(settings: Settings) -> list[str]:
    """Return the stages that are on but unusable; their work waits for a mend."""
    return [
        name
        for name, one in load_descriptors().items()
        if isinstance(one, ConfigurationError) and name not in _off(settings)
    ]


def finders(settings: Settings, facility: Facility) -> list[Stage]:
    """Return the stages that find things and can be run as they are configured."""
    found = []
    for one in list_enabled_stages(settings):
        if one.find is None:
            continue
        try:
            found.append(_configured(one, settings, facility))
        except ConfigurationError as exc:
            log.warning("stage_not_usable", stage=one.name, reason=str(exc))
    return found


def finder(name: str, settings: Settings, facility: Facility) -> Stage | None:
    """Return a stage that finds things; None where it is not installed, or off."""
    descriptor = load_descriptors().get(name)
    if descriptor is None or name in _off(settings):
        return None
    if isinstance(descriptor, ConfigurationError):
        raise descriptor
    if not _is_on(descriptor, settings):
        return None
    return _configured(descriptor, settings, facility) if descriptor.find else None


def _off(settings: Settings) -> set[str]:
    return {name for name, given in settings.stages.items() if not given.enabled}


def _is_on(one: StageDescriptor, settings: Settings) -> bool:
    given = settings.stages.get(one.name)
    return one.is_on if given is None else given.enabled


def _load(name: str) -> StageDescriptor | ConfigurationError:
    point = plugins.points(plugins.STAGES)[name]
    try:
        made = point.load()()
    except LogchordError as exc:
        return _unusable(name, str(exc))
    except _BROKEN as exc:
        log.exception("stage_not_loaded", stage=name)
        return _unusable(name, f"loading {point.value} ended in {type(exc).__name__}")
    if not isinstance(made, StageDescriptor) or made.name != name:
        return _unusable(name, f"{point.value} returned no descriptor of that name")
    return made


def _unusable(name: str, why: str) -> ConfigurationError:
    message = f"The stage {name} cannot be used: {why}."
    return ConfigurationError(message, config_key=f"stages.{name}")


def _configured(one: StageDescriptor, settings: Settings, facility: Facility) -> Stage:
    given = settings.stages.get(one.name)
    try:
        options = one.options.model_validate(given.settings if given else {})
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(["stages", one.name, "settings", *map(str, first["loc"])])
        message = f"{where} cannot be used: {first['msg']}."
        raise ConfigurationError(message, config_key=where) from exc
    said: list[Any] = [options.model_dump(mode="json")]
    if FACILITY in one.reads:
        said.append(facility.whole_fingerprint)
    mark = zlib.crc32(json.dumps(said, sort_keys=True).encode())
    return Stage(
        one,
        options,
        facility,
        version=mark << _VERSION_BITS | one.version,
        max_bytes=settings.work.max_finding_bytes,
    )
