"""What was received, kept with each revision, so that nobody is asked again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.payload_codec import pack, unpack
from shared.entries.saving.entry_rows import Revised
from shared.postgres.fetch_rows import fetch_all

_STORE: LiteralString = """
    COPY raw_payload (entry_id, revision, tenant, payload, media_type, charset, url,
                      fetched_at, beside) FROM STDIN"""
_COLUMNS: LiteralString = """
    SELECT e.id AS entry_id, e.external_id, e.revision, e.stamp, p.payload,
           p.media_type, p.charset, p.url, p.fetched_at, p.beside
      FROM entry e
      JOIN raw_payload p ON p.entry_id = e.id AND p.revision = e.revision
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s AND p.tenant = %(tenant)s"""
_KEPT: LiteralString = f"""{_COLUMNS}
       AND e.deleted_at IS NULL AND (%(after)s::uuid IS NULL OR e.id > %(after)s)
     ORDER BY e.id
     LIMIT %(limit)s"""
_WITH_FILE: LiteralString = f"""{_COLUMNS}
       AND e.external_id = ANY(%(external_ids)s) AND p.beside IS NOT NULL
     ORDER BY e.id
     LIMIT 10000"""


@dataclass(frozen=True, slots=True)
class StoredPayload:
    """The payload of an entry's current revision, still packed."""

    entry_id: UUID
    external_id: str
    revision: int
    stamp: str | None
    payload: bytes
    media_type: str
    charset: str | None
    url: str | None
    fetched_at: datetime | None
    beside: bytes | None

    def raw(self) -> RawItem:
        """Return the item as its adapter had it."""
        return RawItem(
            external_id=self.external_id,
            payload=unpack(self.payload),
            media_type=self.media_type,
            charset=self.charset,
            url=self.url,
            fetched_at=self.fetched_at,
            stamp=self.stamp,
            beside=None if self.beside is None else unpack(self.beside),
        )


def store(conn: Connection, tenant: str, revised: Sequence[Revised]) -> None:
    """Keep the payloads of new revisions that came with one."""
    rows = [
        (one, raw, packed)
        for one in revised
        if (raw := one.news.draft.raw) and (packed := one.news.draft.packed())
    ]
    if not rows:
        return
    rows.sort(key=lambda row: row[0].entry_id)
    with conn.cursor().copy(_STORE) as copy:
        for one, raw, packed in rows:
            copy.write_row(
                (
                    str(one.entry_id),
                    str(one.number),
                    tenant,
                    rf"\x{packed.hex()}",
                    raw.media_type,
                    raw.charset,
                    raw.url,
                    raw.fetched_at and raw.fetched_at.isoformat(),
                    None if raw.beside is None else rf"\x{pack(raw.beside).hex()}",
                )
            )


def current(
    conn: Connection, tenant: str, source: str, *, limit: int, after: UUID | None = None
) -> list[StoredPayload]:
    """Return a source's payloads by key range, for a parser that has changed."""
    values = {"tenant": tenant, "source": source, "after": after, "limit": limit}
    return fetch_all(conn, StoredPayload, _KEPT, values)


def beside(
    conn: Connection, tenant: str, source: str, external_ids: Sequence[str]
) -> dict[str, RawItem]:
    """Return the raw items of these entries that were stored together with a file."""
    # What Postgres would refuse to look for was never stored.
    asked = [one for one in external_ids if one.isprintable()]
    values = {"tenant": tenant, "source": source, "external_ids": asked}
    found = fetch_all(conn, StoredPayload, _WITH_FILE, values)
    return {one.external_id: one.raw() for one in found}
