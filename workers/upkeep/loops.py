"""A duty of upkeep, turned again and again by whoever holds its advisory lock."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from typing import LiteralString

from psycopg import Connection

from shared import log as logs
from shared.errors import LogchordError
from shared.postgres.fetch_rows import fetch_value
from shared.postgres.pool import connect, translate_database_errors
from shared.work.upkeep_loops import LOCK_SPACE
from workers.runtime.task import attempt

log = logs.get_logger()

_STANDBY_SECONDS = 1.0

Before = Callable[[Connection], None]
# What it returns kept the turn from its work, is told to operators, and ends no loop.
Turn = Callable[[Connection], LogchordError | None]

_LOCK: LiteralString = "SELECT pg_try_advisory_lock(%(space)s, hashtext(%(name)s))"
_TURN: LiteralString = """
    INSERT INTO upkeep_loop AS l (name, last_turn_at, holder, trouble, trouble_since)
    VALUES (%(name)s, now(), %(holder)s, %(trouble)s::jsonb,
            CASE WHEN %(trouble)s::text IS NOT NULL THEN now() END)
        ON CONFLICT (name) DO UPDATE
       SET last_turn_at = now(), holder = excluded.holder, trouble = excluded.trouble,
           trouble_since = CASE WHEN excluded.trouble IS NOT NULL
                                THEN coalesce(l.trouble_since, now()) END"""


class Loop:
    """A duty that is done again and again by the holder of its lock."""

    def __init__(
        self,
        url: str,
        name: str,
        every_seconds: float,
        turn: Turn,
        *,
        before: Before = lambda _: None,
    ) -> None:
        self._url = url
        self._name = name
        self._every = every_seconds
        self._turn = turn
        # Done once, by whoever has just got the lock.
        self._before = before
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        while not self.stop.is_set():
            error = attempt(self._hold_and_turn)
            if error is not None:
                log.warning(
                    "upkeep_loop_failed",
                    loop=self._name,
                    code=error.error_code,
                    technical=error.technical,
                )
            self.stop.wait(_STANDBY_SECONDS)

    def _hold_and_turn(self) -> None:
        with (
            translate_database_errors(),
            connect(
                self._url,
                application=f"upkeep {self._name}",
                autocommit=True,
                options="-c statement_timeout=5000 -c lock_timeout=2000",
            ) as conn,
        ):
            while not self._is_mine(conn):
                if self.stop.wait(_STANDBY_SECONDS):
                    return
            log.info("upkeep_loop_held", loop=self._name)
            self._before(conn)
            holder = f"{socket.gethostname()} {os.getpid()}"
            while True:
                began = time.monotonic()
                trouble = self._turn(conn)
                told = None if trouble is None else trouble.as_json(admin=True)
                values = {"name": self._name, "holder": holder, "trouble": told}
                conn.execute(_TURN, values)
                if self.stop.wait(max(0.0, began + self._every - time.monotonic())):
                    return

    def _is_mine(self, conn: Connection) -> bool:
        # The lock goes with the connection: whoever loses it stands by from then on.
        return bool(fetch_value(conn, _LOCK, {"space": LOCK_SPACE, "name": self._name}))
