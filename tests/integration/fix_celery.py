"""pytest-celery without containers: our own workers and a broker as local processes."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from pytest_celery import (
    CeleryBrokerCluster,
    CeleryTestWorker,
    CeleryWorkerCluster,
    CeleryWorkerContainer,
    RedisContainer,
    RedisTestBroker,
)

from local import valkey as embedded
from local.server import HOST, free_port
from shared.messaging.broker import make_app
from shared.settings.settings import Settings
from tests.fix_servers import Reap
from tests.fix_workers import close_pools
from tests.waiting import until


class LocalProcess:
    """What pytest-celery asks of a container, answered by a process of this machine."""

    def __init__(
        self, command: list[str], folder: Path, reap: Reap, port: int | None = None
    ) -> None:
        self.id = secrets.token_hex(16)
        self.name = Path(command[0]).name
        self._command, self._folder, self._reap = command, folder, reap
        self._log = folder / f"{self.id}.log"
        ports = {} if port is None else {f"{port}/tcp": [{"HostPort": str(port)}]}
        self.attrs: dict[str, Any] = {
            "Config": {"Hostname": HOST if port is None else f"{HOST}:{port}"},
            "HostConfig": {"PortBindings": ports},
            "NetworkSettings": {
                "Networks": {"loopback": {"IPAddress": HOST}},
                "Ports": ports,
            },
        }
        self.environment: Mapping[str, str] = os.environ
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def status(self) -> str:
        """Whether it runs."""
        alive = self._process is not None and self._process.poll() is None
        return "running" if alive else "exited"

    def start(self) -> None:
        """Start it, with a log of its own for each start."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._reap(self._process.pid)

    def kill(self, number: str | int | None = None) -> None:
        """Signal it; the one that cannot be caught goes to all of its children too."""
        assert self._process is not None
        name = signal.SIGKILL if number is None else number
        chosen = signal.Signals[name] if isinstance(name, str) else signal.Signals(name)
        if chosen is signal.SIGKILL:
            os.killpg(self._process.pid, chosen)
            self._process.wait(timeout=10)
        else:
            self._process.send_signal(chosen)

    def stop(self, timeout: float = 10) -> None:
        """End it politely, or by force when it does not."""
        if self._process is None or self.status == "exited":
            return
        self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()

    def restart(self, timeout: float = 10) -> None:
        """End it and start it again, on the same port."""
        self.stop(timeout)
        self.start()

    def reload(self) -> None:
        """Nothing to fetch: every answer is read from the process itself."""

    def logs(self) -> bytes:
        """What it has printed since its last start."""
        return self._log.read_bytes() if self._log.exists() else b""

    def exec_run(self, command: str) -> tuple[int, bytes]:
        """Run a command beside it: they share one machine."""
        done = subprocess.run(shlex.split(command), capture_output=True, check=False)
        return done.returncode, done.stdout


class LocalRedisContainer(RedisContainer):
    """The Valkey of the package, without a password, on a port of its own."""

    @property
    def port(self) -> int:
        """Where it listens."""
        (name,) = self.attrs["NetworkSettings"]["Ports"]
        return self._wait_port(name)

    @property
    def host_url(self) -> str:
        """The same address from everywhere: there is only one machine."""
        return self.url


class LocalWorkerContainer(CeleryWorkerContainer):
    """One of our own workers, started as `logchord serve worker` starts it."""

    @classmethod
    def command(cls, *args: str, **_: Any) -> list[str]:
        """Become the kind of worker that serves these queues."""
        return [
            sys.executable,
            "-m",
            "workers.runtime.worker_kinds",
            cls.worker_queue(),
            *args,
        ]

    @classmethod
    def worker_queue(cls) -> str:
        """A kind with remote control, so that it can be pinged."""
        return "enhance.metadata,index"

    @property
    def ready_prompt(self) -> str:
        """What our workers log when they begin to take messages."""
        return "worker_ready"


@pytest.fixture
def run_locally(tmp_path: Path, reap: Reap) -> Iterator[Callable[..., LocalProcess]]:
    """Start processes that end with the test."""
    started: list[LocalProcess] = []

    def run(
        command: list[str], environment: Mapping[str, str], port: int | None = None
    ) -> LocalProcess:
        process = LocalProcess(command, tmp_path, reap, port)
        process.environment = {**os.environ, **environment}
        process.start()
        started.append(process)
        return process

    yield run
    for process in reversed(started):
        process.stop(timeout=30)


@pytest.fixture
def celery_broker_cluster(
    run_locally: Callable[..., LocalProcess], tmp_path: Path
) -> CeleryBrokerCluster:
    """One Valkey that the test may restart: no other test uses it."""
    port = free_port()
    options = ["--port", str(port), "--bind", HOST, "--dir", str(tmp_path)]
    command = [str(embedded._binary()), *RedisContainer.command(*options)[1:]]
    cluster = CeleryBrokerCluster(
        RedisTestBroker(LocalRedisContainer(run_locally(command, {}, port)))
    )
    until(cluster.ready, within_seconds=30, what="a broker of its own")
    return cluster


@pytest.fixture
def celery_backend_cluster() -> None:
    """No task of ours stores a result."""


@pytest.fixture
def celery_setup_app(
    celery_broker_cluster: CeleryBrokerCluster, database: str
) -> Iterator[Celery]:
    """Our own application over that broker, which it lets go of at the end."""
    (url,) = celery_broker_cluster.config()["urls"]
    app = make_app(Settings.load({"BROKER_URL": url, "DATABASE_URL": database}))
    yield app
    close_pools(app)


@pytest.fixture
def celery_worker_cluster(
    run_locally: Callable[..., LocalProcess],
    celery_setup_app: Celery,
    database: str,
) -> CeleryWorkerCluster:
    """One worker of ours, with a database that is this test's alone."""
    environment = {
        "BROKER_URL": celery_setup_app.conf.broker_url,
        "DATABASE_URL": database,
        "OPENSEARCH_URL": "off",
        "EMBEDDING_MODEL": "hashing-384",
    }
    process = run_locally(LocalWorkerContainer.command(), environment)
    container = LocalWorkerContainer(process)
    return CeleryWorkerCluster(CeleryTestWorker(container, celery_setup_app))
