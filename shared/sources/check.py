"""The harmless part of a run: one page is read and parsed, nothing is stored."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from shared.entries.adapter import Checks, Page, SourceReport, Window
from shared.entries.draft import EntryDraft
from shared.errors import LogchordError, MalformedEntryError
from shared.settings import Settings
from shared.settings_sources import SourceSettings
from shared.sources import loading
from shared.sources.admit import Rules
from shared.sources.io import make_io
from shared.sources.loading import Opened

SAMPLES = 3
_LOOKED_AT = 50
_DAYS = 30


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found out about a source."""

    ok: bool
    took_seconds: float
    sample: tuple[EntryDraft, ...]
    problems: tuple[str, ...]
    report: SourceReport | None


def check_configured(settings: Settings, name: str, source: SourceSettings) -> Checked:
    """Check a source as it is configured, wherever that is written, without retries."""
    hurried = source.model_copy(update={"max_retries": 0})
    most = settings.max_entry_bytes
    with make_io(name, hurried) as io:
        opened = loading.open_source(name, hurried, io, max_entry_bytes=most)
        rules = Rules(settings, name, hurried, opened.descriptor.version)
        return check(opened, rules)


def check(opened: Opened, rules: Rules) -> Checked:
    """Ask for one page, and what the adapter can say besides; never raise."""
    began = time.monotonic()
    problems: list[str] = []
    report = _report(opened, problems)
    drafts: list[EntryDraft] = []
    try:
        page = _first_page(opened)
        if page is not None:
            drafts = _read(opened, rules, page, problems)
        if not drafts and not problems:
            problems.append("It answers, and the last 30 days hold no entry.")
    except LogchordError as exc:
        problems.append(exc.message)
        return _checked(began, [], problems, report, ok=False)
    newest = sorted(drafts, key=lambda one: str(one.entry_time), reverse=True)
    return _checked(began, newest[:SAMPLES], problems, report, ok=True)


def _checked(
    began: float,
    sample: list[EntryDraft],
    problems: list[str],
    report: SourceReport | None,
    *,
    ok: bool,
) -> Checked:
    took = time.monotonic() - began
    return Checked(ok, took, tuple(sample), tuple(problems), report)


def _report(opened: Opened, problems: list[str]) -> SourceReport | None:
    adapter = opened.adapter
    if not isinstance(adapter, Checks):
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


def _first_page(opened: Opened) -> Page | None:
    window = None
    if opened.capabilities.windows:
        window = Window(opened.io.now() - timedelta(days=_DAYS), None)
    pages: Iterator[Page] = iter(opened.adapter.pages(None, window))
    return next(pages, None)


def _read(
    opened: Opened, rules: Rules, page: Page, problems: list[str]
) -> list[EntryDraft]:
    now = opened.io.now()
    drafts: list[EntryDraft] = []
    bad: dict[str, int] = {}
    for item in islice(page.items, _LOOKED_AT):
        try:
            entry = opened.adapter.parse(item)
            if not entry.deleted:
                drafts.append(rules.draft(entry, item, now=now))
        except MalformedEntryError as exc:
            bad[exc.message] = bad.get(exc.message, 0) + 1
    problems += [f"{count} could not be read: {why}" for why, count in bad.items()]
    return drafts
