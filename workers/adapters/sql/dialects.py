"""Databases of other people, by their drivers: read only, bounded, soon let go."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, Self
from urllib.parse import SplitResult, unquote

from shared.errors import IngestionError, SourceUnreachableError
from workers.adapters.sql.statement import ParamStyle, Statement

CONNECT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """How long a statement may take, and how many rows travel at once."""

    seconds: float
    rows_per_fetch: int


@dataclass(frozen=True, slots=True)
class QueriedRows:
    """The answer of a statement, row by row, while it is open."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class Dialect(Protocol):
    """One kind of database."""

    style: ParamStyle
    # What its driver raises; nothing else is caught.
    errors: tuple[type[Exception], ...]

    def connect(self, limits: StatementLimits) -> Any:
        """Return a connection that cannot write."""

    def run(
        self, conn: Any, text: str, values: Mapping[str, Any], limits: StatementLimits
    ) -> AbstractContextManager[QueriedRows]:
        """Begin a statement, whose rows are fetched as they are asked for."""

    def failure(self, exc: Exception) -> IngestionError:
        """Return the source's error for an error of the driver."""

    def bound(self, wall: datetime) -> Any:
        """Return an aware time, in the source's zone, as it is bound."""

    def writable(self, conn: Any) -> str | None:
        """Name tables that the login may write to; None: there are none."""


class Database:
    """One database: a connection and a transaction for each statement."""

    def __init__(self, dialect: Dialect, limits: StatementLimits) -> None:
        self.dialect = dialect
        self._limits = limits

    @contextmanager
    def rows(
        self, statement: Statement, values: Mapping[str, Any]
    ) -> Iterator[QueriedRows]:
        """Run a statement; its transaction ends with the block, whatever was read."""
        text = statement.written(self.dialect.style)
        bound = {name: values[name] for name in sorted(statement.parameters)}
        with (
            self._open() as conn,
            self.dialect.run(conn, text, bound, self._limits) as answer,
        ):
            yield QueriedRows(answer.columns, self._in_time(answer.rows))

    def writable(self) -> str | None:
        """Name tables that the login may write to; None: there are none."""
        with self._open() as conn:
            return self.dialect.writable(conn)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            conn = self.dialect.connect(self._limits)
            try:
                yield conn
            finally:
                conn.close()
        except self.dialect.errors as exc:
            raise self.dialect.failure(exc) from exc

    def _in_time(self, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        deadline = time.monotonic() + self._limits.seconds
        for row in rows:
            yield row
            if time.monotonic() > deadline:
                raise SourceUnreachableError(
                    "The database takes longer than `request_timeout_seconds`.",
                    reason="timeout",
                )


def unreachable(exc: Exception) -> SourceUnreachableError:
    """Return the error of a database that may answer later."""
    return SourceUnreachableError(
        "The database of the source does not answer, or not in time.",
        reason="database",
        technical=_first_line(exc),
    )


def not_authorised(exc: Exception) -> IngestionError:
    """Return the error of a login that is refused."""
    return IngestionError(
        "The database refuses the login, or the login may not read this.",
        reason="not_authorised",
        technical=_first_line(exc),
    )


def refused(exc: Exception, *, quotes_rows: bool = False) -> IngestionError:
    """Return the error of a statement that no waiting makes better.

    Its words name what is wrong in the settings; not where they may hold a row's text.
    """
    said = "." if quotes_rows else f": {str(exc).strip().partition(chr(10))[0]}"
    return IngestionError(
        f"The database refuses a statement of the settings{said}",
        reason="statement_refused",
        technical=_first_line(exc),
    )


@dataclass(frozen=True, slots=True)
class Login:
    """The parts of a DSN that names a server."""

    host: str
    port: int | None
    user: str | None
    password: str | None
    database: str

    @classmethod
    def of(cls, parts: SplitResult) -> Self:
        """Return the parts of a DSN, unquoted."""
        return cls(
            parts.hostname or "localhost",
            parts.port,
            unquote(parts.username) if parts.username else None,
            unquote(parts.password) if parts.password else None,
            unquote(parts.path.lstrip("/")),
        )


def _first_line(exc: Exception) -> str:
    text = str(exc).strip()
    return f"{type(exc).__name__}: {text.splitlines()[0] if text else ''}"
