"""What a source remembers beside its cursor, written in the commit of a page."""

import json
from collections.abc import Callable, Mapping
from typing import Any, LiteralString

from psycopg import Connection

# An adapter asks for neighbours, one after the other: so many are read at one look.
AT_A_LOOK = 250

# The column is in the order of Python's texts, whatever the database sorts by: see
# `_is_between`.
_FROM: LiteralString = """
    SELECT key, value FROM source_memory
     WHERE source = %(source)s AND key >= %(key)s
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


# What is remembered under a key and the next ones, in the order of keys.
Look = Callable[[str], Mapping[str, Any]]


class StoredMemory:
    """Values as they are stored, read when they are asked for, and what was put since.

    A source may remember millions of them: only those of the last look are held.
    """

    def __init__(self, look: Look | None = None) -> None:
        self._look = look
        self._changes: dict[str, Any] = {}
        # What was put in this run: it may not be committed yet.
        self._put: dict[str, Any] = {}
        self._seen: Mapping[str, Any] = {}
        # Between these two nothing is stored but what was seen.
        self._from: str | None = None
        self._to: str | None = None

    def get(self, key: str) -> Any:
        """Return the value put in this run, or else the stored one, or None."""
        for known in (self._changes, self._put):
            if key in known:
                return known[key]
        # What had to be changed to be stored is not found again.
        if self._look is None or _storable(key) != key:
            return None
        if key not in self._seen and not self._is_between(key):
            self._learn(self._look(key), key)
        return self._seen.get(key)

    def put(self, key: str, value: Any) -> None:
        """Store a value with the next page's commit; None removes it."""
        # What cannot be stored fails here, where it is put, and not in a commit.
        self._changes[key] = json.loads(json.dumps(value, allow_nan=False))

    def take_changes(self) -> dict[str, Any]:
        """Return the changes to save with this page; they count as stored now."""
        changes, self._changes = self._changes, {}
        self._put.update(changes)
        return changes

    def discard_changes(self) -> None:
        """Discard what was put since the last page: its run has failed."""
        self._changes = {}

    def _is_between(self, key: str) -> bool:
        if self._from is None or key < self._from:
            return False
        return self._to is None or key <= self._to

    def _learn(self, found: Mapping[str, Any], key: str) -> None:
        self._seen = found
        names = list(found)
        # Elsewhere keys may be in another order: then nothing is known between them.
        self._from = key if names == sorted(names) else None
        self._to = names[-1] if len(names) >= AT_A_LOOK else None


def load(conn: Connection, source: str, key: str) -> dict[str, Any]:
    """Load the stored values from a key on, in the order of keys."""
    values = {"source": source, "key": key, "limit": AT_A_LOOK}
    return dict(conn.execute(_FROM, values).fetchall())


def save(conn: Connection, source: str, changes: Mapping[str, Any]) -> None:
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
