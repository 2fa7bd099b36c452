"""Every check of the conformance kit, by its row; each holds or raises."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from workers.adapters.kit.checks import (
    changes,
    faults,
    files,
    load,
    parse,
    snapshot,
    text,
    threads,
    times,
)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its row, what it runs, and on what."""

    row: str
    run: Callable[[Any], None]
    # A stub alone, or a stub with a store and the runtime.
    on: Literal["reading", "keeping"]

    @property
    def name(self) -> str:
        """What the check is called."""
        return self.run.__name__


_of_readings = partial(Check, on="reading")
_of_stores = partial(Check, on="keeping")

CHECKS = (
    _of_readings("ADP1", parse.descriptor),
    _of_readings("ADP15", times.times),
    _of_readings("ADP17", text.charsets),
    _of_readings("ADP18", text.escapes),
    _of_readings("ADP20", text.missing_and_oversized),
    _of_readings("ADP24", parse.pure),
    _of_readings("ADP25", parse.spoilt_payloads),
    _of_readings("ADP27", load.stops_between_pages),
    _of_readings("ADP28", load.page_sizes),
    _of_stores("ADP2", load.full_load),
    _of_stores("ADP2", load.load_in_a_worker),
    _of_stores("ADP3", load.unchanged_source),
    _of_stores("ADP4", load.killed_after_each_page),
    _of_stores("ADP5", load.appear_during_a_run),
    _of_stores("ADP6", changes.back_dated),
    _of_stores("ADP7", changes.edits),
    _of_stores("ADP8", changes.edits_with_new_ids),
    _of_stores("ADP9", changes.deletions),
    _of_stores("ADP10", changes.lying_listings),
    _of_stores("ADP11", threads.threads),
    _of_stores("ADP12", threads.scoped_ids),
    _of_stores("ADP13", load.same_second),
    _of_stores("ADP14", load.beyond_the_cap),
    _of_stores("ADP15", changes.far_future),
    _of_stores("ADP16", changes.wrong_clock),
    _of_stores("ADP19", changes.malformed_item),
    _of_stores("ADP21", faults.server_faults),
    _of_stores("ADP22", files.attachments),
    _of_stores("ADP23", load.cursor),
    _of_stores("ADP26", changes.drafts),
    _of_stores("ADP29", changes.counts),
    _of_stores("ADP30", snapshot.fallback),
    _of_stores("ADP31", faults.pollers),
    _of_stores("ADP32", files.every_kind_of_run),
)
