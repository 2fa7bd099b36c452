"""The whole system as processes, driven from outside and killed by their group."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from local import service_user
from local.server import Place, Server, free_port
from local.valkey import EmbeddedValkey
from shared.access.keys import create_key
from tests.fix_servers import Reap, create_database, drop_database, of_database
from tests.waiting import until

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent

COMMANDS = {
    "api": ("serve", "api"),
    "search": ("serve", "worker", "search,search.bulk"),
    "enhance": ("serve", "worker", "enhance.metadata,index"),
    "embed": ("serve", "worker", "enhance.embed"),
    "ingest": ("serve", "worker", "ingest"),
    "chores": ("serve", "worker", "chores"),
    "upkeep": ("serve", "upkeep"),
    "flower": ("serve", "flower"),
}
CORE = ("api", "search", "enhance", "embed", "upkeep")
# `api`, and those of the sample logbook.
SOURCES = ("api", "operations", "maintenance", "beamlines")

FAULTY_WORKER = "tests.faults.faulty_worker"
FAULTS_VARIABLE = "LOGCHORD_TEST_FAULTS"

READY_SECONDS = 60.0


@dataclass
class System:
    """Processes of one stack over given servers; each in a session of its own."""

    environment: dict[str, str]
    logs: Path
    reap: Reap
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where the API listens."""
        return f"http://127.0.0.1:{self.environment['LOGCHORD_PORT']}"

    @property
    def database(self) -> str:
        """The address of this system's database."""
        return self.environment["DATABASE_URL"]

    def start(
        self,
        *names: str,
        command: str | None = None,
        faulty: Mapping[str, Any] | None = None,
        code: Path | None = None,
        **extra: str,
    ) -> None:
        """Start processes by the name of the Procfile; further variables may follow.

        With `faulty` they are workers in test context (`faults/faulty_worker.py`);
        `code` is the folder of another release.
        """
        extra |= _path_of(code)
        for name in names:
            words = COMMANDS[command or name]
            argv = _command(code, *words)
            if faulty is not None:
                argv = [sys.executable, "-m", FAULTY_WORKER, words[-1]]
                extra[FAULTS_VARIABLE] = json.dumps(faulty)
            log = (self.logs / f"{name}.log").open("ab")
            process = subprocess.Popen(
                argv,
                env={**self.environment, **extra},
                cwd=self.logs,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            log.close()
            self.processes[name] = process
            self.reap(process.pid)

    def run(self, *words: str, code: Path | None = None) -> str:
        """Run a command of this release, or another, and return what it printed."""
        return subprocess.run(
            _command(code, *words),
            env={**self.environment, **_path_of(code)},
            cwd=self.logs,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        ).stdout

    def has_ended(self, name: str) -> bool:
        """Tell whether a process has ended by itself; it can be started again."""
        return self.processes[name].poll() is not None

    def kill(self, name: str) -> None:
        """Kill a process and all of its children at once, without a word."""
        process = self.processes.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)

    @contextmanager
    def frozen(self, *names: str) -> Iterator[None]:
        """Hold processes and all of their children still for a while."""
        groups = [self.processes[name].pid for name in names]
        for group in groups:
            os.killpg(group, signal.SIGSTOP)
        try:
            yield
        finally:
            for group in groups:
                with suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGCONT)

    def stop(self, name: str, *, within_seconds: float = 30) -> int:
        """Ask a process to end, wait for it, and return its exit status."""
        process = self.processes.pop(name)
        process.terminate()
        try:
            return process.wait(timeout=within_seconds)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def stop_all(self) -> None:
        """Ask every process to end at once, then see that none is left."""
        for process in self.processes.values():
            process.terminate()
        for name, process in list(self.processes.items()):
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.kill(name)
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self.processes.clear()

    def wait_ready(self, *kinds: str) -> None:
        """Return once the API answers and a worker of each kind has said so."""
        if "api" in self.processes:
            until(self._api_ready, within_seconds=READY_SECONDS, what="the API")
        for kind in kinds:
            until(
                lambda kind=kind: self._alive(kind),
                within_seconds=READY_SECONDS,
                what=f"worker {kind}\n{self.tail(kind)}",
            )

    def tail(self, name: str, lines: int = 20) -> str:
        """Return the end of a process's log."""
        path = self.logs / f"{name}.log"
        text = path.read_text(errors="replace") if path.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def key(self, *, tenant: str = "default", scopes: tuple[str, ...] = ()) -> str:
        """Create a key and return its token."""
        with psycopg.connect(self.database) as conn:
            made = create_key(
                conn,
                tenant=tenant,
                name=f"test {secrets.token_hex(3)}",
                subject="tester",
                scopes=scopes or ("read", "search", "ingest"),
                rate_per_minute=0,
            )
        return made.token

    def client(self, key: str | None = None, **options: Any) -> httpx.Client:
        """Return an HTTP client of the API, with a key unless it is empty."""
        token = self.key() if key is None else key
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        options.setdefault("timeout", 40)
        return httpx.Client(base_url=self.url, headers=headers, **options)

    def _api_ready(self) -> bool:
        process = self.processes["api"]
        if process.poll() is not None:
            message = f"the API ended with {process.returncode}:\n{self.tail('api')}"
            raise AssertionError(message)
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/health/live", timeout=2).status_code == 200
        return False

    def _alive(self, kind: str) -> bool:
        with psycopg.connect(self.database) as conn:
            row = conn.execute(
                "SELECT count(*) FROM worker_process WHERE kind = %s"
                " AND seen_at > now() - interval '15 s'",
                (kind,),
            ).fetchone()
        return bool(row and row[0])


@dataclass
class Factory:
    """Makes systems with a database and a broker each, and takes them away."""

    place: Place
    postgres: Server
    template: str
    reap: Reap
    folders: pytest.TempPathFactory
    endings: ExitStack = field(default_factory=ExitStack)

    def __call__(
        self, *, opensearch: str = "off", database: str | None = None, **extra: str
    ) -> System:
        """Return a system whose processes are still to be started."""
        folder = self.folders.mktemp("system")
        environment = {
            **_bare_environment(),
            "DATABASE_URL": database or self._database(),
            "OPENSEARCH_URL": opensearch,
            "OPENSEARCH_INDEX": f"t{secrets.token_hex(5)}",
            "LOGCHORD_HOME": str(folder),
            "LOGCHORD_CACHE": str(self.place.cache),
            "LOGCHORD_PORT": str(free_port()),
            "FLOWER_PORT": str(free_port()),
            "LOGCHORD_SOURCES": json.dumps({name: {} for name in SOURCES}),
            **extra,
        }
        # One of its own: the workers of two systems would take each other's messages.
        if "BROKER_URL" not in environment:
            environment["BROKER_URL"] = self._broker()
        system = System(environment, folder, self.reap)
        self.endings.callback(system.stop_all)
        return system

    def _database(self) -> str:
        name = f"system_{secrets.token_hex(6)}"
        create_database(self.postgres.url, name, self.template)
        self.endings.callback(drop_database, self.postgres.url, name)
        return of_database(self.postgres.url, name)

    def _broker(self) -> str:
        home = Path(tempfile.mkdtemp(prefix="logchord-test-"))
        self.reap(home)
        own = Place(home=home, cache=self.place.cache)
        server = EmbeddedValkey(own, free_port(), secrets.token_urlsafe(16))
        self.endings.callback(shutil.rmtree, home, ignore_errors=True)
        self.endings.callback(service_user.discard_home, home)
        self.endings.callback(server.stop)
        server.start()
        assert server.pid is not None
        self.reap(server.pid)
        server.wait_ready(30)
        return server.url


def _command(code: Path | None, *words: str) -> list[str]:
    if code is None:
        return [str(BIN / "logchord"), *words]
    return [sys.executable, "-m", "api.cli.main", *words]


def _path_of(code: Path | None) -> dict[str, str]:
    """Return what has Python find this code before what is installed."""
    return {} if code is None else {"PYTHONPATH": str(code)}


@pytest.fixture(scope="session")
def make_lasting_system(
    place: Place,
    postgres: Server,
    template: str,
    reap: Reap,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Factory]:
    """Make systems that many tests share; they are stopped at the end of the run."""
    factory = Factory(place, postgres, template, reap, tmp_path_factory)
    with factory.endings:
        yield factory


@pytest.fixture
def make_system(make_lasting_system: Factory) -> Iterator[Factory]:
    """Make systems for one test; they are stopped when it ends."""
    factory = replace(make_lasting_system, endings=ExitStack())
    with factory.endings:
        yield factory


def _bare_environment() -> Mapping[str, str]:
    return {
        "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "C_FORCE_ROOT": "1",
    }


@pytest.fixture(scope="session")
def running(make_lasting_system: Factory, opensearch: Server) -> System:
    """One whole running system, shared: each test brings a tenant of its own."""
    system = make_lasting_system(
        opensearch=opensearch.url, LOGCHORD_FAULT_INJECTION="true"
    )
    system.start(*CORE)
    system.wait_ready("search", "enhance", "embed", "upkeep")
    return system


@pytest.fixture
def tenant() -> str:
    """A facility that no other test writes to."""
    return f"t{secrets.token_hex(4)}"


@pytest.fixture
def client(running: System, tenant: str) -> Iterator[httpx.Client]:
    """A caller of that facility who may read, search and write."""
    with running.client(running.key(tenant=tenant)) as client:
        yield client


@pytest.fixture
def admin(running: System, tenant: str) -> Iterator[httpx.Client]:
    """A caller of that facility who may do everything."""
    with running.client(running.key(tenant=tenant, scopes=("admin",))) as client:
        yield client
