"""Logbooks in MySQL and Oracle, whose drivers are installed beside when needed."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from shared.errors import ConfigurationError, IngestionError
from workers.adapters.sql import dialects
from workers.adapters.sql.dialects import (
    CONNECT_SECONDS,
    Login,
    QueriedRows,
    StatementLimits,
)
from workers.adapters.sql.statement import ParamStyle

_MYSQL_PORT, _ORACLE_PORT = 3306, 1521
_MYSQL_LOGIN = frozenset({1044, 1045, 1142, 1143, 1227, 1698})
# Connection, time-out, lock, deadlock, shutdown.
_MYSQL_LATER = frozenset(
    {1040, 1053, 1158, 1159, 1205, 1213, 1317, 3024, *range(2000, 2060)}
)
_ORACLE_LOGIN = frozenset({1017, 1031, 1045, 28000, 28001, 942})
_ORACLE_STATEMENT = range(900, 1000)
_WRITES = ("ALL PRIVILEGES", "INSERT", "UPDATE", "DELETE")


class MySQL:
    """MySQL and MariaDB, by pymysql."""

    style: ParamStyle = "pyformat"

    def __init__(self, login: Login) -> None:
        self._login = login
        self._driver = driver("pymysql", "mysql")
        self.errors: tuple[type[Exception], ...] = (self._driver.err.Error,)

    def connect(self, limits: StatementLimits) -> Any:
        """Return a connection whose transactions are read-only."""
        cursors = importlib.import_module("pymysql.cursors")
        login = self._login
        conn = self._driver.connect(
            host=login.host,
            port=login.port or _MYSQL_PORT,
            user=login.user,
            password=login.password or "",
            database=login.database,
            charset="utf8mb4",
            connect_timeout=CONNECT_SECONDS,
            read_timeout=limits.seconds,
            cursorclass=cursors.SSCursor,
            # Dates stay text: the year zero is one of them.
            conv=_without_times(self._driver),
        )
        with conn.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            cursor.execute("START TRANSACTION READ ONLY")
        return conn

    @contextmanager
    def run(
        self, conn: Any, text: str, values: Mapping[str, Any], limits: StatementLimits
    ) -> Iterator[QueriedRows]:
        """Begin a statement whose rows stay with the server until asked for."""
        cursor = conn.cursor()
        cursor.arraysize = limits.rows_per_fetch
        cursor.execute(text, dict(values))
        # What was not fetched is not drained: the connection ends with the page.
        yield QueriedRows(_names(cursor), _fetched(cursor))

    def failure(self, exc: Exception) -> IngestionError:
        """Tell what passes from what stays refused."""
        code = exc.args[0] if exc.args else None
        if code in _MYSQL_LOGIN:
            return dialects.not_authorised(exc)
        if code in _MYSQL_LATER:
            return dialects.unreachable(exc)
        return dialects.refused(exc)

    def bound(self, wall: datetime) -> str:
        """Return a wall time of the source's zone."""
        return wall.strftime("%Y-%m-%d %H:%M:%S")

    def writable(self, conn: Any) -> str | None:
        """Return the first grant by which the login may write."""
        with conn.cursor() as cursor:
            cursor.execute("SHOW GRANTS")
            grants = [str(row[0]) for row in cursor.fetchall()]
        writing = [one for one in grants if any(word in one for word in _WRITES)]
        return writing[0].partition(" TO ")[0] if writing else None


class Oracle:
    """Oracle, by python-oracledb without a client library."""

    style: ParamStyle = "named"

    def __init__(self, login: Login) -> None:
        self._login = login
        self._driver = driver("oracledb", "oracle")
        self.errors: tuple[type[Exception], ...] = (self._driver.Error,)

    def connect(self, limits: StatementLimits) -> Any:
        """Return a connection inside a read-only transaction."""
        login = self._login
        place = f"{login.host}:{login.port or _ORACLE_PORT}/{login.database}"
        conn = self._driver.connect(
            user=login.user,
            password=login.password,
            dsn=place,
            tcp_connect_timeout=CONNECT_SECONDS,
        )
        conn.call_timeout = int(limits.seconds * 1000)
        with conn.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
        return conn

    @contextmanager
    def run(
        self, conn: Any, text: str, values: Mapping[str, Any], limits: StatementLimits
    ) -> Iterator[QueriedRows]:
        """Begin a statement; numbers come as text where they would lose digits."""
        cursor = conn.cursor()
        cursor.arraysize = limits.rows_per_fetch
        cursor.execute(text, dict(values))
        fixed = {
            at
            for at, column in enumerate(cursor.description)
            if column[1] is self._driver.DB_TYPE_CHAR
        }
        yield QueriedRows(_names(cursor), _unpadded(cursor, fixed))

    def failure(self, exc: Exception) -> IngestionError:
        """Tell what passes from what stays refused."""
        code = getattr(exc.args[0], "code", None) if exc.args else None
        if code in _ORACLE_LOGIN:
            return dialects.not_authorised(exc)
        if code in _ORACLE_STATEMENT:
            return dialects.refused(exc)
        return dialects.unreachable(exc)

    def bound(self, wall: datetime) -> datetime:
        """Return a wall time of the source's zone."""
        return wall.replace(tzinfo=None)

    def writable(self, conn: Any) -> str | None:
        """Return the first privilege by which the login may write."""
        with conn.cursor() as cursor:
            cursor.execute(
                "SELECT privilege FROM session_privs"
                " WHERE privilege LIKE 'INSERT%' OR privilege LIKE 'UPDATE%'"
                " OR privilege LIKE 'DELETE%' ORDER BY privilege"
                " FETCH FIRST 1 ROWS ONLY"
            )
            row = cursor.fetchone()
        return str(row[0]) if row else None


def driver(module: str, extra: str) -> Any:
    """Return a driver's module, or say what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as exc:
        raise ConfigurationError(
            f"This source needs the driver {module}: install logchord[{extra}].",
            config_key="sources",
        ) from exc


def _without_times(pymysql: Any) -> dict[Any, Any]:
    kept = dict(pymysql.converters.conversions)
    for kind in ("DATE", "DATETIME", "TIMESTAMP", "TIME", "NEWDATE"):
        kept.pop(getattr(pymysql.constants.FIELD_TYPE, kind), None)
    return kept


def _names(cursor: Any) -> tuple[str, ...]:
    return tuple(column[0] for column in cursor.description or ())


def _fetched(cursor: Any) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchmany():
        yield from rows


def _unpadded(cursor: Any, fixed: set[int]) -> Iterator[tuple[Any, ...]]:
    for row in _fetched(cursor):
        yield tuple(
            value.rstrip(" ") if at in fixed and isinstance(value, str) else value
            for at, value in enumerate(row)
        )
