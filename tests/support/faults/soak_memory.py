"""How much memory every process takes over time, and whether it grows."""

import time
from collections import defaultdict
from collections.abc import Sequence

import psutil

from tests.support.faults.background_thread import BackgroundThread
from tests.support.fixtures.system import System

_EVERY_SECONDS = 5.0
# A process that has just started still loads what it will keep.
WARM_UP_SECONDS = 90.0
# Less than this says nothing about a minute's growth.
_LEAST_SECONDS = 240.0
_MIB = 1024 * 1024

# Of one life of one process: (seconds, bytes).
Samples = list[tuple[float, float]]


class Memory(BackgroundThread):
    """Looks at every process of a system again and again, from a thread."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._lives: dict[tuple[str, int, float], Samples] = defaultdict(list)
        self._most_rss: dict[str, float] = defaultdict(float)
        super().__init__()

    @property
    def most_rss_mib(self) -> dict[str, float]:
        """The most that one process of each kind has taken, shared pages included."""
        return {kind: round(most / _MIB, 1) for kind, most in self._most_rss.items()}

    def slopes(self) -> dict[str, float | None]:
        """Return the growth of each kind in MiB/min; None: too short to tell.

        Lives are pooled: one line is fitted to all of a kind, each from its own level.
        """
        pooled: dict[str, list[Samples]] = defaultdict(list)
        for (kind, _, _), samples in self._lives.items():
            warm = samples[0][0] + WARM_UP_SECONDS
            pooled[kind].append([one for one in samples if one[0] >= warm])
        return {kind: slope(lives) for kind, lives in sorted(pooled.items())}

    def _run(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            for name, process in list(self._system.processes.items()):
                self._look(name.rstrip("0123456789").rstrip("-"), process.pid)

    def _look(self, kind: str, pid: int) -> None:
        try:
            main = psutil.Process(pid)
            family = [(kind, main)]
            family += [(f"{kind} child", one) for one in main.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for name, one in family:
            try:
                used = one.memory_full_info()
                life = name, one.pid, one.create_time()
            except psutil.NoSuchProcess:
                continue
            self._lives[life].append((time.monotonic(), float(used.pss)))
            self._most_rss[name] = max(self._most_rss[name], float(used.rss))


def slope(lives: Sequence[Samples]) -> float | None:
    """Return MiB a minute by least squares, each life about its own mean."""
    lives = [life for life in lives if len(life) > 1]
    if sum(life[-1][0] - life[0][0] for life in lives) < _LEAST_SECONDS:
        return None
    products = squares = 0.0
    for life in lives:
        mean_time = sum(at for at, _ in life) / len(life)
        mean_size = sum(size for _, size in life) / len(life)
        products += sum((at - mean_time) * (size - mean_size) for at, size in life)
        squares += sum((at - mean_time) ** 2 for at, _ in life)
    return round(60 * products / squares / _MIB, 3)
