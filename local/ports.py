"""Which port each server of a stack listens on: chosen once, then kept."""

import json
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Listener:
    """The process that listens on a port, as far as this user may know it."""

    pid: int | None
    name: str
    user: str

    def __str__(self) -> str:
        """Name it as a person would look for it."""
        if self.pid is None:
            return "a process of another user"
        return f"process {self.pid} ({self.name}, user {self.user})"


class Ports:
    """The ports of one home, in a file beside its data."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def kept(self, name: str) -> int:
        """Return the port that this name has; a free one becomes it the first time."""
        ports = self._read()
        if name not in ports:
            return self.replace(name)
        return ports[name]

    def replace(self, name: str) -> int:
        """Give this name another port, because somebody else took the one it had."""
        ports = self._read()
        ports[name] = _free(avoid=set(ports.values()))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(ports, indent=1), encoding="utf-8")
        fresh.replace(self._path)
        return ports[name]

    def _read(self) -> dict[str, int]:
        try:
            found: dict[str, int] = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Tell whether this process could listen there."""
    with socket.socket() as probe:
        # As servers do: a port in TIME_WAIT is free, one with a listener is not.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def listener(port: int) -> Listener:
    """Return who listens on a port."""
    for entry in psutil.net_connections("tcp"):
        if entry.status == psutil.CONN_LISTEN and entry.laddr.port == port:
            return _named(entry.pid)
    return _named(None)


def _named(pid: int | None) -> Listener:
    if pid is not None:
        try:
            process = psutil.Process(pid)
            return Listener(pid, process.name(), process.username())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            pass
    return Listener(None, "unknown", "unknown")


def _free(avoid: set[int]) -> int:
    while True:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        if port not in avoid:
            return port
