"""What could not be read, exactly as received, until it can or somebody gives up."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.adapter_contract import payload_codec
from shared.adapter_contract.contract import RawItem
from shared.errors import MalformedEntryError
from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_value

STAGE = "ingest"
MAX_RAW_BYTES = 1_000_000
MAX_ROWS_PER_SOURCE = 10_000
_EXCERPT_CHARS = 200

_COUNT: LiteralString = """
    SELECT count(*) FROM (
        SELECT FROM quarantine
         WHERE tenant = %(tenant)s AND source = %(source)s AND stage = 'ingest'
         LIMIT %(most)s) AS kept"""
_KEEP: LiteralString = """
    INSERT INTO quarantine AS q (id, tenant, source, external_id, stage, attempts,
        error, excerpt, message_key, raw, raw_media_type, raw_charset, raw_url, stamp)
    SELECT %(id)s, %(tenant)s, %(source)s, %(external_id)s, 'ingest', 1, %(error)s,
           %(excerpt)s, %(key)s, %(raw)s, %(media_type)s, %(charset)s, %(url)s,
           %(stamp)s
        ON CONFLICT (message_key) WHERE message_key IS NOT NULL DO UPDATE
       SET last_at = now(), attempts = q.attempts + 1, error = excluded.error,
           excerpt = excluded.excerpt, raw = excluded.raw,
           raw_media_type = excluded.raw_media_type,
           raw_charset = excluded.raw_charset, raw_url = excluded.raw_url,
           stamp = excluded.stamp"""
_HAS_ANY: LiteralString = """
    SELECT EXISTS (
        SELECT FROM quarantine
         WHERE tenant = %(tenant)s AND source = %(source)s AND stage = 'ingest')"""
_FORGET: LiteralString = """
    DELETE FROM quarantine
     WHERE tenant = %(tenant)s AND message_key = ANY(%(keys)s) AND stage = 'ingest'"""
_ASK_AGAIN: LiteralString = """
    UPDATE quarantine SET stamp = NULL
     WHERE tenant = %(tenant)s AND source = %(source)s AND stage = 'ingest'
       AND stamp IS NOT NULL"""
_READ: LiteralString = """
    SELECT external_id, raw, raw_media_type, raw_charset, raw_url, last_at
      FROM quarantine
     WHERE tenant = %(tenant)s AND id = %(id)s AND stage = 'ingest'"""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An item, and why it could not be read."""

    item: RawItem
    error: MalformedEntryError


def store_rejected(
    conn: Connection, tenant: str, source: str, bad: Sequence[Rejected]
) -> int:
    """Quarantine items with raw payload and reason; return how many had room.

    The same item again is the same row; a source that sends only garbage fills no disk.
    """
    if not bad:
        return 0
    values = {"tenant": tenant, "source": source, "most": MAX_ROWS_PER_SOURCE}
    room = max(0, MAX_ROWS_PER_SOURCE - (fetch_value(conn, _COUNT, values) or 0))
    kept = sorted(bad, key=lambda one: one.item.external_id)[:room]
    for one in kept:
        item = one.item
        raw = payload_codec.pack(item.payload)
        conn.execute(
            _KEEP,
            {
                "id": uuid7(),
                "tenant": tenant,
                "source": source,
                "external_id": _storable(item.external_id)[:255],
                "error": one.error.as_json(admin=True),
                "excerpt": _excerpt(item.payload),
                "key": _key(source, item.external_id),
                "raw": raw if len(raw) <= MAX_RAW_BYTES else None,
                "media_type": item.media_type,
                "charset": item.charset,
                "url": item.url,
                "stamp": item.stamp,
            },
        )
    return len(kept)


def forget(
    conn: Connection, tenant: str, source: str, external_ids: Sequence[str]
) -> int:
    """Forget items that could be read after all; return how many there were."""
    if not external_ids:
        return 0
    # Mostly there are none, and to look takes less time than a thousand keys.
    if not fetch_value(conn, _HAS_ANY, {"tenant": tenant, "source": source}):
        return 0
    keys = sorted(_key(source, one) for one in external_ids)
    return conn.execute(_FORGET, {"tenant": tenant, "keys": keys}).rowcount


def ask_again(conn: Connection, tenant: str, source: str) -> None:
    """Let what was refused be fetched again: it may be read otherwise by now."""
    conn.execute(_ASK_AGAIN, {"tenant": tenant, "source": source})


def load_rejected(conn: Connection, tenant: str, quarantine_id: UUID) -> RawItem | None:
    """Return an item as it was received, to be tried again."""
    found = conn.execute(_READ, {"tenant": tenant, "id": quarantine_id}).fetchone()
    if found is None or found[1] is None:
        return None
    external_id, raw, media_type, charset, url, last_at = found
    payload = payload_codec.unpack(bytes(raw))
    return RawItem(str(external_id), payload, media_type, charset, url, last_at)


def _key(source: str, external_id: str) -> str:
    whole = f"{source}\n{external_id}".encode("utf-8", "surrogatepass")
    return f"ingest:{hashlib.sha256(whole).hexdigest()}"


def _excerpt(payload: Any) -> str:
    if isinstance(payload, bytes):
        text = payload[: 4 * _EXCERPT_CHARS].decode("utf-8", "replace")
    else:
        text = json.dumps(payload, ensure_ascii=False, default=str)
    return _storable(text[:_EXCERPT_CHARS])


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
