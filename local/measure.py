"""What the stack takes of this machine: memory by process, shared pages shared out."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Footprint:
    """Proportional set size in bytes of one process with everything it started."""

    name: str
    bytes: int
    processes: int
    unreadable: int = 0


def footprint(name: str, pid: int, *, alone: bool = False) -> Footprint:
    """Sum the memory of a process and, unless alone, of all its descendants."""
    try:
        root = psutil.Process(pid)
        family = [root, *([] if alone else root.children(recursive=True))]
    except psutil.NoSuchProcess:
        return Footprint(name, 0, 0)
    sizes = [_proportional(process.pid) for process in family]
    known = [size for size in sizes if size is not None]
    return Footprint(name, sum(known), len(known), len(sizes) - len(known))


def total(parts: Iterable[Footprint]) -> int:
    """Return the bytes of all parts together."""
    return sum(part.bytes for part in parts)


def _proportional(pid: int) -> int | None:
    """Return PSS in bytes, nothing of a process that has ended, None if forbidden."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except PermissionError:
        return None
    except (FileNotFoundError, ProcessLookupError):
        return 0
    lines = (line.split() for line in text.splitlines())
    return sum(int(words[1]) * 1024 for words in lines if words[0] == "Pss:")
