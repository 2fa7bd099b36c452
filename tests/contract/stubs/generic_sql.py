"""A logbook in a table: one schema, in a SQLite file or in a real Postgres."""

import json
import secrets
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import psycopg

from workers.adapters.kit.stub import FaultMode, StubEntry

ZONE = ZoneInfo("Europe/Berlin")
WALL_TIME = "%Y-%m-%d %H:%M:%S"

_FOREIGN = "http://files.example.org/elsewhere"
_COLUMNS = (
    *("id", "title", "body", "author", "book", "parent", "tags"),
    *("entry_time", "upd_time", "files", "more"),
)
_LIST = ", ".join(_COLUMNS)
_CREATE = """
    CREATE TABLE {name} (id {text} PRIMARY KEY, title {text}, body {text},
        author {text}, book {text}, parent {text}, tags {json}, entry_time {text},
        upd_time {time}, files {json}, more {json})"""


_WRITE = (
    f"INSERT INTO log VALUES ({', '.join('?' * len(_COLUMNS))})"
    " ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
)
_LISTED = "CREATE VIEW listed AS SELECT id, upd_time FROM log"
_LIES = {
    "empty_listing": "WHERE 1 = 0",
    "cut_listing": "WHERE id IN (SELECT id FROM log ORDER BY id LIMIT 9)",
}


class _Table(Protocol):
    """The one table, in either database."""

    dsn: str

    def write(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Run a statement that changes it; its parameters are `?`."""

    def write_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for every row, all of them or none."""

    def storable(self, text: str) -> str:
        """Return what the database takes; whoever wrote it had to mend it."""

    def close(self) -> None:
        """Remove it."""


class SQLiteTable:
    """A file below a folder of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="logchord-sql-")
        self.path = Path(self._folder.name) / "log.db"
        self.dsn = f"sqlite:///{self.path}"
        self._conn = sqlite3.connect(self.path, isolation_level=None)
        # Nobody's data: a test need not wait for a disk.
        self.write("PRAGMA synchronous = OFF")
        self.write(_CREATE.format(name="log", text="text", time="text", json="text"))
        self.write(_LISTED)

    def write(self, statement: str, values: Sequence[Any] = ()) -> None:
        self._conn.execute(statement, values)

    def write_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self.write("BEGIN")
        self._conn.executemany(statement, rows)
        self.write("COMMIT")

    def storable(self, text: str) -> str:
        # A database takes no half of a surrogate pair.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def close(self) -> None:
        self._conn.close()
        self._folder.cleanup()


class PostgresTable:
    """A table in a schema of its own, which its address leads to."""

    def __init__(self, database: str) -> None:
        self._schema = f"log_{secrets.token_hex(6)}"
        self.dsn = f"{database}?options=-csearch_path%3D{self._schema}"
        self._conn = psycopg.connect(self.dsn, autocommit=True)
        # Nobody's data: a test need not wait for a disk.
        self.write("SET synchronous_commit = off")
        self.write(f"CREATE SCHEMA {self._schema}")
        types = {"text": "text", "time": "timestamp", "json": "jsonb"}
        self.write(_CREATE.format(name="log", **types))
        self.write(_LISTED)

    def write(self, statement: str, values: Sequence[Any] = ()) -> None:
        self._conn.execute(statement.replace("?", "%s").encode(), values)

    def write_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._conn.transaction(), self._conn.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s").encode(), rows)

    def storable(self, text: str) -> str:
        # This one takes no NUL either.
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole.replace("\x00", "\ufffd")

    def close(self) -> None:
        self.write(f"DROP SCHEMA {self._schema} CASCADE")
        self._conn.close()


class SQLStub:
    """The table as its owners write it: naive wall times, set when a row changes."""

    def __init__(self, table: _Table, **args: Any) -> None:
        self.table = table
        self._args = args
        self._entries: dict[str, StubEntry] = {}
        self._offset = timedelta()
        self._folder = tempfile.TemporaryDirectory(prefix="logchord-secret-")
        self._secret = Path(self._folder.name) / "dsn"
        self._secret.write_text(table.dsn, encoding="utf-8")
        self._secret.chmod(0o600)

    def settings(self) -> Mapping[str, Any]:
        return {"adapter": "generic_sql", "timezone": ZONE.key, "args": self.args()}

    def args(self) -> dict[str, Any]:
        """Return the settings that describe the table."""
        return {
            "dsn": str(self._secret),
            "query": f"SELECT {_LIST} FROM log WHERE upd_time >= :since"
            " AND upd_time < :until ORDER BY upd_time, id",
            "ids_query": "SELECT id, upd_time FROM listed",
            "row_query": f"SELECT {_LIST} FROM log WHERE id = :id",
            "since_column": "UPD_TIME",
            "since_is": "modified",
            "map": {
                "external_id": "ID",
                "title": "TITLE",
                "text": "BODY",
                "authors": "AUTHOR",
                "logbooks": "BOOK",
                "reply_to": "PARENT",
                "tags": "TAGS",
                "entry_time": "ENTRY_TIME",
                "modified_at": "UPD_TIME",
                "attachments": "FILES",
                "metadata": "MORE",
            },
        } | self._args

    def add(self, entry: StubEntry) -> str:
        self._entries[str(entry.number)] = entry
        self.table.write(_WRITE, self._row(entry))
        return str(entry.number)

    def add_many(self, entries: Sequence[StubEntry]) -> Sequence[str]:
        known = {str(entry.number): entry for entry in entries}
        self._entries |= known
        self.table.write_all(_WRITE, [self._row(entry) for entry in entries])
        return list(known)

    def edit(self, external_id: str, **changes: Any) -> str:
        return self.add(replace(self._entries[external_id], **changes))

    def delete(self, external_id: str) -> None:
        self._entries.pop(external_id, None)
        self.table.write("DELETE FROM log WHERE id = ?", [external_id])

    def malform(self, external_id: str) -> None:
        self.set_column(external_id, "entry_time", "one of these days")
        self.touch(external_id, self._now())

    def touch(self, external_id: str, wall: str | None) -> None:
        """Let a row have been changed at another wall time, or at none."""
        self.set_column(external_id, "upd_time", wall)

    def set_column(self, external_id: str, name: str, value: Any) -> None:
        """Put any value into a row."""
        self.table.write(
            f"UPDATE log SET {name} = ? WHERE id = ?", [value, external_id]
        )

    def set_bytes(self, external_id: str, field_name: str, data: bytes) -> None:
        name = {"text": "body"}.get(field_name, field_name)
        if not isinstance(self.table, SQLiteTable):
            raise LookupError("a Postgres in UTF-8 keeps no other bytes")  # noqa: TRY004 - as the kit knows it
        with closing(sqlite3.connect(self.table.path)) as conn:
            conn.execute(
                f"UPDATE log SET {name} = CAST(? AS TEXT) WHERE id = ?",
                [data, external_id],
            )
            conn.commit()

    def clock_offset(self, seconds: float) -> None:
        self._offset = timedelta(seconds=seconds)

    def fault(self, mode: FaultMode, times: int = 1) -> None:
        if mode not in _LIES:
            raise LookupError(f"a database does not do {mode}, and not {times} times")
        self.table.write("DROP VIEW listed")
        self.table.write(f"{_LISTED} {_LIES[mode]}")

    def requests(self) -> Sequence[str]:
        return ()

    def close(self) -> None:
        self.table.close()
        self._folder.cleanup()

    def _now(self) -> str:
        now = datetime.now(UTC) + self._offset
        return now.astimezone(ZONE).strftime("%Y-%m-%d %H:%M:%S.%f")

    def _row(self, entry: StubEntry) -> list[Any]:
        wall = entry.time.astimezone(ZONE)
        written = wall.isoformat(sep=" ")
        if entry.raw_time is not None:
            written = entry.raw_time
        files = [
            {
                "url": _address(entry.number, place, file.filename, file.foreign),
                "filename": file.filename,
                "bytes": len(file.content),
            }
            for place, file in enumerate(entry.files)
        ]
        parent = None if entry.reply_to is None else str(entry.reply_to)
        return [
            str(entry.number),
            self.table.storable(entry.title),
            self.table.storable(entry.text),
            entry.author,
            entry.logbook,
            parent,
            json.dumps(list(entry.tags)),
            written,
            self._now(),
            json.dumps(files),
            json.dumps(dict(entry.metadata)),
        ]


def _address(number: int, place: int, name: str, is_foreign: bool) -> str:  # noqa: FBT001
    host = _FOREIGN if is_foreign else "http://files.example.org"
    return f"{host}/{number}/{place}/{name}"


def make_stub() -> SQLStub:
    """Return the table in a SQLite file."""
    return SQLStub(SQLiteTable())


def make_postgres_stub(database: str) -> SQLStub:
    """Return the table in a real Postgres."""
    return SQLStub(PostgresTable(database))


VARIANTS = {"postgres": (make_postgres_stub, None)}
STANDS_ON = {"postgres": "foreign_database"}
