"""An installation that is backed up and put back: its database, files and home."""

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import psycopg
from psycopg import sql

from shared.enrich.attachments.file_store import FileStore
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from tests.support.typed import typed
from workers.runtime.context import Context

STAGES = (METADATA_STAGE, INDEX_STAGE)
PHOTO = b"a photograph of a valve"

TABLES: LiteralString = """
    SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"""
# Transactions are counted by each server for itself.
ROWS: LiteralString = """
    SELECT count(*), md5(string_agg(row, '' ORDER BY row))
      FROM (SELECT (to_jsonb(t) - 'changed_xid')::text AS row FROM {} t) AS rows"""


class Installation(NamedTuple):
    """An installation without processes: what they do, its test does."""

    database: str
    home: Path
    environ: dict[str, str]
    make_context: Callable[[], Context]

    def run(self, *words: str) -> CompletedProcess[str]:
        folder = self.home.parent
        return typed(*words, environ=self.environ, folder=folder)

    @property
    def store(self) -> FileStore:
        return FileStore(str(self.home / "attachments"))

    @contextmanager
    def at_work(self) -> Iterator[tuple[Context, psycopg.Connection]]:
        """A worker, and a connection, that are gone when the block ends."""
        ctx = self.make_context()
        with psycopg.connect(self.database, autocommit=True) as conn:
            yield ctx, conn
        ctx._resources.close()


def attach(one: Installation, conn: psycopg.Connection, entry_id: UUID) -> None:
    sha256 = hashlib.sha256(PHOTO).digest()
    one.store.put(io.BytesIO(PHOTO), sha256, len(PHOTO))
    conn.execute(
        "INSERT INTO attachment (id, tenant, entry_id, external_id, position, filename,"
        " state, bytes, sha256) VALUES (uuidv7(), 'default', %s, 'p', 0, 'p.jpg',"
        " 'stored', %s, %s)",
        (entry_id, len(PHOTO), sha256),
    )


def entries(conn: psycopg.Connection) -> list[Any]:
    return conn.execute(
        "SELECT e.external_id, e.revision, e.doc_version, e.deleted_at, r.text"
        " FROM entry e JOIN revision r ON r.entry_id = e.id ORDER BY e.id, r.number"
    ).fetchall()


def contents(database: str) -> dict[str, Any]:
    """Number and hash of the rows of every table that a restore leaves as it was."""
    own = {"installation", "maintenance", "worker_process", "upkeep_loop"}
    with psycopg.connect(database) as conn:
        names = {row[0] for row in conn.execute(TABLES).fetchall()} - own
        return {
            name: conn.execute(sql.SQL(ROWS).format(sql.Identifier(name))).fetchone()
            for name in names
        }


def held(database: str) -> list[Any]:
    with psycopg.connect(database) as conn:
        return entries(conn)
