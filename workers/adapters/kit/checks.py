"""Every check of the conformance kit, by its row; each holds or raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from workers.adapters.kit import (
    checks_changes,
    checks_faults,
    checks_files,
    checks_load,
    checks_parse,
    checks_snapshot,
    checks_text,
    checks_threads,
    checks_times,
)


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


def _of_stores(row: str, run: Callable[..., None]) -> Check:
    return Check(row, run.__name__, run, "keeping")


CHECKS = (
    _of_readings("ADP1", checks_parse.descriptor),
    _of_readings("ADP15", checks_times.times),
    _of_readings("ADP17", checks_text.charsets),
    _of_readings("ADP18", checks_text.escapes),
    _of_readings("ADP20", checks_text.missing_and_oversized),
    _of_readings("ADP24", checks_parse.pure),
    _of_readings("ADP25", checks_parse.spoilt_payloads),
    _of_readings("ADP27", checks_load.stops_between_pages),
    _of_readings("ADP28", checks_load.page_sizes),
    _of_stores("ADP2", checks_load.full_load),
    _of_stores("ADP3", checks_load.unchanged_source),
    _of_stores("ADP4", checks_load.killed_after_each_page),
    _of_stores("ADP5", checks_load.appear_during_a_run),
    _of_stores("ADP6", checks_changes.back_dated),
    _of_stores("ADP7", checks_changes.edits),
    _of_stores("ADP8", checks_changes.edits_with_new_ids),
    _of_stores("ADP9", checks_changes.deletions),
    _of_stores("ADP10", checks_changes.lying_listings),
    _of_stores("ADP11", checks_threads.threads),
    _of_stores("ADP12", checks_threads.scoped_ids),
    _of_stores("ADP13", checks_load.same_second),
    _of_stores("ADP14", checks_load.beyond_the_cap),
    _of_stores("ADP15", checks_changes.far_future),
    _of_stores("ADP16", checks_changes.wrong_clock),
    _of_stores("ADP19", checks_changes.malformed_item),
    _of_stores("ADP21", checks_faults.server_faults),
    _of_stores("ADP22", checks_files.attachments),
    _of_stores("ADP23", checks_load.cursor),
    _of_stores("ADP26", checks_changes.drafts),
    _of_stores("ADP29", checks_changes.counts),
    _of_stores("ADP30", checks_snapshot.fallback),
    _of_stores("ADP31", checks_faults.pollers),
    _of_stores("ADP32", checks_files.every_kind_of_run),
)
