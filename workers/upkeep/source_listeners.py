"""Sources that speak up by themselves: what they say makes their tail due, no more."""

from __future__ import annotations

import threading
import time

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.adapter_contract.push import Listens
from shared.http.pace import add_jitter
from shared.log import get_logger
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter, run_records, source_state
from shared.sources.adapter_io import make_io
from shared.work import schedule
from workers.runtime.task import attempt

log = get_logger()

LOOK_SECONDS = 5.0
# After a socket was lost; longer each time, for a server that has none gets none.
FIRST_WAIT_SECONDS, MOST_WAIT_SECONDS = 2.0, 300.0


class Listener:
    """One source, listened to by a thread of its own until it is stopped.

    One that is not set to speak up ends it at once. One that cannot be opened may be
    mended without a word to us, by a file that is put back: it is tried again.
    """

    def __init__(self, name: str, source: SourceSettings, most_bytes: int) -> None:
        self.source = source
        self.heard = threading.Event()
        self._name = name
        self._most = most_bytes
        self._stop = threading.Event()
        self._wait = FIRST_WAIT_SECONDS
        thread = threading.Thread(target=self._run, name=f"hears {name}", daemon=True)
        thread.start()

    def stop(self) -> None:
        """Hang up, within a second."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            error = attempt(self._listen)
            if error is not None and not self._stop.is_set():
                # What it would have said is found by the next poll.
                told = {"code": error.error_code, "technical": error.technical}
                log.info("source_not_heard", source=self._name, **told)
            self._stop.wait(add_jitter(self._wait, self._wait))
            self._wait = min(2 * self._wait, MOST_WAIT_SECONDS)

    def _listen(self) -> None:
        with make_io(self._name, self.source, cancelled=self._stop.is_set) as io:
            opened = load_adapter.open_source(
                self._name, self.source, io, max_entry_bytes=self._most
            )
            if opened.capabilities.push != "websocket":
                self._stop.set()
                return
            adapter = opened.adapter
            assert isinstance(adapter, Listens), "what is pushed to us says how"
            for _ in adapter.listen():
                self._wait = FIRST_WAIT_SECONDS
                self.heard.set()


class Listeners:
    """Listeners for all sources that announce their news."""

    def __init__(self, settings: Settings) -> None:
        self._most = settings.max_entry_bytes
        self._known: dict[str, str] = {}
        self._of: dict[str, Listener] = {}
        self._look_at = 0.0

    def turn(self, conn: Connection[TupleRow]) -> None:
        """Listen to the configured sources, and make due those with news."""
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_SECONDS
            self._look(conn)
        for name, one in sorted(self._of.items()):
            if self.heard(name) and _make_due(conn, name, one.source):
                one.heard.clear()

    def heard(self, name: str) -> bool:
        """Tell whether a source has spoken since its tail was last made due."""
        return name in self._of and self._of[name].heard.is_set()

    def stop(self) -> None:
        """Hang up everywhere."""
        for one in self._of.values():
            one.stop()
        self._known, self._of = {}, {}

    def _look(self, conn: Connection[TupleRow]) -> None:
        """Begin and end listening as the configuration has it by now."""
        awake = source_state.awake(conn)
        for name in self._of.keys() | self._known.keys():
            if awake.get(name, ("", ""))[1] != self._known.get(name):
                self._known.pop(name, None)
                ended = self._of.pop(name, None)
                if ended is not None:
                    ended.stop()
        for name in sorted(awake.keys() - self._known.keys()):
            tenant, self._known[name] = awake[name]
            standing = source_state.load_source_state(conn, tenant, name)
            if standing is not None:
                self._of[name] = Listener(name, standing.settings, self._most)


def _make_due(conn: Connection[TupleRow], name: str, source: SourceSettings) -> bool:
    """Make its tail due, or say that this has to wait for the run that is under way."""
    tail = schedule.load_standings(conn, name).get(run_records.TAIL)
    if tail is None or tail.next_run_at is None or tail.failures:
        # Its history comes first; and one that fails is left alone.
        return True
    if tail.is_running:
        return False
    every = source.poll_interval_seconds
    schedule.bring_forward(conn, name, run_records.TAIL, every_seconds=every)
    return True
