"""One stack: the servers that the environment does not provide, and the Procfile."""

import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any, Protocol

from local import fetch, processes, runner_state, secrets, service_user
from local.opensearch import EmbeddedOpenSearch
from local.place import PortTakenError, ServerError, StackFolders, read_notes
from local.ports import Ports
from local.postgres import EmbeddedPostgres
from local.procfile import Command
from local.runner import Echo, Runner
from local.server import Server
from local.valkey import EmbeddedValkey

OFF = "off"
_SERVERS = frozenset({"postgres", "valkey", "opensearch"})
_SERVER_SECONDS, _OPENSEARCH_SECONDS = 60.0, 180.0
_CHECK_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 30.0


class Watch(Protocol):
    """Shows how the start of a stack goes."""

    def say(self, text: str) -> None:
        """Take a sentence."""

    def begin(self, step: str) -> None:
        """Take that a step has begun."""

    def advance(self, step: str, done: int, total: int | None) -> None:
        """Take how far a step is."""

    def end(self, step: str) -> None:
        """Take that a step has ended."""


@dataclass(frozen=True)
class Given:
    """Servers that somebody else runs, and the file of ours to start."""

    database_url: str | None = None
    broker_url: str | None = None
    opensearch_url: str | None = None
    opensearch_zip: Path | None = None


@dataclass(frozen=True)
class Addresses:
    """The addresses of this stack's servers."""

    database_url: str
    broker_url: str
    opensearch_url: str


class AlreadyRunningError(ServerError):
    """Another process runs a stack in this home."""


class Stack:
    """Everything that runs below one home, from the lock to the last server."""

    def __init__(self, place: StackFolders, watch: Watch) -> None:
        self._place, self._watch = place, watch
        self._ports = Ports(place.home / "ports.json")
        self._servers: dict[str, Server] = {}
        self._lock: IO[str] | None = None
        self._closing = threading.Event()
        self._starters = ThreadPoolExecutor(2)
        self._supervisor: threading.Thread | None = None
        self._runner: Runner | None = None

    @property
    def servers(self) -> Mapping[str, Server]:
        """The servers that this stack runs itself."""
        return dict(self._servers)

    @property
    def is_running(self) -> bool:
        """Tell whether every process of the Procfile is alive."""
        return self._runner is not None and self._runner.alive()

    def open(self) -> None:
        """Take this home for us alone, and clear up after a stack that was killed."""
        signal.signal(signal.SIGTERM, _interrupt)
        signal.signal(signal.SIGHUP, _interrupt)
        try:
            self._place.make()
            self._lock = (self._place.run / "up.lock").open("a+")
        except OSError as error:
            raise ServerError(
                f"{self._place.home} cannot hold a stack: {error.strerror}. Set "
                "LOGCHORD_HOME to a folder that may be written."
            ) from error
        _take(self._lock, self._place.home)
        for stale in ("stack.json", "startup.json"):
            (self._place.run / stale).unlink(missing_ok=True)
        runner_state.reclaim(self._place.run / "runner.json", self._watch.say)

    def start_servers(self, given: Given) -> Addresses:
        """Start the servers that are not given; Postgres and Valkey are then ready.

        OpenSearch may take ten seconds more: see `wait_for_search_engine`.
        """
        service_user.ensure_service_user(self._watch.say)
        keys = secrets.of_home(self._place.home)
        place = self._place

        def postgres(port: int) -> Server:
            return EmbeddedPostgres(place, port, keys.postgres)

        def valkey(port: int) -> Server:
            return EmbeddedValkey(place, port, keys.valkey)

        # In threads, while this one fetches.
        starters = self._starters
        with processes.uninterrupted():
            first = starters.submit(
                self._ready, "postgres", given.database_url, postgres
            )
            second = starters.submit(self._ready, "valkey", given.broker_url, valkey)
        engine_url = given.opensearch_url or self._start_opensearch(given)
        addresses = Addresses(first.result(), second.result(), engine_url)
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)
        self._supervisor.start()
        return addresses

    def wait_for_search_engine(self) -> None:
        """Return once OpenSearch answers, if it is ours."""
        server = self._servers.get("opensearch")
        if server is not None:
            with self._step("Starting OpenSearch"):
                server.wait_ready(_OPENSEARCH_SECONDS)

    def publish(self, name: str, values: Mapping[str, object]) -> None:
        """Write a file of the run folder, for commands typed by hand."""
        secrets.write_private(self._place.run / name, json.dumps(values, indent=1))

    def run(
        self, commands: Iterable[Command], environ: Mapping[str, str], echo: Echo
    ) -> None:
        """Run the Procfile until Ctrl-C or SIGTERM; from the main thread alone."""
        logs, state = self._place.logs, self._place.run / "runner.json"
        runner = Runner(commands, logs=logs, state=state, echo=echo)
        self._runner = runner
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: runner.end())
        runner.run(environ)

    def close(self) -> None:
        """Stop everything that was started, children first; never half way."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._closing.set()
        # A server that is just being started would outlive us: these are bounded.
        self._starters.shutdown(cancel_futures=True)
        if self._runner is not None:
            with self._step("Stopping the processes"):
                self._runner.stop()
        if self._supervisor is not None:
            self._supervisor.join(_SERVER_SECONDS)
        if self._servers:
            with self._step("Stopping the servers"), ThreadPoolExecutor(3) as pool:
                ends = [pool.submit(each.stop) for each in self._servers.values()]
            for end in ends:
                end.result()
        (self._place.run / "stack.json").unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()

    def _ready(
        self, name: str, given: str | None, make: Callable[[int], Server]
    ) -> str:
        if given:
            return given
        with self._step(f"Starting {name.capitalize()}"):
            server = self._launch(name, make)
            server.wait_ready(_SERVER_SECONDS)
        return server.url

    def _start_opensearch(self, given: Given) -> str:
        step = "Fetching OpenSearch"

        def progress(done: int, total: int | None) -> None:
            self._watch.advance(step, done, total)

        with self._step(step):
            fetch.fetch_opensearch(self._place.cache, progress, given.opensearch_zip)
        place = self._place
        with processes.uninterrupted():
            return self._launch(
                "opensearch", lambda port: EmbeddedOpenSearch(place, port)
            ).url

    def _launch(self, name: str, make: Callable[[int], Server]) -> Server:
        """Start a server on the port it has always had, or on a new one if need be."""
        server = self._servers[name] = make(self._ports.kept(name))
        try:
            server.start()
        except PortTakenError:
            server = self._servers[name] = make(self._ports.replace(name))
            server.start()
        return server

    def _supervise(self) -> None:
        """Start a server again that has died, less and less often."""
        pauses = dict.fromkeys(self._servers, _CHECK_SECONDS)
        retry_at = dict.fromkeys(self._servers, 0.0)
        while not self._closing.wait(_CHECK_SECONDS):
            for name, server in self._servers.items():
                if server.pid is not None or time.monotonic() < retry_at[name]:
                    continue
                self._watch.say(f"{name} has ended; it is started again.")
                retry_at[name] = time.monotonic() + pauses[name]
                pauses[name] = min(pauses[name] * 2, _LONGEST_PAUSE_SECONDS)
                try:
                    server.start()
                except ServerError as error:
                    self._watch.say(str(error))

    @contextmanager
    def _step(self, title: str) -> Iterator[None]:
        self._watch.begin(title)
        try:
            yield
        finally:
            self._watch.end(title)


def read_startup(home: Path) -> dict[str, Any] | None:
    """Return how long the start took, once it was complete."""
    return read_notes(home / "run" / "startup.json") or None


def server_pids(home: Path) -> dict[str, int]:
    """Return the embedded servers of a home by name, as their pid files say."""
    found = {}
    for path in sorted((home / "run").glob("*.json")):
        pid = read_notes(path).get("pid")
        if path.stem in _SERVERS and pid is not None:
            found[path.stem] = int(pid)
    return found


def stop_leftovers(place: StackFolders, say: Callable[[str], None]) -> bool:
    """End what a killed stack left in this home; tell whether there was anything."""
    runner_state.reclaim(place.run / "runner.json", say)
    (place.run / "stack.json").unlink(missing_ok=True)
    if not (place.run / "secrets.json").exists():
        return False
    keys, ports = secrets.of_home(place.home), Ports(place.home / "ports.json")
    servers: list[Server] = [
        EmbeddedPostgres(place, ports.kept("postgres"), keys.postgres),
        EmbeddedValkey(place, ports.kept("valkey"), keys.valkey),
        EmbeddedOpenSearch(place, ports.kept("opensearch")),
    ]
    left = [server for server in servers if server.pid is not None]
    for server in left:
        say(f"Stopping {server.name} (process {server.pid}) ...")
        server.stop()
    return bool(left)


def running_pid(home: Path) -> int | None:
    """Return the process that runs a stack in this home, if one does."""
    try:
        with (home / "run" / "up.lock").open("r") as lock:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            text = lock.read().strip()
    except FileNotFoundError:
        return None
    return int(text) if text.isdigit() else None


def _take(lock: IO[str], home: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        pid = lock.read().strip() or "unknown"
        raise AlreadyRunningError(
            f"A stack runs in {home} already (process {pid}). `logchord status` shows "
            "it, `logchord down` stops it; a second one needs a LOGCHORD_HOME of its "
            "own, `--port` and FLOWER_PORT."
        ) from error
    lock.seek(0)
    lock.truncate()
    lock.write(str(os.getpid()))
    lock.flush()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End the start as Ctrl-C does."""
    del number, frame
    raise KeyboardInterrupt
