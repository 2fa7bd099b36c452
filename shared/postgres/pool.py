"""Connections to Postgres: pools that check themselves, errors by SQLSTATE."""

import os
import select
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector
from psycopg.pq import PipelineStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from shared.errors import DatabaseConnectionError, DatabaseQueryError, LogchordError
from shared.postgres import request_deadline

# Its name for rooms that hand a connection on and keep no SQL.
Connection = psycopg.Connection


class PooledConnection(Connection):
    """A connection of a pool, which knows when it was last given back."""

    idle_since = 0.0


Pool = ConnectionPool[PooledConnection]

# SQLSTATE classes and codes after which the same statement may succeed; 25P03 is what
# a process finds that was frozen with a transaction open.
_RETRIABLE_CLASSES = ("08", "53", "58")
_RETRIABLE_STATES = frozenset(
    {"25P03", "40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03"}
)
# A quota that is used up, or a file that may not grow, has no SQLSTATE of its own as a
# full disk has: it is an "internal error", told from others by where it arose.
_INTERNAL_ERROR = "XX000"
_STORAGE_FILES = frozenset({"md.c", "fd.c", "buffile.c"})
# By the limit of a statement, and that of a lock.
_OUT_OF_TIME = frozenset({"57014", "55P03"})
# Our statements are constants: what they name and the database lacks, a migration adds.
_SCHEMA_BEHIND = frozenset({"42P01", "42703"})
_READ_ONLY_TRANSACTION = "25006"

_ASK_AGAIN_SECONDS = 0.5
# Idle for longer, a link is asked whether it still answers; until then it is enough
# that the server has said nothing, as it does when it ends one.
_TRUSTED_SECONDS = 1.0

# A link that went silent is noticed within about twenty seconds, whoever waits on it.
_LINK: dict[str, Any] = {
    "connect_timeout": 2,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


def make_pool(
    url: str,
    *,
    application: str,
    size: int,
    statement_timeout_ms: int = 4000,
    lock_timeout_ms: int = 2000,
    idle_timeout_ms: int = 10_000,
    wait_seconds: float = 2.0,
    read_only: bool = False,
) -> Pool:
    """Return an open pool whose connections are checked and bounded in time.

    Make it after a fork: a connection shared by two processes answers both.
    """
    options = (
        f"-c statement_timeout={statement_timeout_ms}"
        f" -c lock_timeout={lock_timeout_ms}"
        f" -c idle_in_transaction_session_timeout={idle_timeout_ms}"
        # The server, too, learns in time of a host that is gone.
        " -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=3"
        " -c tcp_keepalives_count=3"
        f" -c default_transaction_read_only={'on' if read_only else 'off'}"
    )
    pool: Pool = ConnectionPool(
        url,
        min_size=min(1, size),
        max_size=size,
        timeout=wait_seconds,
        connection_class=PooledConnection,
        # A connection that the server has killed is replaced before it is used. When it
        # comes back nothing is done: with `reset` that would be left to a thread.
        check=_check,
        # Given up soon and begun anew by whoever comes next: the pool's own pauses, of
        # one second and then two, would outlast the outage and whoever waits.
        reconnect_timeout=0.5,
        kwargs={
            "application_name": f"logchord {application} {os.getpid()}",
            "options": options,
            **_LINK,
        },
        open=True,
        name=application,
    )
    return pool


def connect(url: str, *, application: str, **kwargs: Any) -> Connection:
    """Open one connection outside a pool, for migrations and loops."""
    with translate_database_errors():
        return psycopg.connect(
            url,
            application_name=f"logchord {application} {os.getpid()}",
            **_LINK,
            **kwargs,
        )


def format_array(values: Iterable[UUID | str | int]) -> str:
    """Return ids or numbers as Postgres writes a list of them; the statement casts it.

    The driver, which looks at each for what must be quoted, takes five times as long:
    so never for texts of others, in which something may have to be.
    """
    return f"{{{','.join(map(str, values))}}}"


@contextmanager
def translate_database_errors() -> Iterator[None]:
    """Turn what the driver raises into our own errors, by SQLSTATE."""
    try:
        yield
    except (psycopg.Error, PoolTimeout) as exc:
        raise as_logchord_error(exc) from exc
    except UnicodeEncodeError as exc:
        # A lone surrogate that got past the text door: a bug, never worth a retry.
        raise _not_retriable(exc, None) from exc


@contextmanager
def connection(pool: Pool) -> Iterator[Connection]:
    """Borrow a connection for one transaction; errors come out translated."""
    with _borrowed(pool) as conn:
        if conn.autocommit:
            conn.autocommit = False
        with conn:
            yield conn


@contextmanager
def pipelined_connection(pool: Pool) -> Iterator[Connection]:
    """Borrow a connection for one transaction whose statements go out together.

    Nobody waits before rows are fetched: what fails is raised there, or at the end of
    the block. Say of each statement whether it is prepared: of one that was not reached
    the driver would believe that it is.
    """
    with _borrowed(pool) as conn:
        # What goes out before a sync is one transaction, with no BEGIN and COMMIT.
        conn.autocommit = True
        is_whole = False
        try:
            with _undone_unless_ended(conn):
                yield conn
            is_whole = True
        finally:
            if not is_whole:
                # What was not reached, and what has gone with a rollback: the driver
                # believes of both that they are prepared.
                with suppress(psycopg.Error):
                    _forget_prepared(conn)


def _forget_prepared(conn: PooledConnection) -> None:
    """Drop prepared statements in the server and in the driver.

    At a rollback of its own the driver does both. Of DEALLOCATE ALL, sent as any other
    statement, it takes no notice from the second time on: what it then believes to be
    prepared fails for as long as the connection lives.
    """
    conn.autocommit = False
    conn.execute("SELECT 1", prepare=False)
    conn.rollback()


@contextmanager
def _undone_unless_ended(conn: PooledConnection) -> Iterator[None]:
    with conn.pipeline() as pipeline:
        is_ended = False
        try:
            yield
            is_ended = True
        finally:
            if not is_ended and pipeline.status is PipelineStatus.ON:
                # The sync at the end would keep what is written by now.
                with suppress(psycopg.Error):
                    conn.execute("ROLLBACK", prepare=False)


@contextmanager
def _borrowed(pool: Pool) -> Iterator[PooledConnection]:
    with translate_database_errors(), request_deadline.spend():
        conn = _taken(pool, request_deadline.at_most(pool.timeout))
        try:
            # The end is within: it may be what takes too long.
            with request_deadline.watched(conn):
                yield conn
        finally:
            conn.idle_since = time.monotonic()
            pool.putconn(conn)


def _taken(pool: Pool, seconds: float) -> PooledConnection:
    """Wait for a connection, asking again: a pool connects anew only when asked."""
    ends = time.monotonic() + seconds
    while True:
        left = ends - time.monotonic()
        try:
            return pool.getconn(max(0.0, min(_ASK_AGAIN_SECONDS, left)))
        except PoolTimeout:
            if left <= _ASK_AGAIN_SECONDS:
                raise


def _check(conn: PooledConnection) -> None:
    knows_vectors = conn.adapters.types.get("halfvec") is not None
    is_recent = time.monotonic() - conn.idle_since < _TRUSTED_SECONDS
    if knows_vectors and is_recent and _is_silent(conn):
        return
    with request_deadline.watched(conn):
        ConnectionPool.check_connection(conn)
        if not knows_vectors:
            _learn_vectors(conn)


def _learn_vectors(conn: PooledConnection) -> None:
    """Have vectors travel as bytes; before the first migration there are none."""
    try:
        register_vector(conn)
    except psycopg.ProgrammingError as exc:
        # The driver's own, of a database that has no such type; others have a state.
        if exc.sqlstate is not None:
            raise


def _is_silent(conn: PooledConnection) -> bool:
    """Tell whether nothing came from the server since, its farewell included."""
    unread = select.poll()
    unread.register(conn.fileno(), select.POLLIN)
    return not unread.poll(0)


def as_logchord_error(exc: Exception) -> LogchordError:
    """Classify a driver exception; no SQLSTATE is not a reason to try again."""
    if isinstance(exc, PoolTimeout):
        return DatabaseConnectionError(technical=_driver_text(exc))
    state = getattr(exc, "sqlstate", None)
    if state is None:
        if isinstance(exc, psycopg.OperationalError | psycopg.InterfaceError):
            return DatabaseConnectionError(technical=_driver_text(exc))
        return _not_retriable(exc, state)
    if state in _SCHEMA_BEHIND:
        return DatabaseQueryError(
            "Run `logchord migrate` to bring the tables up to this release, then"
            " `logchord push FILE` to load entries.",
            code="schema_missing",
            technical=_driver_text(exc),
            retriable=False,
        )
    if state == _READ_ONLY_TRANSACTION:
        return DatabaseQueryError(
            "The database takes no writes just now.",
            code="read_only",
            technical=_driver_text(exc),
        )
    if (
        state[:2] in _RETRIABLE_CLASSES
        or state in _RETRIABLE_STATES
        or _met_the_storage(exc, state)
    ):
        return DatabaseQueryError(
            technical=f"{state}: {_driver_text(exc)}", out_of_time=state in _OUT_OF_TIME
        )
    return _not_retriable(exc, state)


def _met_the_storage(exc: Exception, state: str) -> bool:
    """Tell whether the server could not write or read a file of its own."""
    if state != _INTERNAL_ERROR or not isinstance(exc, psycopg.Error):
        return False
    # A panic is what the server makes of a log that it cannot write; it begins anew.
    panic = exc.diag.severity_nonlocalized == "PANIC"
    return panic or exc.diag.source_file in _STORAGE_FILES


def _not_retriable(exc: Exception, state: str | None) -> DatabaseQueryError:
    return DatabaseQueryError(
        "A statement was refused by the database; this is a fault of Logchord.",
        code="database_query_failed",
        technical=f"{state or type(exc).__name__}: {_driver_text(exc)}",
        retriable=False,
    )


def _driver_text(exc: Exception) -> str:
    """Return the driver's message without its DETAIL, which quotes whole rows."""
    if isinstance(exc, psycopg.Error) and exc.diag.message_primary:
        return exc.diag.message_primary
    return str(exc)
