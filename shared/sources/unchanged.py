"""What comes again exactly as it came before is neither parsed nor looked at twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.entries.adapter import ListsIds, RawItem
from shared.sources.loading import Opened, config_hash

# Joined by two columns of what is asked: while the statistics of a table that grows are
# old, an index by one of them would look as good, and be walked whole for each.
_STAMPS: LiteralString = """
    SELECT e.external_id, e.stamp
      FROM json_array_elements(%(asked)s::json) AS asked
      JOIN entry e ON e.source = asked ->> 0 AND e.external_id = asked ->> 1
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL
     LIMIT 100000"""


@dataclass(frozen=True, slots=True)
class Sifted:
    """A page without what is known of it, and how much of it there was."""

    news: list[RawItem]
    unchanged: int
    bytes: int


class Sieve:
    """Tells by a digest of the payload whether an item has to be parsed at all.

    A source that lists its ids stamps them itself: what it has not changed is not
    fetched in the first place.
    """

    def __init__(self, opened: Opened) -> None:
        self._is_used = not isinstance(opened.adapter, ListsIds)
        # Another parser, or another setting, may make another entry of it.
        version = opened.descriptor.version
        self._how = f"{version}:{config_hash(opened.settings)}"
        self._tenant, self._name = opened.tenant, opened.name

    def sift(self, conn: Connection[TupleRow], items: Sequence[RawItem]) -> Sifted:
        """Return what is new or has changed, each with its stamp."""
        if not self._is_used:
            return Sifted(list(items), 0, sum(_size(item.payload) for item in items))
        size = 0
        stamped = []
        for item in items:
            data = _as_bytes(item.payload)
            size += len(data)
            stamped.append(replace(item, stamp=self._stamp(data)))
        # What Postgres would refuse to look for is read every time.
        ids = [one.external_id for one in stamped if one.external_id.isprintable()]
        asked = json.dumps([(self._name, one) for one in ids])
        values = {"tenant": self._tenant, "asked": asked}
        known: dict[str, str] = dict(conn.execute(_STAMPS, values).fetchall())
        news = [one for one in stamped if known.get(one.external_id) != one.stamp]
        return Sifted(news, len(stamped) - len(news), size)

    def _stamp(self, data: bytes) -> str:
        digest = hashlib.blake2b(data, digest_size=16, person=b"logchord").hexdigest()
        return f"{digest}:{self._how}"


def _as_bytes(payload: Any) -> bytes:
    if isinstance(payload, bytes | bytearray):
        return bytes(payload)
    return _encode(payload).encode()


def _size(payload: Any) -> int:
    return len(payload) if isinstance(payload, bytes) else len(_as_bytes(payload))


_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode
