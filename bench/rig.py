"""A stack of the bench's own: real servers, and the processes that a bench needs."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg

from local import service_user
from local.opensearch import EmbeddedOpenSearch
from local.postgres import EmbeddedPostgres
from local.server import EmbeddedServer, StackFolders, free_port
from local.valkey import EmbeddedValkey
from shared import migrations
from shared.access.keys import create_key
from shared.settings.settings import Settings

READY_SECONDS = 60.0
_INDEX_READY_SECONDS = 150.0
_POLL_SECONDS = 0.1
_BIN = Path(sys.executable).parent
# Far above what a bench asks for: the limiter counts, and never refuses.
_RATE_PER_MINUTE = 10_000_000


@dataclass
class Rig:
    """One stack: its settings, its processes, and a key for it."""

    settings: Settings
    url: str
    key: str
    processes: dict[str, psutil.Process]

    def cpu_seconds(self) -> dict[str, float]:
        """Return the processor time of each part of the stack so far."""
        return {name: cpu_seconds(one) for name, one in self.processes.items()}


@contextmanager
def rig(commands: Sequence[Sequence[str]], **extra: str) -> Iterator[Rig]:
    """Bring a stack up, give it away, and take it down again."""
    with servers(**extra) as ground, serving(commands, ground) as made:
        yield made


@contextmanager
def serving(commands: Sequence[Sequence[str]], ground: Ground) -> Iterator[Rig]:
    """Run the processes of a stack beside its servers, and make a key for it."""
    with ExitStack() as ends:
        children = [ends.enter_context(running(c, ground)) for c in commands]
        settings = Settings.load(ground.environment)
        url = f"http://{settings.host}:{settings.port}"
        processes = dict(ground.processes)
        for command, child in zip(commands, children, strict=True):
            # A worker by its queues, of which there may be several.
            same = sum(name.split("-")[0] == command[-1] for name in processes)
            processes[f"{command[-1]}-{same + 1}" if same else command[-1]] = child
        made = Rig(settings, url, _key(ground.url), processes)
        _wait_ready(made, ground.url, len(commands) - 1)
        yield made


@dataclass
class Ground:
    """Servers with the schema in place, and what a process needs to find them."""

    home: Path
    url: str
    environment: dict[str, str]
    processes: dict[str, psutil.Process]


@contextmanager
def servers(**extra: str) -> Iterator[Ground]:
    """Start Postgres and Valkey in a folder of their own, and stop them again."""
    with ExitStack() as ends:
        home = Path(tempfile.mkdtemp(prefix="logchord-bench-"))
        ends.callback(shutil.rmtree, home, ignore_errors=True)
        ends.callback(service_user.discard_home, home)
        place = StackFolders(home=home, cache=Settings.load({}).cache)
        postgres = EmbeddedPostgres(place, free_port(), secrets.token_urlsafe(12))
        valkey = EmbeddedValkey(place, free_port(), secrets.token_urlsafe(12))
        started: list[EmbeddedServer] = [postgres, valkey]
        for server in started:
            server.start()
            ends.callback(server.stop)
        for server in started:
            server.wait_ready(READY_SECONDS)
        migrations.migrate(postgres.url)
        environment = _environment(place, postgres.url, valkey.url) | extra
        pids = {server.name: server.pid for server in started}
        processes = {n: psutil.Process(pid) for n, pid in pids.items() if pid}
        yield Ground(home, postgres.url, environment, processes)


@contextmanager
def with_opensearch(ground: Ground) -> Iterator[str]:
    """Start OpenSearch beside the other servers, and tell later processes of it."""
    cache = Settings.load(ground.environment).cache
    server = EmbeddedOpenSearch(
        StackFolders(home=ground.home, cache=cache), free_port()
    )
    server.start()
    try:
        server.wait_ready(_INDEX_READY_SECONDS)
        ground.environment["OPENSEARCH_URL"] = server.url
        if server.pid:
            ground.processes[server.name] = psutil.Process(server.pid)
        yield server.url
    finally:
        server.stop()


def cpu_seconds(one: psutil.Process) -> float:
    """Return the processor time of a process and its children so far."""
    total = 0.0
    for process in [one, *one.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            # A server's connection that has ended since it was listed.
            continue
        total += times.user + times.system
    return total


def _environment(place: StackFolders, database: str, broker: str) -> dict[str, str]:
    return {
        "PATH": f"{_BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "C_FORCE_ROOT": "1",
        "LOGCHORD_HOME": str(place.home),
        "LOGCHORD_CACHE": str(place.cache),
        "DATABASE_URL": database,
        "BROKER_URL": broker,
        "LOGCHORD_PORT": str(free_port()),
    }


@contextmanager
def running(
    command: Sequence[str], ground: Ground, program: Sequence[str] = ()
) -> Iterator[psutil.Process]:
    """Run a command of `logchord`, or of another program, beside the servers."""
    with (ground.home / f"{'-'.join(command)}.log").open("wb") as log:
        child = psutil.Popen(
            [*(program or [str(_BIN / "logchord")]), *command],
            env=ground.environment,
            cwd=ground.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(timeout=20)
        except psutil.TimeoutExpired:
            child.kill()
            child.wait()


def _key(database: str) -> str:
    with psycopg.connect(database) as conn:
        made = create_key(
            conn,
            tenant="default",
            name="bench",
            subject="bench",
            scopes=["admin"],
            rate_per_minute=_RATE_PER_MINUTE,
        )
    return made.token


def _wait_ready(made: Rig, database: str, workers: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not (_answers(made.url) and _workers(database) >= workers):
        if time.monotonic() > deadline:
            message = "The bench's stack did not come up."
            raise TimeoutError(message)
        time.sleep(_POLL_SECONDS)


def _answers(url: str) -> bool:
    try:
        return (
            httpx2.get(f"{url}/health/live", timeout=1).status_code == httpx2.codes.OK
        )
    except httpx2.TransportError:
        return False


def _workers(database: str) -> int:
    with psycopg.connect(database) as conn:
        row: Any = conn.execute("SELECT count(*) FROM worker_process").fetchone()
    return int(row[0])
