"""What comes again exactly as it came before is neither parsed nor looked at twice."""

import hashlib
import json
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, LiteralString

from psycopg import Connection

from shared.adapter_contract.contract import ListsIds, RawItem
from shared.sources.intake import metadata_sidecar
from shared.sources.load_adapter import Opened

# Joined by two columns of what is asked: while the statistics of a table that grows are
# old, an index by one of them would look as good, and be walked whole for each.
_STAMPS: LiteralString = """
    SELECT e.external_id, e.stamp
      FROM json_array_elements(%(asked)s::json) AS asked
      JOIN entry e ON e.source = asked ->> 0 AND e.external_id = asked ->> 1
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL
       AND NOT (%(mends)s AND %(flag)s = ANY(e.flags))
     LIMIT 100000"""


@dataclass(frozen=True, slots=True)
class Sifted:
    """The changed items of a page, and how many bytes came in all."""

    news: list[RawItem]
    unchanged: int
    bytes: int


class Sieve:
    """Tells by a digest of the payload whether an item has to be parsed at all.

    A source that lists its ids stamps them itself: what it has not changed is not
    fetched in the first place. One that `mends` lets through what lacks its file.
    """

    def __init__(self, opened: Opened, *, mends: bool = False) -> None:
        self._is_used = not isinstance(opened.adapter, ListsIds)
        # Another parser, or another setting, may make another entry of it.
        self._how = opened.read_by
        self._tenant, self._name = opened.tenant, opened.name
        self._mends = mends

    def sift(
        self,
        conn: Connection,
        items: Sequence[RawItem],
        under_way: AbstractSet[str] = frozenset(),
    ) -> Sifted:
        """Return the items that are new or changed, each with its stamp.

        Ids that are `under_way` are being stored just now: nothing is known of them.
        """
        if not self._is_used:
            return Sifted(list(items), 0, sum(_size(item.payload) for item in items))
        size = 0
        stamps = []
        for item in items:
            digest = item.digest
            if digest is None:
                data = _as_bytes(item.payload)
                digest = _digest(data)
                size += len(data)
            else:
                size += item.size
            stamps.append(f"{digest}:{self._how}")
        # What Postgres would refuse to look for is read every time.
        ids = [one.external_id for one in items if one.external_id.isprintable()]
        asked = json.dumps([(self._name, one) for one in ids])
        values = {
            "tenant": self._tenant,
            "asked": asked,
            "mends": self._mends,
            "flag": metadata_sidecar.FLAG,
        }
        known: dict[str, str] = dict(conn.execute(_STAMPS, values).fetchall())
        for one in under_way:
            known.pop(one, None)
        news = [
            replace(item, stamp=stamp, is_anew=_is_same(known.get(own), stamp))
            for item, stamp in zip(items, stamps, strict=True)
            if known.get(own := item.external_id) != stamp
        ]
        return Sifted(news, len(items) - len(news), size)


def digest_in(stamp: str | None) -> str | None:
    """Return the digest of a stamp that a sieve has made."""
    digest, _, rest = (stamp or "").partition(":")
    return digest if rest and _DIGEST.fullmatch(digest) else None


def _is_same(known: str | None, stamp: str) -> bool:
    """Tell whether the payload is unchanged and only the way of reading has changed."""
    digest = digest_in(known)
    return digest is not None and digest == digest_in(stamp)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16, person=b"logchord").hexdigest()


def _as_bytes(payload: Any) -> bytes:
    if isinstance(payload, bytes | bytearray):
        return bytes(payload)
    return _encode(payload).encode()


def _size(payload: Any) -> int:
    return len(payload) if isinstance(payload, bytes) else len(_as_bytes(payload))


_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode
_DIGEST = re.compile("[0-9a-f]{32}")
