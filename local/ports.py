"""Which port each server of a stack listens on: chosen once, then kept."""

import json
import threading
from pathlib import Path

from local.place import read_notes
from local.server import free_port


class Ports:
    """The ports of one home, in a file beside its data."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # The servers are started by several threads at once.
        self._lock = threading.RLock()

    def kept(self, name: str) -> int:
        """Return the port that this name has; a free one becomes it the first time."""
        with self._lock:
            ports = self._read()
            return ports[name] if name in ports else self.replace(name)

    def replace(self, name: str) -> int:
        """Give this name another port, because somebody else took the one it had."""
        with self._lock:
            ports = self._read()
            candidates = iter(free_port, None)
            free = next(port for port in candidates if port not in ports.values())
            self._write({**ports, name: free})
            return free

    def _read(self) -> dict[str, int]:
        return read_notes(self._path)

    def _write(self, ports: dict[str, int]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(ports, indent=1), encoding="utf-8")
        fresh.replace(self._path)
