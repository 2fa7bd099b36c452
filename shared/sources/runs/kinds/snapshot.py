"""Files in a source's own format, read while the source itself stays away.

What they hold is merged. An old or partial file takes nothing from what is here: it
deletes nothing, and replaces no entry but by one that says it is newer.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shared.adapter_contract.contract import Memory, RawItem
from shared.entries import entry_links
from shared.entries.draft import EntryDraft
from shared.entries.saving import change_detection
from shared.entries.saving.change_detection import EntryFingerprint
from shared.entries.saving.save import save_page
from shared.errors import ConfigurationError, MalformedEntryError
from shared.postgres.pool import connection
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter, run_records, source_state
from shared.sources.intake import quarantined_items
from shared.sources.intake.quarantined_items import Rejected
from shared.sources.intake.store_page import Intake, Steps, counted
from shared.sources.load_adapter import Opened
from shared.sources.run_records import Counts
from shared.work import due_work as due

# So many polls in a row have failed before the files are read instead.
FAILURES = 3
_CURSOR = "cursor"
_PREFIX = "snapshot:"


class Within:
    """The part of a source's memory that its snapshot has to itself."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def get(self, key: str) -> Any:
        """Return the value stored for the snapshot, or None."""
        return self._memory.get(f"{_PREFIX}{key}")

    def put(self, key: str, value: Any) -> None:
        """Store a value with the next page's commit."""
        self._memory.put(f"{_PREFIX}{key}", value)


def settings_of(source: SourceSettings) -> SourceSettings:
    """Return the settings by which the files are read as a source of their own."""
    return source.model_copy(update={"base_url": None, "path": source.snapshot_path})


def check(name: str, source: SourceSettings) -> None:
    """Raise where an adapter is to read files that it has no format for."""
    descriptor = load_adapter.find_adapter_class(source.adapter).descriptor
    if source.snapshot_path is None or descriptor.place in {"either", "path"}:
        return
    key = f"sources.{name}.snapshot_path"
    message = f"{key}: {descriptor.title} is read from its server alone."
    raise ConfigurationError(message, config_key=key)


def steps(intake: Intake, files: Opened) -> Steps:
    """Merge what is new in the files, page by page; all is committed at each yield."""
    memory = Within(intake.memory)
    for page in files.adapter.pages(memory.get(_CURSOR)):
        memory.put(_CURSOR, dict(page.cursor))
        drafts, bad = _read(intake, page.items)
        files.limit.note(memory, (one.error for one in bad))
        yield _merge(intake, page.items, drafts, bad)
    with connection(intake.pool) as conn:
        # Also where nothing in them is new.
        source_state.serve_snapshot(conn, intake.tenant, intake.name)
        intake.keep(conn, None)


def _merge(
    intake: Intake,
    items: Sequence[RawItem],
    drafts: Sequence[EntryDraft],
    bad: Sequence[Rejected],
) -> Counts:
    with connection(intake.pool) as conn:
        # Nobody else writes to the source between the look and the page.
        entry_links.lock(conn, intake.tenant, intake.name)
        unread = [(intake.name, one.item.external_id) for one in bad]
        # What Postgres would refuse to look for was never stored.
        asked = [one for one in unread if one[1].isprintable()]
        asked += [draft.identity for draft in drafts]
        known = change_detection.find(conn, intake.tenant, asked)
        news = [one for one in drafts if _is_news(one, known.get(one.identity))]
        saved = save_page(
            conn,
            intake.tenant,
            news,
            stages=intake.stages.of_entries,
            editor=f"snapshot:{intake.name}",
            work_class=due.BULK,
            fetch_attachments=intake.opened.settings.attachments == "fetch",
        )
        # An unreadable file of an entry that is stored already does no harm.
        strange = [
            one for one, key in zip(bad, unread, strict=True) if key not in known
        ]
        quarantined = quarantined_items.store_rejected(
            conn, intake.tenant, intake.name, strange
        )
        counts = counted(saved, 0, len(bad), quarantined)
        left = len(drafts) - len(news)
        counts = replace(counts, seen=len(items), unchanged=counts.unchanged + left)
        run_records.count(conn, intake.run, counts)
        source_state.serve_snapshot(conn, intake.tenant, intake.name)
        intake.keep(conn, None)
    intake.note(intake.name, counts)
    return counts


def _read(
    intake: Intake, items: Sequence[RawItem]
) -> tuple[list[EntryDraft], list[Rejected]]:
    """Return the drafts of the items, and those that cannot be read; skip deletions."""
    drafts: list[EntryDraft] = []
    bad: list[Rejected] = []
    now = intake.opened.io.now()
    for item in items:
        try:
            entry = intake.opened.adapter.parse(item)
            if not entry.deleted:
                drafts.append(intake.rules.draft(entry, item, now=now))
        except MalformedEntryError as exc:
            if exc.reason != "pending":
                bad.append(Rejected(item, exc))
    return drafts, bad


def _is_news(draft: EntryDraft, row: EntryFingerprint | None) -> bool:
    return row is None or (not row.deleted and change_detection.is_newer(draft, row))
