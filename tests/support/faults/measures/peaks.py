"""The most memory that a process and its children have ever had, each by itself."""

import re
from pathlib import Path

import psutil

from tests.support.faults.background_thread import BackgroundThread

# Kept by the kernel: nothing is missed between two looks.
_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


class Peaks(BackgroundThread):
    """Looks at a process and its children, those that come and go too."""

    def __init__(self, pid: int) -> None:
        self._parent = psutil.Process(pid)
        self.parent = 0
        self.child = 0
        self.children: set[int] = set()
        super().__init__()

    def _run(self) -> None:
        while not self._ended.wait(0.05):
            self.parent = max(self.parent, _peak_bytes(self._parent.pid))
            try:
                children = self._parent.children()
            except psutil.NoSuchProcess:
                return
            for child in children:
                self.child = max(self.child, _peak_bytes(child.pid))
                self.children.add(child.pid)


def _peak_bytes(pid: int) -> int:
    """Return it; 0 of a process that has just gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = _PEAK.search(status)
    return int(found[1]) * 1024 if found else 0
