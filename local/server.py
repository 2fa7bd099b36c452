"""What the three servers share: start, adopt, watch and stop one process.

A server outlives a killed supervisor. So its folder stands in its command line, and
whoever starts the same home next finds the process by it and takes it over.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Protocol

import psutil

from local import processes, service_user
from local.place import PortTakenError, ServerError, StackFolders, read_notes

__all__ = [
    "EmbeddedServer",
    "PortTakenError",
    "Server",
    "ServerError",
    "StackFolders",
    "free_port",
    "listener",
]

HOST = "127.0.0.1"
_POLL_SECONDS = 0.05
_MAX_LOG_BYTES = 10_000_000
# Below the range from which the system takes ports of outgoing connections: a port
# that is kept for the next start must not be gone by then.
_FIRST_PORT, _LAST_PORT = 15_000, 31_999


class Server(Protocol):
    """A server of this machine, as the stack and the tests use it."""

    name: str

    def start(self) -> None:
        """Start the server, or adopt the running one; returns at once, idempotent."""

    def wait_ready(self, timeout_seconds: float) -> None:
        """Return once it answers; raise ServerError if it dies or takes too long."""

    def stop(self, *, crash: bool = False) -> None:
        """End the server and wait for its end; `crash` gives it no time to tidy up."""

    @property
    def url(self) -> str:
        """The address that clients use, with the password where there is one."""

    @property
    def pid(self) -> int | None:
        """Return the process id of the server, or None when it does not run."""

    @property
    def port(self) -> int:
        """Return the port that the server listens on, on loopback only."""

    @property
    def log_path(self) -> Path:
        """Return the path of the server's log."""


class EmbeddedServer(ABC):
    """One server process, its folders, its pid file and its end."""

    name: str
    title: ClassVar[str]
    setting: ClassVar[str]
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    crash_signal: ClassVar[signal.Signals] = signal.SIGKILL
    stop_seconds: ClassVar[float] = 10
    min_free_bytes: ClassVar[int] = 200_000_000

    def __init__(self, place: StackFolders, port: int) -> None:
        self.place = StackFolders(place.home.absolute(), place.cache.absolute())
        self._port = port
        self._process: psutil.Process | None = None

    @property
    def port(self) -> int:
        """Return the port that the server listens on, on loopback only."""
        return self._port

    @property
    def log_path(self) -> Path:
        """Return the path of the server's log."""
        return self.place.logs / f"{self.name}.log"

    @property
    def pid_path(self) -> Path:
        """Return the file of the server's pid, port and start time."""
        return self.place.run / f"{self.name}.json"

    @property
    def data_folder(self) -> Path:
        """Return the data folder; for root it may lie below `/var/lib/logchord`."""
        return service_user.data_home(self.place.home) / "data" / self.name

    @property
    def config_folder(self) -> Path:
        """Return the folder of the configuration, which every start writes anew."""
        return service_user.data_home(self.place.home) / "config" / self.name

    @property
    def pid(self) -> int | None:
        """Return the process id of the server, or None when it does not run."""
        if self._process is None or not processes.is_alive(self._process):
            self._process = self._find()
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the server, or adopt the running one; returns at once, idempotent."""
        service_user.ensure_service_user()
        self._make_folders()
        with service_user.locked(self.place.run / f"{self.name}.lock"):
            if self._adopt():
                return
            self._check_port()
            self._check_space()
            try:
                self._prepare()
                self._spawn()
            except OSError as error:
                raise ServerError(self._cannot_write(error)) from error

    def wait_ready(self, timeout_seconds: float) -> None:
        """Return once it answers; raise ServerError if it dies or takes too long."""
        deadline = time.monotonic() + timeout_seconds
        while not self._answers():
            if self.pid is None:
                message = f"{self.title} ended while it started. {self._last_words()}"
                raise ServerError(message)
            if time.monotonic() > deadline:
                raise ServerError(
                    f"{self.title} does not answer on port {self._port} after "
                    f"{timeout_seconds:.0f} s. {self._last_words()}"
                )
            time.sleep(_POLL_SECONDS)

    def stop(self, *, crash: bool = False) -> None:
        """End the server and wait for its end; `crash` gives it no time to tidy up."""
        if self.pid is not None and self._process is not None:
            processes.end(
                self._process,
                self.crash_signal if crash else self.stop_signal,
                self.stop_seconds,
            )
        self._process = None
        self.pid_path.unlink(missing_ok=True)

    @property
    @abstractmethod
    def url(self) -> str:
        """The address that clients use, with the password where there is one."""

    @abstractmethod
    def _prepare(self) -> None:
        """Make data and configuration ready for the next start."""

    @abstractmethod
    def _command(self) -> list[str]:
        """Return program and arguments, never a secret; the marker is one of them."""

    @abstractmethod
    def _marker(self) -> str:
        """Return the argument that nobody else has: it names this server's folder."""

    @abstractmethod
    def _answers(self) -> bool:
        """Ask the server once whether it serves."""

    def _environment(self) -> Mapping[str, str]:
        """Return the variables that the server needs beside the bare environment."""
        return {}

    def _full_environment(self) -> dict[str, str]:
        # Not ours: it holds keys and addresses that are none of a server's business.
        path = os.environ.get("PATH", os.defpath)
        bare = {"PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        return {**bare, **self._environment()}

    def _make_folders(self) -> None:
        try:
            self.place.make()
            for folder in (self.data_folder, self.config_folder):
                service_user.make_open(folder.parent)
        except OSError as error:
            raise ServerError(self._cannot_write(error)) from error

    def _adopt(self) -> bool:
        """Take over a process that a killed supervisor left; end it if it differs."""
        process = self._find()
        if process is None:
            self.pid_path.unlink(missing_ok=True)
            return False
        if read_notes(self.pid_path).get("port") != self._port:
            processes.end(process, self.stop_signal, self.stop_seconds)
            return False
        self._process = process
        return True

    def _find(self) -> psutil.Process | None:
        """Find our process by its pid file, else among all by its folder."""
        marker = self._marker()
        recorded = read_notes(self.pid_path).get("pid")
        if isinstance(recorded, int):
            with suppress(psutil.Error):
                process = psutil.Process(recorded)
                if marker in process.cmdline() and _is_ours(process):
                    return process
        found = [
            process
            for process in psutil.process_iter(["cmdline", "create_time"])
            if marker in (process.info["cmdline"] or ()) and _is_ours(process)
        ]
        # A child that was just forked still shows its parent's command line.
        return min(found, key=lambda process: process.info["create_time"], default=None)

    def _spawn(self) -> None:
        if self.log_path.exists() and self.log_path.stat().st_size > _MAX_LOG_BYTES:
            self.log_path.replace(self.log_path.with_suffix(".log.1"))
        with self.log_path.open("ab") as log:
            command = service_user.as_service_user(self._command())
            self._process = processes.spawn(command, self._full_environment(), log)
        self._record(self._process)

    def _record(self, process: psutil.Process) -> None:
        started = process.create_time()
        text = json.dumps({"pid": process.pid, "port": self._port, "started": started})
        fresh = self.pid_path.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self.pid_path)

    def _check_port(self) -> None:
        who = listener(self._port)
        if who is not None:
            raise PortTakenError(
                f"Port {self._port}, kept for {self.title}, is in use by {who}. Stop "
                f"that, or delete {self.place.home / 'ports.json'} and start again: "
                f"then another one is taken. Or set {self.setting} to a server "
                "that runs already."
            )

    def _check_space(self) -> None:
        folder = self.data_folder.parent
        free = shutil.disk_usage(folder).free
        if free < self.min_free_bytes:
            raise ServerError(
                f"The disk of {folder} is full: {free // 1_000_000} MB are free, "
                f"{self.title} needs {self.min_free_bytes // 1_000_000} MB. Make room, "
                "or set LOGCHORD_HOME to a folder on another disk."
            )

    def _cannot_write(self, error: OSError) -> str:
        return (
            f"{self.title} cannot be set up in {self.place.home}: {error}. "
            "LOGCHORD_HOME must be a folder that may be written, with room on its disk."
        )

    def _last_words(self) -> str:
        try:
            lines = self.log_path.read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        tail = "\n".join(lines[-12:])
        full = "No space left on device" in tail
        hint = f"The disk of {self.data_folder} is full. " if full else ""
        return f"{hint}The end of {self.log_path}:\n{tail}"


def _is_ours(process: psutil.Process) -> bool:
    """Tell whether the process runs as a user of ours: a command can be copied."""
    try:
        owner = process.uids().effective
    except psutil.NoSuchProcess:
        return False
    account = service_user.account() if service_user.is_root() else None
    users = {os.geteuid(), *([account.pw_uid] if account else [])}
    return owner in users and processes.is_alive(process)


def free_port() -> int:
    """Return a port of loopback that nobody listens on, outside the ephemeral range."""
    for _ in range(200):
        # Not `random`: processes with equal seeds would contend for the same port.
        port = _FIRST_PORT + secrets.randbelow(_LAST_PORT - _FIRST_PORT + 1)
        if not _in_use(port):
            return port
    raise ServerError("No free port was found on 127.0.0.1.")


def listener(port: int) -> str | None:
    """Return who listens on a port of loopback, or None when it is free."""
    if not _in_use(port):
        return None
    with suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            # An empty address, of a socket that is bound nowhere, has no port.
            its_port = getattr(connection.laddr, "port", None)
            listens = connection.status == psutil.CONN_LISTEN
            if listens and its_port == port and connection.pid:
                name = psutil.Process(connection.pid).name()
                return f"{name!r} (pid {connection.pid})"
    return "a process of another user"


def _in_use(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
        return False
