"""What a digest carries over from before its time, kept while nothing is written."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, LiteralString, TypeVar

from shared.postgres.fetch_rows import fetch_value
from shared.postgres.pool import Connection

T = TypeVar("T")
# By then time alone may have changed it: an entry is shown from a moment on, a request
# surfaces, a purge leaves nothing behind that could be counted.
_KEPT = timedelta(seconds=30)
_MOST_KEPT, _MOST_COUNTED = 256, 1000

# Whatever is not committed yet has a number from here on.
_MARK: LiteralString = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"
# What was changed since a mark, and what is still to be read by the index of words.
_CHANGED: LiteralString = """
    SELECT ARRAY[count(*), coalesce(sum(c.number), 0),
                 (SELECT count(*)
                    FROM (SELECT FROM work w
                           WHERE w.tenant = %(tenant)s AND w.stage = 'metadata'
                           LIMIT %(most)s) AS due)]
      FROM (SELECT e.changed_xid::text::numeric AS number
              FROM entry e
             WHERE e.tenant = %(tenant)s AND e.changed_xid >= %(mark)s::xid8
             LIMIT %(most)s) AS c"""


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    found: T
    at: datetime
    mark: str
    changed: list[int]


class CarriedCache(Generic[T]):
    """Keeps what was found until an entry is written, or half a minute is over."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Kept[T]] = OrderedDict()

    def get(
        self,
        conn: Connection,
        tenant: str,
        key: Hashable,
        now: datetime,
        find: Callable[[], T],
    ) -> T:
        """Return the kept result, or find a new one and keep that."""
        kept = self._kept.get(key)
        if (
            kept is not None
            and timedelta() <= now - kept.at < _KEPT
            and _read_changed(conn, tenant, kept.mark) == kept.changed
        ):
            return kept.found
        mark = str(fetch_value(conn, _MARK))
        changed = _read_changed(conn, tenant, mark)
        found = find()
        if max(changed[0], changed[2]) < _MOST_COUNTED:
            self._kept[key] = _Kept(found, now, mark, changed)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return found


def _read_changed(conn: Connection, tenant: str, mark: str) -> list[int]:
    values = {"tenant": tenant, "mark": mark, "most": _MOST_COUNTED}
    return [int(one) for one in fetch_value(conn, _CHANGED, values) or ()]
