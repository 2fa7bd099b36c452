"""Faults of a running system by name, so that a seed can draw and replay them.

Each function does its harm, waits as long as it lasts, and takes it back again; it is
given a source of chance of its own, so that what one fault meets changes no later one.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import LiteralString

import psutil
import psycopg
import redis

from local.postgres import EmbeddedPostgres
from local.valkey import EmbeddedValkey
from tests.support.faults.measures.queues import NAMES, Queues
from tests.support.fixtures.fault_proxy import Proxy
from tests.support.fixtures.own_servers import start_again
from tests.support.fixtures.system import System

_TERMINATE: LiteralString = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
     WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"""

# A lease is 15 s: whoever is frozen longer has lost what it held.
_FROZEN_SECONDS = 17.0
_BROKER_FROZEN_SECONDS = 8.0
_BROKER_AWAY_SECONDS = 1.0
_PENDING_POP_SECONDS = 0.5
_HALF_OPEN_SECONDS = 3.0
_POSTGRES_AWAY_SECONDS = 3.0
_TERMINATE_SECONDS, _TERMINATE_EVERY_SECONDS = 3.0, 0.2
_SLOW_POSTGRES_SECONDS, _POSTGRES_DELAY_SECONDS = 5.0, 0.25
_OPENSEARCH_SECONDS, _OPENSEARCH_DELAY_SECONDS = 10.0, 5.0
_API_AWAY_SECONDS = 1.0
_QUEUING_SECONDS, _DELIVERIES = 2.0, 3
# The kinds of worker that have children.
_PREFORK = ("enhance", "chores", "ingest")


class Fault(Enum):
    """What may go wrong."""

    WORKER_KILL = auto()
    CHILD_KILL = auto()
    WORKER_FREEZE = auto()
    BROKER_CUT = auto()
    BROKER_SILENT = auto()
    BROKER_HALF_OPEN = auto()
    BROKER_FLUSH = auto()
    BROKER_RESTART = auto()
    BROKER_FREEZE = auto()
    PG_CRASH = auto()
    PG_CUT = auto()
    PG_TERMINATE = auto()
    PG_SLOW = auto()
    OPENSEARCH_DOWN = auto()
    OPENSEARCH_SLOW = auto()
    UPKEEP_KILL = auto()
    UPKEEP_KILL_AND_FLUSH = auto()
    DUPLICATE_MESSAGES = auto()
    API_KILL = auto()

    @property
    def hits_postgres(self) -> bool:
        """Whether posts and searches may fail meanwhile: the truth is not there."""
        return self.name.startswith("PG_")

    @property
    def hits_api(self) -> bool:
        """Whether nobody may answer meanwhile."""
        return self is Fault.API_KILL


@dataclass
class Site:
    """A running system, the servers behind it, and a proxy before each of them."""

    system: System
    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    broker: Proxy
    database: Proxy
    opensearch: Proxy
    # Names of the processes that are workers, and of those that are upkeep.
    workers: tuple[str, ...]
    upkeeps: tuple[str, ...]

    def carry_out(self, fault: Fault, chance: random.Random) -> str:
        """Do the fault, take it back, and return what it was done to."""
        return _DOES[fault](self, chance) or ""

    def heal(self) -> None:
        """Take back what may be left of a fault, and start whoever is not there."""
        for proxy in (self.broker, self.database, self.opensearch):
            proxy.reset()
        for server in (self.postgres, self.valkey):
            if server.pid is None:
                start_again(server, self.system.reap)
        self.start_ended()

    def start_ended(self) -> list[str]:
        """Start again whoever has ended, as the runner of a stack does."""
        ended = [name for name in self.system.processes if self.system.has_ended(name)]
        for name in ended:
            self.start(name)
        return ended

    def start(self, name: str) -> None:
        """Start one process; its name may be numbered."""
        self.system.start(name, command=name.rstrip("0123456789").rstrip("-"))

    def restart(self, name: str) -> None:
        """Kill a process with its children, and start it as its runner would."""
        self.system.kill(name)
        self.start(name)


def _worker_kill(site: Site, chance: random.Random) -> str:
    name = chance.choice(site.workers)
    site.restart(name)
    return name


def _child_kill(site: Site, chance: random.Random) -> str:
    name = chance.choice([w for w in site.workers if w.startswith(_PREFORK)])
    with suppress(psutil.NoSuchProcess, IndexError):
        children = psutil.Process(site.system.processes[name].pid).children()
        chance.choice(children).kill()
    return name


def _worker_freeze(site: Site, chance: random.Random) -> str:
    name = chance.choice(site.workers)
    with site.system.frozen(name):
        _last(_FROZEN_SECONDS)
    return name


def _broker_cut(site: Site, chance: random.Random) -> str:
    times = chance.randint(1, 5)
    for _ in range(times):
        site.broker.cut()
        _last(chance.uniform(0.1, 1.0))
    return f"{times} times"


def _broker_silent(site: Site, _: random.Random) -> None:
    site.broker.drop_s2c(on=True)
    _last(_PENDING_POP_SECONDS)
    site.broker.cut(mended=True)


def _broker_half_open(site: Site, _: random.Random) -> None:
    site.broker.drop_s2c(on=True)
    _last(_HALF_OPEN_SECONDS)
    site.broker.drop_s2c(on=False)


def _broker_flush(site: Site, _: random.Random) -> None:
    with redis.Redis.from_url(site.valkey.url) as client:
        client.flushall()


def _broker_restart(site: Site, _: random.Random) -> None:
    site.valkey.stop(crash=True)
    _last(_BROKER_AWAY_SECONDS)
    start_again(site.valkey, site.system.reap)


def _broker_freeze(site: Site, _: random.Random) -> None:
    pid = site.valkey.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        _last(_BROKER_FROZEN_SECONDS)
    finally:
        os.kill(pid, signal.SIGCONT)


def _pg_crash(site: Site, _: random.Random) -> None:
    site.postgres.stop(crash=True)
    _last(_POSTGRES_AWAY_SECONDS)
    start_again(site.postgres, site.system.reap)


def _pg_cut(site: Site, _: random.Random) -> None:
    site.database.cut()


def _pg_terminate(site: Site, _: random.Random) -> str:
    ended = 0
    until = time.monotonic() + _TERMINATE_SECONDS
    with psycopg.connect(site.postgres.url, autocommit=True) as conn:
        while time.monotonic() < until:
            row = conn.execute(_TERMINATE).fetchone()
            ended += int(row[0]) if row else 0
            _last(_TERMINATE_EVERY_SECONDS)
    return f"{ended} connections"


def _pg_slow(site: Site, _: random.Random) -> None:
    site.database.hold_back(_POSTGRES_DELAY_SECONDS)
    _last(_SLOW_POSTGRES_SECONDS)
    site.database.hold_back(0)


def _opensearch_down(site: Site, _: random.Random) -> None:
    site.opensearch.refuse(on=True)
    site.opensearch.cut()
    _last(_OPENSEARCH_SECONDS)
    site.opensearch.refuse(on=False)


def _opensearch_slow(site: Site, _: random.Random) -> None:
    site.opensearch.hold_back(_OPENSEARCH_DELAY_SECONDS)
    _last(_OPENSEARCH_SECONDS)
    site.opensearch.hold_back(0)


def _upkeep_kill(site: Site, chance: random.Random) -> str:
    name = chance.choice(site.upkeeps)
    site.restart(name)
    return name


def _upkeep_kill_and_flush(site: Site, chance: random.Random) -> None:
    for name in site.upkeeps:
        site.system.kill(name)
    _broker_flush(site, chance)
    for name in site.upkeeps:
        site.start(name)


def _duplicate_messages(site: Site, chance: random.Random) -> str:
    copies = 0
    queues = Queues(site.system)
    # A message lies there for a moment only, unless nobody takes it.
    with site.system.frozen(*site.workers):
        _last(_QUEUING_SECONDS)
        for name in NAMES:
            found = queues.raw(name) * (_DELIVERIES - 1)
            chance.shuffle(found)
            queues.put(name, found)
            copies += len(found)
    queues.close()
    return f"{copies} copies"


def _api_kill(site: Site, _: random.Random) -> None:
    site.system.kill("api")
    _last(_API_AWAY_SECONDS)
    site.start("api")
    # How long it takes to start is the fault's length, and says nothing else.
    site.system.wait_ready()


_DOES: dict[Fault, Callable[[Site, random.Random], str | None]] = {
    Fault.WORKER_KILL: _worker_kill,
    Fault.CHILD_KILL: _child_kill,
    Fault.WORKER_FREEZE: _worker_freeze,
    Fault.BROKER_CUT: _broker_cut,
    Fault.BROKER_SILENT: _broker_silent,
    Fault.BROKER_HALF_OPEN: _broker_half_open,
    Fault.BROKER_FLUSH: _broker_flush,
    Fault.BROKER_RESTART: _broker_restart,
    Fault.BROKER_FREEZE: _broker_freeze,
    Fault.PG_CRASH: _pg_crash,
    Fault.PG_CUT: _pg_cut,
    Fault.PG_TERMINATE: _pg_terminate,
    Fault.PG_SLOW: _pg_slow,
    Fault.OPENSEARCH_DOWN: _opensearch_down,
    Fault.OPENSEARCH_SLOW: _opensearch_slow,
    Fault.UPKEEP_KILL: _upkeep_kill,
    Fault.UPKEEP_KILL_AND_FLUSH: _upkeep_kill_and_flush,
    Fault.DUPLICATE_MESSAGES: _duplicate_messages,
    Fault.API_KILL: _api_kill,
}


def _last(seconds: float) -> None:
    """Let a fault last: the time is the fault itself, nothing is waited for."""
    threading.Event().wait(seconds)
