"""The harmless part of a run: one page is read and parsed, nothing is stored.

The settings of a map are held against the records of the page: places that no record
has, dates that read in two ways, fields that no entry fills.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from shared import suggest
from shared.adapter_contract import contract
from shared.adapter_contract.mapped_record import MappedRecord, ReadsByMap
from shared.entries.draft import EntryDraft
from shared.errors import LogchordError, MalformedEntryError
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter
from shared.sources.adapter_io import hurry, make_io
from shared.sources.intake.normalise import PullRules
from shared.sources.load_adapter import Opened
from shared.times import date_orders
from shared.times.date_orders import UnsureOrder

SAMPLES = 3
_LOOKED_AT = 50
_DAYS = 30
_METADATA = "metadata."
# More than clocks differ, and less than zones do.
_AHEAD = timedelta(minutes=10)


@runtime_checkable
class MappedSettings(Protocol):
    """The settings of an adapter whose fields stand where its user says."""

    @property
    def map(self) -> Mapping[str, str | Sequence[str]]:
        """Which of the source's fields becomes which of ours."""

    def name_of(self, mapped: str) -> str:
        """Return our name of a field of the map."""


@dataclass(frozen=True, slots=True)
class AbsentPlace:
    """A place that a setting names, and no record has."""

    setting: str
    place: str
    # How many records were looked at.
    records: int
    # A sentence that offers the nearest name, or nothing.
    hint: str

    def describe(self) -> str:
        """Return where which setting looks in vain, and what may be meant."""
        which = (
            "The only record has no"
            if self.records == 1
            else f"None of the first {self.records} records has"
        )
        return f"{which} {self.place!r}, where `args.{self.setting}` looks.{self.hint}"


@dataclass(frozen=True, slots=True)
class MapDoubts:
    """What of a map is in doubt, by the records that were read."""

    absent: tuple[AbsentPlace, ...] = ()
    order: UnsureOrder | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """Return a sentence for each doubt."""
        told = [one.describe() for one in self.absent]
        return (*told, *((self.order.describe(),) if self.order else ()))


NO_DOUBTS = MapDoubts()


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check of a source."""

    ok: bool
    took_seconds: float
    sample: tuple[EntryDraft, ...]
    problems: tuple[str, ...]
    report: contract.SourceReport | None
    # In which its naive times are read; none: they say it themselves.
    timezone: str | None
    capabilities: contract.AdapterCapabilities
    # In one word why it failed, or why most of its entries cannot be read.
    reason: str | None = None
    # What a part of it says that is not shown to us.
    unread: tuple[str, ...] = ()
    # What of its map may be meant otherwise.
    doubts: MapDoubts = NO_DOUBTS


def check_configured(settings: Settings, name: str, source: SourceSettings) -> Checked:
    """Check a source as it is configured, wherever that is written, without retries."""
    hurried = hurry(source)
    most = settings.max_entry_bytes
    with make_io(name, hurried) as io:
        opened = load_adapter.open_source(name, hurried, io, max_entry_bytes=most)
        rules = PullRules(settings, name, hurried, opened.descriptor.version)
        return check(opened, rules)


def check(opened: Opened, rules: PullRules) -> Checked:
    """Ask for one page, and what the adapter can say besides; never raise."""
    began = time.monotonic()
    problems: list[str] = []
    report = _report(opened, problems)
    drafts: list[EntryDraft] = []
    reason: str | None = None
    doubts = NO_DOUBTS
    ok = True
    try:
        page = _first_page(opened)
        if page is not None:
            drafts, bad = _read(opened, rules, page)
            problems += [_told(one, count) for one, count in bad.values()]
            doubts = _find_map_doubts(opened.adapter, page.items)
            problems += doubts.problems
            problems += _unfilled(opened, drafts, doubts)
            lost = {one: count for one, (_, count) in bad.items()}
            if sum(lost.values()) > len(drafts):
                reason = max(lost, key=lost.__getitem__)
        if not drafts and not problems:
            has_windows = opened.capabilities.windows
            when = f"the last {_DAYS} days hold" if has_windows else "holds"
            problems.append(f"It answers, and {when} no entry.")
    except LogchordError as exc:
        problems.append(exc.message)
        reason, ok = getattr(exc, "reason", None) or exc.error_code, False
    newest = sorted(drafts, key=lambda one: str(one.entry_time), reverse=True)
    too_late = _too_late(newest[0], opened) if newest else None
    if too_late is not None:
        problems.append(too_late)
    return Checked(
        ok=ok,
        took_seconds=time.monotonic() - began,
        sample=tuple(newest[:SAMPLES]),
        # What the adapter's own questions have met, the first page meets again.
        problems=tuple(dict.fromkeys(problems)),
        report=report,
        timezone=opened.settings.timezone,
        capabilities=opened.capabilities,
        reason=reason,
        unread=_unread(opened),
        doubts=doubts,
    )


def _unread(opened: Opened) -> tuple[str, ...]:
    adapter = opened.adapter
    if not isinstance(adapter, contract.ReadsInPart):
        return ()
    return tuple(adapter.unread().values())


def _too_late(newest: EntryDraft, opened: Opened) -> str | None:
    """Warn that the newest entry lies in the future: the zone may be set wrong."""
    now = opened.io.now()
    if newest.entry_time is None or newest.entry_time <= now + _AHEAD:
        return None
    hours = (newest.entry_time - now).total_seconds() / 3600
    zone = opened.settings.timezone
    said = f"`timezone` is {zone}" if zone else "`timezone` is not set"
    return (
        f"Its newest entry lies {hours:.1f} h in the future; {said}: is that the zone"
        " of its times?"
    )


def _report(opened: Opened, problems: list[str]) -> contract.SourceReport | None:
    adapter = opened.adapter
    if not isinstance(adapter, contract.Checks):
        return None
    try:
        report = adapter.check()
    except LogchordError as exc:
        problems.append(exc.message)
        return None
    problems.extend(report.problems)
    zone = opened.settings.timezone
    if report.timezone_guess and zone and report.timezone_guess != zone:
        problems.append(
            f"Its times look like {report.timezone_guess}; configured is {zone}."
        )
    problems.extend(f"Restricted: {one}." for one in report.restricted)
    return report


def _first_page(opened: Opened) -> contract.AdapterPage | None:
    window = None
    if opened.capabilities.windows:
        window = contract.Window(opened.io.now() - timedelta(days=_DAYS), None)
    pages: Iterator[contract.AdapterPage] = iter(opened.adapter.pages(None, window))
    return next(pages, None)


def _told(first: MalformedEntryError, count: int) -> str:
    which = "; the first" if count > 1 else ""
    return f"{count} could not be read{which}: {first.message}"


def _find_map_doubts(
    adapter: contract.Adapter, items: Iterable[contract.RawItem]
) -> MapDoubts:
    """Look up every item of a page in the map of its source, if it has one."""
    if not isinstance(adapter, ReadsByMap):
        return NO_DOUBTS
    records = list(_looked_up(adapter, items))
    if not records:
        return NO_DOUBTS
    names = {name for one in records for name in one.names}
    absent = frozenset.intersection(*(one.absent for one in records))
    return MapDoubts(
        tuple(
            AbsentPlace(setting, place, len(records), suggest.hint(place, names))
            for setting, place in sorted(absent)
        ),
        date_orders.find_unsure_order(text for one in records for text in one.times),
    )


def _looked_up(
    adapter: ReadsByMap, items: Iterable[contract.RawItem]
) -> Iterator[MappedRecord]:
    for item in items:
        try:
            yield adapter.look_up(item)
        except MalformedEntryError:
            # It is told with the others that cannot be read.
            continue


def _unfilled(opened: Opened, drafts: list[EntryDraft], doubts: MapDoubts) -> list[str]:
    """Name the mapped fields that no entry fills, though their columns are there."""
    args = opened.source.args
    if not drafts or not isinstance(args, MappedSettings):
        return []
    return [
        f"Of the first {len(drafts)} entries none has {name!r}: look at"
        f" {', '.join(map(repr, [at] if isinstance(at, str) else at))} in `args.map`."
        for name, at in args.map.items()
        if not any(one.setting == f"map.{name}" for one in doubts.absent)
        and not any(_has(one, args.name_of(name)) for one in drafts)
    ]


def _has(draft: EntryDraft, name: str) -> bool:
    kept = name.removeprefix(_METADATA)
    if kept != name:
        return not _is_absent(draft.metadata.get(kept))
    # What no draft has, as a mark of deletion, is not looked for in one.
    return not _is_absent(getattr(draft, name, True))


def _is_absent(value: Any) -> bool:
    """Tell whether nothing is there; zero and False are something."""
    return value is None or (isinstance(value, Sized) and len(value) == 0)


def _read(
    opened: Opened, rules: PullRules, page: contract.AdapterPage
) -> tuple[list[EntryDraft], dict[str, tuple[MalformedEntryError, int]]]:
    """Return the drafts, and for each reason of failure the first error and a count."""
    now = opened.io.now()
    drafts: list[EntryDraft] = []
    bad: dict[str, tuple[MalformedEntryError, int]] = {}
    for item in islice(page.items, _LOOKED_AT):
        try:
            entry = opened.adapter.parse(item)
            if not entry.deleted:
                drafts.append(rules.draft(entry, item, now=now))
        except MalformedEntryError as exc:
            reason = exc.reason or exc.error_code
            first, count = bad.get(reason, (exc, 0))
            bad[reason] = first, count + 1
    return drafts, bad
