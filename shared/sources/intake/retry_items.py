"""Items that could not be read, tried once more from the payloads that were kept."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.errors import LogchordError, MalformedEntryError
from shared.log import get_logger
from shared.settings.settings import Settings
from shared.sources import load_adapter, source_state
from shared.sources.adapter_io import make_io
from shared.sources.intake import metadata_sidecar, quarantined_items
from shared.sources.intake.normalise import PullRules
from shared.sources.load_adapter import Opened
from shared.work.quarantine import Which

log = get_logger()

_WHICH: LiteralString = """
    SELECT id, source FROM quarantine
     WHERE tenant = %(tenant)s AND stage = 'ingest'
       AND (%(id)s::uuid IS NULL OR id = %(id)s)
       AND (%(source)s::text IS NULL OR source = %(source)s)
       AND (%(code)s::text IS NULL OR error ->> 'code' = %(code)s)
       AND (%(after)s::uuid IS NULL OR id < %(after)s)
     ORDER BY id DESC
     LIMIT %(limit)s"""


class ReadAgain(NamedTuple):
    """What could be read and was stored, and how many items still could not."""

    entries: list[UUID]
    still_quarantined: int
    # The last that was looked at, where there may be older ones.
    last: UUID | None = None


def read_again(
    conn: Connection,
    settings: Settings,
    which: Which,
    stages: Sequence[str],
    *,
    limit: int,
    after: UUID | None = None,
) -> ReadAgain:
    """Store what can be read by now; the rest stays quarantined, as it was received.

    The newest first, those `after` one that is named.
    """
    tenant = which.tenant
    named = {"id": which.id, "source": which.source, "code": which.code}
    values = {"tenant": tenant, **named, "after": after, "limit": limit}
    found = conn.execute(_WHICH, values).fetchall()
    opened: dict[str, Opened | None] = {}
    drafts: list[EntryDraft] = []
    for one_id, name in found:
        if name not in opened:
            opened[name] = _open(conn, settings, tenant, str(name))
        draft = _read(conn, settings, opened[name], tenant, one_id)
        if draft is not None:
            drafts.append(draft)
    saved = save_page(conn, tenant, drafts, stages=stages, editor="retry")
    for draft in drafts:
        quarantined_items.forget(conn, tenant, draft.source, [draft.external_id])
    entries = [one.entry_id for one in saved]
    last = found[-1][0] if len(found) == limit else None
    return ReadAgain(entries, len(found) - len(drafts), last)


def _open(
    conn: Connection, settings: Settings, tenant: str, name: str
) -> Opened | None:
    standing = source_state.load_source_state(conn, tenant, name)
    if standing is None:
        return None
    source = standing.settings
    most = settings.max_entry_bytes
    try:
        # Nothing is asked: to parse needs the settings alone.
        with make_io(name, source) as io:
            return load_adapter.open_source(name, source, io, max_entry_bytes=most)
    except LogchordError as exc:
        log.warning("source_not_opened", source=name, code=exc.error_code)
        return None


def _read(
    conn: Connection,
    settings: Settings,
    opened: Opened | None,
    tenant: str,
    quarantine_id: UUID,
) -> EntryDraft | None:
    item = quarantined_items.load_rejected(conn, tenant, quarantine_id)
    if opened is None or item is None:
        return None
    version = opened.descriptor.version
    rules = PullRules(settings, opened.name, opened.settings, version)
    try:
        entry = opened.adapter.parse(item)
        if opened.settings.attachments == "fetch" and metadata_sidecar.ref_of(entry):
            # Nothing is asked, and what could not be read was never fetched for.
            entry = metadata_sidecar.with_file(entry, item.beside)
        return rules.draft(entry, item, now=datetime.now(UTC))
    except MalformedEntryError:
        return None
