"""Plain SQL migrations: applied in order, once, never edited afterwards."""

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, LiteralString, cast

from psycopg import Connection

from shared.errors import ConfigurationError, DatabaseQueryError
from shared.postgres.pool import connect, translate_database_errors

Phase = Literal["pre", "post"]

FOLDER = Path(__file__).parent.parent / "migrations"
_NAME = re.compile(r"^(\d{4})_(pre|post)_[a-z0-9_]+\.sql$")
_NO_TRANSACTION = "-- no transaction"
_STATEMENT_END = re.compile(r";[^\S\n]*(?:--[^\n]*)?(?:\n|$)")
_LOCK_KEY = 0x10C0C0DE
_LOCK_WAIT_SECONDS = 60.0
_LOCK_POLL_SECONDS = 0.2

_CREATE_LEDGER: LiteralString = """
    CREATE TABLE IF NOT EXISTS schema_migration (
        name text PRIMARY KEY,
        checksum text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )"""
_HAS_LEDGER: LiteralString = "SELECT to_regclass('schema_migration') IS NOT NULL"
_APPLIED: LiteralString = "SELECT name, checksum FROM schema_migration ORDER BY name"
_RECORD: LiteralString = """
    INSERT INTO schema_migration (name, checksum) VALUES (%(name)s, %(checksum)s)"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of the folder."""

    name: str
    phase: Phase
    sql: str

    @property
    def checksum(self) -> str:
        """Return the hash of the SQL, which may never change once it is applied."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def in_transaction(self) -> bool:
        """Return whether the file runs as one transaction, as nearly all do."""
        return not self.sql.startswith(_NO_TRANSACTION)


def load(folder: Path = FOLDER) -> list[Migration]:
    """Return every migration of the folder in order; odd names are refused."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        match = _NAME.match(path.name)
        if match is None:
            message = f"{path.name}: a migration is called NNNN_pre|post_what.sql."
            raise ConfigurationError(message)
        sql = path.read_text(encoding="utf-8")
        found.append(Migration(path.name, cast("Phase", match[2]), sql))
    numbers = [migration.name[:4] for migration in found]
    if len(set(numbers)) != len(numbers):
        raise ConfigurationError("Two migrations carry the same number.")
    return found


def checksum_of_all(folder: Path = FOLDER) -> str:
    """Return one value that changes when any migration does."""
    together = "".join(migration.checksum for migration in load(folder))
    return hashlib.sha256(together.encode()).hexdigest()[:16]


def list_pending(
    conn: Connection, *, phase: Phase | None = None, folder: Path = FOLDER
) -> list[Migration]:
    """Return the migrations to apply; refuse if an applied file was changed."""
    with translate_database_errors():
        row = conn.execute(_HAS_LEDGER).fetchone()
        known = row is not None and row[0]
        rows = conn.execute(_APPLIED).fetchall() if known else []
    applied: dict[str, str] = dict(cast("list[tuple[str, str]]", rows))
    todo = []
    for migration in load(folder):
        before = applied.get(migration.name)
        if before is None:
            if phase in (None, migration.phase):
                todo.append(migration)
        elif before != migration.checksum:
            message = (
                f"{migration.name} was changed after it was applied. Put it back as it"
                " was and write a new migration."
            )
            raise DatabaseQueryError(message, code="schema_missing", retriable=False)
    return todo


def migrate(
    url: str,
    *,
    phase: Phase | None = None,
    dry_run: bool = False,
    announce: Callable[[str], None] = lambda _: None,
    folder: Path = FOLDER,
) -> list[str]:
    """Apply what is pending and return its names; a second run does nothing."""
    with connect(url, application="migrate", autocommit=True) as conn:
        if dry_run:
            todo = list_pending(conn, phase=phase, folder=folder)
            return [migration.name for migration in todo]
        _wait_for_lock(conn)
        with translate_database_errors():
            conn.execute(_CREATE_LEDGER)
        todo = list_pending(conn, phase=phase, folder=folder)
        for migration in todo:
            announce(migration.name)
            with translate_database_errors():
                _apply(conn, migration)
        return [migration.name for migration in todo]


def _wait_for_lock(conn: Connection) -> None:
    # Polled: a connection that blocks in pg_advisory_lock holds a snapshot, and a
    # concurrent index build of the migration that runs would wait for it for ever.
    deadline = time.monotonic() + _LOCK_WAIT_SECONDS
    while True:
        with translate_database_errors():
            row = conn.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK_KEY,))
            got = row.fetchone()
        if got is not None and got[0]:
            return
        if time.monotonic() > deadline:
            message = "Another `logchord migrate` is still running; try again later."
            raise DatabaseQueryError(message)
        time.sleep(_LOCK_POLL_SECONDS)


def _apply(conn: Connection, migration: Migration) -> None:
    values = {"name": migration.name, "checksum": migration.checksum}
    if not migration.in_transaction:
        conn.execute("SET statement_timeout = 0")
        # Several statements sent at once would be one transaction after all.
        for statement in _STATEMENT_END.split(migration.sql):
            if statement.strip():
                conn.execute(statement.encode())
        conn.execute(_RECORD, values)
        return
    with conn.transaction():
        conn.execute("SET LOCAL lock_timeout = '4s'")
        conn.execute("SET LOCAL statement_timeout = '5s'")
        conn.execute(migration.sql.encode())
        conn.execute(_RECORD, values)
