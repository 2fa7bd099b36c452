"""The database as one moment had it, written by pg_dump, and what that moment names."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from subprocess import PIPE
from typing import IO, TYPE_CHECKING, Any, LiteralString, cast

from psycopg import IsolationLevel

from api.cli.backup import archive
from api.cli.backup.postgres_programs import find_programs, last_words, running
from api.cli.output import CommandError
from shared.postgres.pool import connect, translate_database_errors

if TYPE_CHECKING:
    from psycopg import Connection

# Processes that report themselves, and loops that turn: none of those are there then.
# Searches of the last hours are asked again, and were most of a backup.
_LEFT_OUT = ("worker_process", "upkeep_loop", "job_*", "agent_turn")
# What else a server was given, the one that is filled need not have.
_EXTENSIONS = ("vector", "pg_trgm")

_UNHURRIED: LiteralString = """
    SELECT set_config('statement_timeout', '0', false),
           set_config('idle_in_transaction_session_timeout', '0', false)"""
_SNAPSHOT: LiteralString = "SELECT pg_export_snapshot()"
_HAS_SCHEMA: LiteralString = "SELECT to_regclass('schema_migration') IS NOT NULL"
_SCHEMA: LiteralString = "SELECT name, checksum FROM schema_migration ORDER BY name"
_FACTS: LiteralString = """
    SELECT now(), i.epoch, current_setting('server_version'),
           (SELECT count(*) FROM entry WHERE deleted_at IS NULL)
      FROM installation i"""
_FILES: LiteralString = """
    SELECT DISTINCT sha256 FROM attachment WHERE sha256 IS NOT NULL ORDER BY sha256"""


class Snapshot:
    """One moment of a database; what is committed later is not in it."""

    def __init__(self, conn: Connection, url: str) -> None:
        self._conn, self._url = conn, url

    def describe(self) -> dict[str, Any]:
        """Return the facts of this moment that a manifest tells."""
        with translate_database_errors():
            ((taken_at, epoch, server, entries),) = self._conn.execute(
                _FACTS
            ).fetchall()
            schema: dict[str, str] = dict(self._conn.execute(_SCHEMA).fetchall())
        return {
            "taken_at": taken_at.isoformat(),
            "postgres": server,
            "schema": schema,
            "epoch": epoch,
            "entries": entries,
        }

    def dump(self) -> Generator[bytes]:
        """Yield the dump; raise if pg_dump does not end well."""
        programs = find_programs(self._conn, self._url)
        with translate_database_errors():
            ((snapshot,),) = self._conn.execute(_SNAPSHOT).fetchall()
        command = programs.command(
            "pg_dump",
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            "--no-password",
            f"--snapshot={snapshot}",
            *(f"--extension={name}" for name in _EXTENSIONS),
            *(f"--exclude-table-data={name}" for name in _LEFT_OUT),
        )
        with (
            tempfile.TemporaryFile() as told,
            running(command, programs.environ, stdout=PIPE, stderr=told) as dumping,
        ):
            yield from archive.pieces(cast("IO[bytes]", dumping.stdout))
            if dumping.wait() != 0:
                message = f"The database was not dumped: {last_words(told)}"
                raise CommandError(message)

    def files(self) -> Iterator[bytes]:
        """Yield the hash of every file that an attachment names."""
        with translate_database_errors(), self._conn.cursor("files") as cursor:
            cursor.itersize = 1000
            for (sha256,) in cursor.execute(_FILES):
                yield sha256


@contextmanager
def take_snapshot(url: str) -> Iterator[Snapshot]:
    """Hold one moment of a database until the block ends."""
    with connect(url, application="backup") as conn:
        with translate_database_errors():
            conn.read_only, conn.isolation_level = True, IsolationLevel.REPEATABLE_READ
            conn.execute(_UNHURRIED)
            ((has_schema,),) = conn.execute(_HAS_SCHEMA).fetchall()
        if not has_schema:
            message = (
                "The database holds nothing of Logchord: there is no schema in it."
            )
            raise CommandError(message)
        yield Snapshot(conn, url)
