"""Progress of a start: bars on a terminal, elsewhere a plain line now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from api.cli.output import Output

_LINE_SECONDS, _LINE_SHARE = 5.0, 0.1
# A step that takes less is not worth a line of its own.
_WORTH_SECONDS = 2.0


class _Console(Console):
    """A console whose reader may go: rich would end the process for that."""

    def on_broken_pipe(self) -> None:
        """Print nothing any more."""
        self.quiet = True


@contextmanager
def show_steps(output: Output) -> Iterator[Steps]:
    """Give what shows the steps of a command, until its block ends."""
    steps = Steps(output)
    steps.start()
    try:
        yield steps
    finally:
        steps.finish()


@dataclass
class _Step:
    begun: float = field(default_factory=time.monotonic)
    told_at: float = field(default_factory=time.monotonic)
    told_share: float = 0.0
    share: float | None = None
    task: TaskID | None = None


class Steps:
    """Tells how steps go that may run side by side; from any thread."""

    def __init__(self, output: Output) -> None:
        self._quiet = output.quiet
        self._console = _Console(
            stderr=True, no_color=not output.color, highlight=False, soft_wrap=True
        )
        self._bars: Progress | None = None
        if self._console.is_terminal and not output.quiet:
            self._bars = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                TextColumn("{task.fields[share]}"),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
            )
        self._steps: dict[str, _Step] = {}
        self._lock = threading.Lock()
        self._finished = threading.Event()

    def start(self) -> None:
        """Begin to show steps."""
        if self._bars is not None:
            self._bars.start()
        else:
            threading.Thread(target=self._tell_slow_steps, daemon=True).start()

    def finish(self) -> None:
        """Show no more steps; what is said afterwards is printed plainly."""
        self._finished.set()
        if self._bars is not None:
            self._bars.stop()

    def say(self, text: str) -> None:
        """Print a sentence beside the bars."""
        if not self._quiet:
            self._print(text)

    def line(self, text: str) -> None:
        """Print a line that has its own colours already."""
        self._print(Text.from_ansi(text))

    def begin(self, step: str) -> None:
        """Take that a step has begun."""
        with self._lock:
            row = self._steps[step] = _Step()
            if self._bars is not None:
                row.task = self._bars.add_task(step, total=None, share="")

    def advance(self, step: str, done: int, total: int | None) -> None:
        """Take how far a step is."""
        row = self._steps.get(step)
        if row is None or not total:
            return
        row.share = done / total
        if self._bars is not None and row.task is not None:
            share = f"{done // 1_000_000} of {total // 1_000_000} MB"
            self._bars.update(row.task, completed=done, total=total, share=share)

    def end(self, step: str) -> None:
        """Take that a step has ended."""
        with self._lock:
            row = self._steps.pop(step, None)
        if row is None:
            return
        if self._bars is not None and row.task is not None:
            self._bars.remove_task(row.task)
        seconds = time.monotonic() - row.begun
        if seconds >= _WORTH_SECONDS:
            self.say(f"{step}: {seconds:.1f} s")

    def _tell_slow_steps(self) -> None:
        while not self._finished.wait(0.5):
            now = time.monotonic()
            with self._lock:
                rows = list(self._steps.items())
            for step, row in rows:
                further = (row.share or 0.0) - row.told_share
                if now - row.told_at >= _LINE_SECONDS or further >= _LINE_SHARE:
                    row.told_at, row.told_share = now, row.share or 0.0
                    self.say(f"{step} ... {_so_far(row, now)}")

    def _print(self, text: str | Text) -> None:
        # What runs goes on, whether it can be shown or not: a disk may be full.
        with suppress(OSError):
            self._console.print(text, markup=False)
            sys.stderr.flush()


def _so_far(row: _Step, now: float) -> str:
    if row.share is not None:
        return f"{row.share:.0%}"
    return f"{now - row.begun:.0f} s"
