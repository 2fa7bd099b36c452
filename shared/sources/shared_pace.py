"""The pace of one source over all processes: its next time is a row, its slots locks.

A slot is an advisory lock of a connection, so it is free again once its holder is gone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import Connection

from shared.http.pace import (
    LOOK_SECONDS,
    IsOver,
    LocalPace,
    add_jitter,
    capped_rest,
    no_turn,
    pause,
)
from shared.postgres import pool
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter

_OPTIONS = "-c statement_timeout=4000 -c lock_timeout=2000"

_TAKE_SLOT: LiteralString = """
    SELECT pg_try_advisory_lock(hashtextextended(%(slot)s, 0))"""
_FREE_SLOT: LiteralString = """
    SELECT pg_advisory_unlock(hashtextextended(%(slot)s, 0))"""
# Held in common by those who wait with what is urgent.
_CALL: LiteralString = """
    SELECT pg_try_advisory_lock_shared(hashtextextended(%(call)s, 0))"""
_END_CALL: LiteralString = """
    SELECT pg_advisory_unlock_shared(hashtextextended(%(call)s, 0))"""
# Nobody calls: taken and given back by the one statement.
_NO_CALL: LiteralString = """
    SELECT pg_try_advisory_xact_lock(hashtextextended(%(call)s, 0))"""
_RESERVE: LiteralString = """
    UPDATE source_state
       SET next_request_at = greatest(next_request_at, clock_timestamp())
                             + make_interval(secs => %(interval)s)
     WHERE source = %(source)s AND tenant = %(tenant)s
       AND next_request_at <= clock_timestamp() + make_interval(secs => %(within)s)
    RETURNING extract(epoch FROM next_request_at - clock_timestamp())::float8
              - %(interval)s"""
_WAIT: LiteralString = """
    SELECT extract(epoch FROM next_request_at - clock_timestamp())::float8
      FROM source_state
     WHERE source = %(source)s AND tenant = %(tenant)s"""
_REST: LiteralString = """
    UPDATE source_state
       SET next_request_at = greatest(
               next_request_at, clock_timestamp() + make_interval(secs => %(rest)s))
     WHERE source = %(source)s AND tenant = %(tenant)s"""


def make_shared_pace(
    settings: Settings, name: str, source: SourceSettings, *, is_urgent: bool
) -> SharedPace:
    """Return the pace of a source, of as many at once as its adapter allows."""
    most = load_adapter.find_adapter_class(source.adapter).descriptor.max_concurrency
    return SharedPace(
        settings.require_database_url(),
        source=name,
        tenant=source.tenant,
        rate_per_second=source.rate_per_second,
        concurrency=min(source.concurrency, most),
        is_urgent=is_urgent,
    )


class SharedPace:
    """The pace of one source, wherever its requests come from.

    Its connection is its own: a slot is held for as long as a request takes, which
    would starve a pool. Raises database errors, translated, beside those of a pace.
    """

    def __init__(
        self,
        url: str,
        *,
        source: str,
        tenant: str,
        rate_per_second: float,
        concurrency: int,
        is_urgent: bool,
    ) -> None:
        self._url = url
        self._row = {"source": source, "tenant": tenant}
        self._interval = 1 / rate_per_second
        self._slots = [f"source slot {source} {one}" for one in range(concurrency)]
        self._call = {"call": f"source call {source}"}
        self._is_urgent = is_urgent
        # Where the source has no row yet, as in a check before its first run.
        self._alone = LocalPace(rate_per_second, concurrency)
        self._conn: Connection | None = None

    @contextmanager
    def turn(self, ends: float, is_over: IsOver) -> Iterator[None]:
        """Wait for a slot, then for the time; the slot is held meanwhile."""
        slot = self._slot(ends, is_over)
        try:
            pause(self._reserved(ends, is_over), is_over)
            yield
        finally:
            self._free(slot)

    def rest(self, seconds: float) -> None:
        """Let no process ask the source for so many seconds."""
        self._alone.rest(seconds)
        self._ask(_REST, {**self._row, "rest": capped_rest(seconds)})

    def close(self) -> None:
        """Give everything back."""
        conn, self._conn = self._conn, None
        if conn:
            conn.close()

    def _slot(self, ends: float, is_over: IsOver) -> str:
        calls = False
        try:
            while True:
                slot = self._free_slot()
                if slot is not None:
                    return slot
                if time.monotonic() >= ends:
                    raise no_turn(is_over)
                if self._is_urgent and not calls:
                    calls = bool(self._ask(_CALL, self._call))
                pause(add_jitter(LOOK_SECONDS / 2, LOOK_SECONDS), is_over)
        finally:
            if calls:
                self._ask(_END_CALL, self._call)

    def _free_slot(self) -> str | None:
        if not self._is_urgent and not self._ask(_NO_CALL, self._call):
            return None
        for slot in self._slots:
            if self._ask(_TAKE_SLOT, {"slot": slot}):
                return slot
        return None

    def _free(self, slot: str) -> None:
        # A connection that is gone has given its locks back.
        if self._conn is None:
            return
        try:
            self._conn.execute(_FREE_SLOT, {"slot": slot})
        except psycopg.Error:
            self.close()

    def _reserved(self, ends: float, is_over: IsOver) -> float:
        """Return the wait until a time that is ours from now on."""
        while True:
            within = max(0.0, ends - time.monotonic()) if self._is_urgent else 0.0
            limits = {**self._row, "interval": self._interval, "within": within}
            wait = self._ask(_RESERVE, limits)
            if wait is not None:
                return add_jitter(wait, self._interval)
            wait = self._ask(_WAIT, self._row)
            if wait is None:
                return self._alone.reserve(ends)
            if time.monotonic() + wait > ends:
                raise no_turn(wait=wait)
            # A rest is waited out at once; a time is tried for again.
            pause(add_jitter(max(wait, 0.0), self._interval), is_over)

    def _ask(self, statement: LiteralString, values: dict[str, Any]) -> Any:
        """Return the one value of a statement; a broken connection is made anew."""
        with pool.translate_database_errors():
            if self._conn is None or self._conn.closed:
                self._conn = pool.connect(
                    self._url, application="pace", autocommit=True, options=_OPTIONS
                )
            try:
                asked = self._conn.execute(statement, values)
            except psycopg.OperationalError:
                self.close()
                raise
            row = asked.fetchone() if asked.description else None
        return row[0] if row else None
