"""A logbook in a SQLite file, opened for reading alone."""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shared.errors import IngestionError, SourceUnreachableError
from workers.adapters.sql import dialects
from workers.adapters.sql.dialects import QueriedRows, StatementLimits
from workers.adapters.sql.statement import ParamStyle

# Between two looks at the clock, in instructions of the engine.
_INSTRUCTIONS = 10_000
_READING = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_TRANSACTION,
    }
)
_LATER = ("locked", "busy", "interrupted", "disk i/o")


class SQLite:
    """SQLite, by the driver of Python's library."""

    style: ParamStyle = "named"
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: str) -> None:
        self._path = path

    def connect(self, limits: StatementLimits) -> sqlite3.Connection:
        """Return a connection to a file that must exist and is not written."""
        address = f"file:{quote(self._path)}?mode=ro"
        conn = sqlite3.connect(
            address, uri=True, timeout=limits.seconds, isolation_level=None
        )
        conn.text_factory = _as_text
        deadline = time.monotonic() + limits.seconds
        conn.set_progress_handler(
            lambda: int(time.monotonic() > deadline), _INSTRUCTIONS
        )
        conn.set_authorizer(_only_reading)
        return conn

    @contextmanager
    def run(
        self,
        conn: sqlite3.Connection,
        text: str,
        values: Mapping[str, Any],
        limits: StatementLimits,
    ) -> Iterator[QueriedRows]:
        """Begin a statement; a single one is a transaction of its own."""
        with closing(conn.cursor()) as cursor:
            cursor.arraysize = limits.rows_per_fetch
            cursor.execute(text, dict(values))
            columns = tuple(column[0] for column in cursor.description or ())
            yield QueriedRows(columns, iter(cursor))

    def failure(self, exc: Exception) -> IngestionError:
        """Tell a lock, which passes, from a statement that cannot work."""
        text = str(exc).lower()
        if "unable to open" in text:
            return SourceUnreachableError(
                "The file of the database cannot be opened; check the path in its DSN,"
                " and whether we may read it.",
                reason="no_file",
                technical=str(exc),
            )
        if any(words in text for words in _LATER):
            return dialects.unreachable(exc)
        if "not authorized" in text or "prohibited" in text:
            return dialects.not_authorised(exc)
        return dialects.refused(exc)

    def bound(self, wall: datetime) -> str:
        """Return the text that SQLite's own functions write."""
        return wall.strftime("%Y-%m-%d %H:%M:%S")

    def writable(self, conn: sqlite3.Connection) -> str | None:
        """Return the file, if this user may write to it."""
        del conn
        return Path(self._path).name if os.access(self._path, os.W_OK) else None


def _as_text(data: bytes) -> str | bytes:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _only_reading(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY
