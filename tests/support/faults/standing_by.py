"""Two processes of upkeep: one at work, the other standing by."""

import time
from itertools import count
from typing import LiteralString

from tests.support.fixtures.system import System
from tests.support.statements import Values, fetch_value
from tests.support.waiting import until

# The locks of upkeep; the index has none where there is no OpenSearch.
DUTIES = 4
_HELD_BY: LiteralString = """
    SELECT count(DISTINCT l.objid) FROM pg_locks l
      JOIN pg_stat_activity a USING (pid)
     WHERE l.locktype = 'advisory' AND l.granted
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND a.application_name LIKE %(process)s"""
_TURNED_BY: LiteralString = """
    SELECT count(*) FROM upkeep_loop WHERE holder LIKE %(holder)s"""
_LISTED: LiteralString = """
    SELECT count(*) FROM worker_process WHERE pid = %(pid)s"""


class TwoOfUpkeep:
    """Kills the one at work, and puts another behind the one that has taken over."""

    def __init__(self, system: System) -> None:
        """Start both; the first has every duty before the second comes."""
        self._system = system
        self._names = (f"upkeep-{number}" for number in count())
        self._standing: list[str] = []
        self._stand_by()
        self.refill()

    @property
    def at_work(self) -> str:
        """The name of the process that has the duties, or is to take them over."""
        return self._standing[0]

    def kill(self) -> float:
        self._system.kill(self._standing.pop(0))
        return time.time()

    def wait_turned(self) -> float:
        """Return once every duty was done by the one at work; say when that was."""
        holder = {"holder": f"% {self._pid}"}
        self._wait(DUTIES, _TURNED_BY, holder, "a turn of every duty")
        return time.time()

    def refill(self) -> None:
        """Wait until the one at work has every duty, then put another behind it."""
        process = {"process": f"logchord upkeep% {self._pid}"}
        self._wait(DUTIES, _HELD_BY, process, "every duty of upkeep")
        self._stand_by()

    def stop(self) -> None:
        """Ask both to end."""
        while self._standing:
            self._system.stop(self._standing.pop())

    @property
    def _pid(self) -> int:
        return self._system.processes[self.at_work].pid

    def _stand_by(self) -> None:
        name = next(self._names)
        self._standing.append(name)
        self._system.start(name, command="upkeep")
        pid = self._system.processes[name].pid
        self._wait(1, _LISTED, {"pid": pid}, "a standby")

    def _wait(
        self, number: int, statement: LiteralString, values: Values, what: str
    ) -> None:
        def counted() -> bool:
            found = fetch_value(self._system.database, statement, values)
            return bool(found == number)

        until(counted, within_seconds=30, what=what)
