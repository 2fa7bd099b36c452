"""A database replaced by what a backup holds, in one transaction."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE
from typing import IO, TYPE_CHECKING, LiteralString, cast

from psycopg import sql

from api.cli.backup import archive
from api.cli.backup.postgres_programs import PostgresPrograms, last_words, running
from api.cli.output import CommandError
from shared import migrations
from shared.postgres.pool import translate_database_errors

if TYPE_CHECKING:
    from psycopg import Connection

# What pg_restore of 17 and later writes, whichever server it is for.
_LIMIT, _KNOWS_THE_LIMIT = b"\nSET transaction_timeout = 0;\n", 170_000

_NAMED: LiteralString = """
    SELECT current_database(), current_schema(),
           to_regclass('schema_migration') IS NOT NULL"""
_TABLES: LiteralString = """
    SELECT c.relname FROM pg_class c
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
       AND NOT c.relispartition
       AND NOT EXISTS (SELECT FROM pg_depend d
                        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                          AND d.deptype = 'e')
     ORDER BY c.relname"""
_HELD: LiteralString = """
    SELECT (SELECT count(*) FROM entry), (SELECT epoch FROM installation)"""
_PURGED: LiteralString = "SELECT source, external_id, tenant FROM purged"
_CONNECTED: LiteralString = """
    SELECT DISTINCT application_name FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND application_name LIKE 'logchord %'
     ORDER BY application_name
     LIMIT 100"""

_BEGIN: LiteralString = """
BEGIN;
SET LOCAL lock_timeout = '10s';
"""
# Tables take their triggers along, and leave the function of these.
_DROP_FUNCTION: LiteralString = "DROP FUNCTION IF EXISTS {}.refuse_audit_change();\n"
# A dump leaves a session without a search path. The clock, in steps of 256 s since
# 2026, is the least epoch: that of a database that was lost nobody knows (ADR 35).
# Transactions are those of this cluster from now on: what later ones than there have
# been here have changed would be told to nobody, and waited for.
_END: LiteralString = """
SET LOCAL search_path = {schema};
SET LOCAL statement_timeout = 0;
UPDATE installation
   SET epoch = greatest(epoch, {epoch},
           extract(epoch FROM clock_timestamp() - '2026-01-01Z')::bigint / 256) + 1,
       index_missed_at = now();
CREATE TEMPORARY TABLE ahead ON COMMIT DROP AS
SELECT max(xid)::text::bigint - pg_current_xact_id()::text::bigint AS by_far
  FROM (SELECT max(changed_xid) FROM entry
         UNION ALL SELECT max(changed_xid) FROM purged) AS changed (xid);
UPDATE entry SET changed_xid =
       greatest(changed_xid::text::bigint - by_far, 1)::text::xid8
  FROM ahead WHERE by_far > 0;
UPDATE purged SET changed_xid =
       greatest(changed_xid::text::bigint - by_far, 1)::text::xid8
  FROM ahead WHERE by_far > 0;
UPDATE maintenance SET cursor = cursor || '{{"horizon": "0"}}'
 WHERE ended_at IS NULL AND cursor ? 'horizon';
COMMIT;
"""


@dataclass(frozen=True)
class TargetDatabase:
    """A database as it is before it is filled."""

    name: str
    schema: str
    entries: int
    epoch: int
    is_ours: bool
    tables: tuple[str, ...]
    # Source, external id and tenant of what must not come back.
    purged: frozenset[tuple[str, str, str]]
    # What is connected to it, by the names that our processes give themselves.
    processes: tuple[str, ...]


def look_at_database(conn: Connection) -> TargetDatabase:
    """Return the contents of a database, and who works on it."""
    with translate_database_errors():
        ((name, schema, is_ours),) = conn.execute(_NAMED).fetchall()
        tables = tuple(row[0] for row in conn.execute(_TABLES).fetchall())
        connected = conn.execute(_CONNECTED).fetchall()
        entries = epoch = 0
        purged: list[tuple[str, str, str]] = []
        if is_ours and {"entry", "installation", "purged"} <= set(tables):
            ((entries, epoch),) = conn.execute(_HELD).fetchall()
            purged = conn.execute(_PURGED).fetchall()
    # Without whose they are, and the number of each process.
    processes = sorted({" ".join(row[0].split()[1:-1]) for row in connected})
    return TargetDatabase(
        name=name,
        schema=schema,
        entries=entries,
        epoch=epoch or 0,
        is_ours=is_ours,
        tables=tables,
        purged=frozenset(purged),
        processes=tuple(processes),
    )


def name_unknown(schema: Mapping[str, str]) -> list[str]:
    """Return the migrations of a backup that this release does not have, or not so."""
    ours = {one.name: one.checksum for one in migrations.load()}
    return sorted(name for name, sha256 in schema.items() if ours.get(name) != sha256)


def fill_database(
    conn: Connection,
    target: TargetDatabase,
    programs: PostgresPrograms,
    dump: IO[bytes],
) -> None:
    """Replace the tables by those of a dump, and raise the epoch: all or nothing."""
    begin = sql.SQL(_BEGIN) + sql.SQL("").join(
        sql.SQL("DROP TABLE IF EXISTS {} CASCADE;\n").format(
            sql.Identifier(target.schema, table)
        )
        for table in target.tables
    )
    begin += sql.SQL(_DROP_FUNCTION).format(sql.Identifier(target.schema))
    end = sql.SQL(_END).format(
        schema=sql.Identifier(target.schema), epoch=sql.Literal(target.epoch)
    )
    script = [f"{programs.folder}/pg_restore", "--file=-", "--no-comments"]
    script += ["--no-owner", "--no-privileges", "--exit-on-error"]
    psql = ["--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1"]
    reached = programs.command("psql", *psql, "--output=/dev/null")
    with (
        tempfile.TemporaryFile() as told,
        # Without its last word everything stays as it was.
        running(reached, programs.environ, stdin=PIPE, stderr=told) as filling,
    ):
        statements = cast("IO[bytes]", filling.stdin)
        with suppress(BrokenPipeError):
            statements.write(begin.as_bytes(conn))
            statements.flush()
            with running(script, stdin=dump, stdout=PIPE, stderr=told) as opened:
                unpacked = archive.pieces(cast("IO[bytes]", opened.stdout))
                for piece in bearable(unpacked, conn.info.server_version):
                    statements.write(piece)
                if opened.wait() != 0:
                    raise CommandError(_why(told))
            statements.write(end.as_bytes(conn))
            statements.close()
        if filling.wait() != 0:
            raise CommandError(_why(told))


def bearable(unpacked: Iterable[bytes], server: int) -> Iterator[bytes]:
    """Yield the statements of a dump without the one that an older server refuses.

    It stands among the first; entries that quote it come later.
    """
    for number, piece in enumerate(unpacked):
        is_refused = number == 0 and server < _KNOWS_THE_LIMIT
        yield piece.replace(_LIMIT, b"\n", 1) if is_refused else piece


def _why(told: IO[bytes]) -> str:
    return f"The database was not filled, and is as it was: {last_words(told)}"
