"""A logbook in Postgres: a server-side cursor inside a read-only transaction."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, LiteralString

import psycopg
from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import make_conninfo

from shared.errors import IngestionError
from workers.adapters.sql import dialects
from workers.adapters.sql.dialects import CONNECT_SECONDS, QueriedRows, StatementLimits
from workers.adapters.sql.statement import ParamStyle

# Read as text: Postgres knows years, and infinities, that Python does not.
_TIMES = ("timestamp", "timestamptz", "date", "time", "timetz", "interval")
_TEXTS = ("text", "varchar", "name")
_LATER = ("08", "40", "53", "55", "57")
_LOGIN_CODES = ("28", "3D")
# Errors of the statement as it is written; all others may quote what is in a row.
_OF_STATEMENTS = "42"
# A refused login comes without a code.
_LOGIN = ("authentication failed", "no pg_hba.conf", "does not exist", "no password")

_SETUP: LiteralString = """
    SELECT set_config('statement_timeout', %(ms)s, false),
           set_config('lock_timeout', %(ms)s, false),
           set_config('timezone', 'UTC', false),
           set_config('datestyle', 'ISO, YMD', false)"""
_WRITABLE: LiteralString = """
    SELECT format('%%I.%%I', n.nspname, c.relname)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^(pg_|information_schema$)'
       AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
     ORDER BY n.nspname, c.relname
     LIMIT %(limit)s"""


class _AsText(Loader):
    """Text in the server's charset; what is not UTF-8 stays bytes."""

    def load(self, data: Buffer) -> str | bytes:
        """Return text, or bytes of an unknown charset."""
        raw = bytes(data)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw


class _Unpadded(_AsText):
    """Text of a fixed width, without the blanks that fill it."""

    def load(self, data: Buffer) -> str | bytes:
        """Return the text without the blanks that pad it."""
        return super().load(bytes(data).rstrip(b" "))


class Postgres:
    """Postgres, by psycopg."""

    style: ParamStyle = "pyformat"
    errors: tuple[type[Exception], ...] = (psycopg.Error,)

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def connect(self, limits: StatementLimits) -> Connection:
        """Return a connection whose transactions are read-only."""
        conninfo = make_conninfo(
            self._dsn, connect_timeout=CONNECT_SECONDS, client_encoding="UTF8"
        )
        conn = psycopg.connect(conninfo)
        conn.read_only = True
        for name in (*_TIMES, *_TEXTS):
            conn.adapters.register_loader(name, _AsText)
        conn.adapters.register_loader("bpchar", _Unpadded)
        try:
            conn.execute(_SETUP, {"ms": str(int(limits.seconds * 1000))})
        except psycopg.Error:
            conn.close()
            raise
        return conn

    @contextmanager
    def run(
        self,
        conn: Connection,
        text: str,
        values: Mapping[str, Any],
        limits: StatementLimits,
    ) -> Iterator[QueriedRows]:
        """Begin a statement behind a server-side cursor."""
        with conn.cursor(name="logchord") as cursor:
            cursor.itersize = limits.rows_per_fetch
            # The statement is the admin's own, as the settings have it.
            cursor.execute(text.encode(), dict(values))
            columns = tuple(column.name for column in cursor.description or ())
            yield QueriedRows(columns, iter(cursor))

    def failure(self, exc: Exception) -> IngestionError:
        """Tell a login and a statement, which stay refused, from all the rest."""
        code = getattr(exc, "sqlstate", None) or ""
        if code == "42501" or code.startswith(_LOGIN_CODES):
            return dialects.not_authorised(exc)
        if code.startswith(_LATER):
            return dialects.unreachable(exc)
        if not code and isinstance(exc, psycopg.OperationalError):
            if any(words in str(exc) for words in _LOGIN):
                return dialects.not_authorised(exc)
            return dialects.unreachable(exc)
        return dialects.refused(exc, quotes_rows=not code.startswith(_OF_STATEMENTS))

    def bound(self, wall: datetime) -> str:
        """Return text with an offset, which a column without a zone ignores."""
        return wall.isoformat(sep=" ", timespec="seconds")

    def writable(self, conn: Connection) -> str | None:
        """Return the first tables that the login may write to."""
        rows = conn.execute(_WRITABLE, {"limit": 3}).fetchall()
        return ", ".join(row[0] for row in rows) or None
