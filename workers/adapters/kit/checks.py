"""Every check of the conformance kit, by its row; each holds or raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from workers.adapters.kit import checks_parse, checks_text, checks_times


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its row, what it is called, and what it runs on."""

    row: str
    name: str
    run: Callable[[Any], None]
    # A stub alone, or a stub with a store and the runtime.
    on: Literal["reading", "keeping"]


def _of_readings(row: str, run: Callable[..., None]) -> Check:
    return Check(row, run.__name__, run, "reading")


CHECKS = (
    _of_readings("ADP1", checks_parse.descriptor),
    _of_readings("ADP15", checks_times.times),
    _of_readings("ADP17", checks_text.charsets),
    _of_readings("ADP18", checks_text.escapes),
    _of_readings("ADP20", checks_text.missing_and_oversized),
    _of_readings("ADP24", checks_parse.pure),
    _of_readings("ADP25", checks_parse.spoilt_payloads),
)
