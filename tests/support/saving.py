"""Entries and sources that a test saves itself."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page

TENANT = "default"

_SOURCE: LiteralString = """
    INSERT INTO source_state (source, tenant, adapter, config_hash, config, parsed_by,
                              gaps, complete_from, complete_to)
    VALUES (%(name)s, 'default', 'olog', '', '{}', 1, %(gaps)s,
            now() - %(loaded)s::interval, now() - %(behind)s::interval)"""


def add_source(
    conn: Connection,
    name: str,
    *,
    loaded: timedelta | None = None,
    behind: timedelta | None = None,
    gaps: Sequence[object] = (),
) -> None:
    """Add a source, of which everything has come between two times ago but for gaps."""
    values = {"name": name, "loaded": loaded, "behind": behind}
    conn.execute(_SOURCE, {**values, "gaps": Jsonb(list(gaps))})


def save_drafts(
    conn: Connection,
    drafts: Sequence[EntryDraft],
    *,
    stages: Sequence[str] = (),
    tenant: str = TENANT,
) -> list[UUID]:
    """Save a page of entries; return their ids."""
    saved = save_page(conn, tenant, drafts, stages=stages, editor="test")
    return [one.entry_id for one in saved]


def save_entry(
    conn: Connection,
    external_id: str,
    text: str,
    *,
    stages: Sequence[str] = (),
    tenant: str = TENANT,
    source: str = "api",
    **fields: Any,
) -> UUID:
    draft = EntryDraft(source, external_id, text, **fields)
    (entry_id,) = save_drafts(conn, [draft], stages=stages, tenant=tenant)
    return entry_id


def save_many(
    conn: Connection,
    count: int,
    *,
    stages: Sequence[str] = (),
    tenant: str = TENANT,
    text: str = "x",
) -> list[UUID]:
    """Save so many entries that are alike but for their number; return their ids."""
    drafts = [EntryDraft("api", str(number), text) for number in range(count)]
    return save_drafts(conn, drafts, stages=stages, tenant=tenant)
