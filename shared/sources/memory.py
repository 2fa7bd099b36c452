"""What a source remembers beside its cursor, written in the commit of a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

_MOST_VALUES = 1_000_000

_LOAD: LiteralString = """
    SELECT key, value FROM source_memory
     WHERE source = %(source)s
     ORDER BY key
     LIMIT %(limit)s"""
_SAVE: LiteralString = """
    INSERT INTO source_memory AS m (source, key, value)
    SELECT %(source)s, u.key, u.value::jsonb
      FROM unnest(%(keys)s::text[], %(values)s::text[]) AS u (key, value)
     ORDER BY u.key
        ON CONFLICT (source, key) DO UPDATE SET value = excluded.value
     WHERE m.value IS DISTINCT FROM excluded.value"""
_FORGET: LiteralString = """
    DELETE FROM source_memory
     WHERE source = %(source)s AND key = ANY (%(keys)s)"""


class StoredMemory:
    """Values as they were loaded, and what has been put since."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = dict(values or {})
        self._changes: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        """Return what was kept or put, or None."""
        if key in self._changes:
            return self._changes[key]
        return self._values.get(key)

    def put(self, key: str, value: Any) -> None:
        """Keep it once the next page is committed; None forgets it."""
        # What cannot be stored fails here, where it is put, and not in a commit.
        self._changes[key] = json.loads(json.dumps(value, allow_nan=False))

    def take_changes(self) -> dict[str, Any]:
        """Return what is to be saved with the page at hand; it counts as kept."""
        changes, self._changes = self._changes, {}
        self._values.update(changes)
        return changes

    def discard_changes(self) -> None:
        """Forget what was put since the last page: its run has failed."""
        self._changes = {}


def load(conn: Connection[TupleRow], source: str) -> dict[str, Any]:
    """Return everything that a source remembers."""
    rows = conn.execute(_LOAD, {"source": source, "limit": _MOST_VALUES})
    return dict(rows.fetchall())


def save(conn: Connection[TupleRow], source: str, changes: Mapping[str, Any]) -> None:
    """Write what was put, and remove what was forgotten."""
    kept = sorted(
        (_storable(key), json.dumps(_storable(value)))
        for key, value in changes.items()
        if value is not None
    )
    gone = sorted(_storable(key) for key, value in changes.items() if value is None)
    if kept:
        keys, values = (list(column) for column in zip(*kept, strict=True))
        conn.execute(_SAVE, {"source": source, "keys": keys, "values": values})
    if gone:
        conn.execute(_FORGET, {"source": source, "keys": gone})


def _storable(value: Any) -> Any:
    """Return a value that Postgres takes: names of files need not be any text."""
    match value:
        case str():
            text = value.replace("\0", "\ufffd")
            return text.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {_storable(key): _storable(one) for key, one in value.items()}
        case list():
            return [_storable(one) for one in value]
        case _:
            return value
