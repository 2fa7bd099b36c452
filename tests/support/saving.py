"""Entries that a test saves itself, due for the stages that it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import Connection

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page

TENANT = "default"


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
    """Save one entry; return its id."""
    draft = EntryDraft(source, external_id, text, **fields)
    (entry_id,) = save_drafts(conn, [draft], stages=stages, tenant=tenant)
    return entry_id
