"""Keeps the Procfile's processes running: a child that dies is started again.

Each child leads a session of its own, so that it can be stopped with everything it
started, and Ctrl-C reaches the runner alone. If the runner itself is killed, the kernel
sends its children SIGTERM, and the next start reclaims whatever ignored that.
"""

import ctypes
import logging
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

from local import runner_state
from local.procfile import Command

STOP_SECONDS = 25.0
FIRST_TO_STOP = frozenset({"api", "flower"})
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 5.0
# So long what a child said before it ended is read.
_LAST_WORDS_SECONDS = 2.0
MAX_LOG_BYTES = 10_000_000
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)

# Shows a line of a child; it never raises, whoever looks on.
Echo = Callable[[str, str], None]


@dataclass
class Child:
    """One process of the Procfile through all its lives."""

    command: Command
    log: RotatingFileHandler
    process: subprocess.Popen[bytes] | None = None
    reader: threading.Thread | None = None
    started: float = 0.0
    birth: int | None = None
    start_at: float = 0.0
    restarts: int = 0
    # Enough to tell how long to wait, and for `status` to name a child that fails.
    deaths: deque[float] = field(default_factory=lambda: deque(maxlen=8))

    def died(self, now: float) -> float:
        """Count a death and return how long to wait before the next life."""
        self.deaths.append(now)
        recent = sum(death > now - runner_state.WINDOW_SECONDS for death in self.deaths)
        pause: float = FIRST_PAUSE_SECONDS * 2 ** (recent - 1)
        return min(pause, LONGEST_PAUSE_SECONDS)

    def row(self) -> runner_state.ChildState:
        """Return the state of the child as others may read it."""
        pid = self.process.pid if self.process else None
        return {
            "pid": pid,
            "since": self.started if pid else None,
            "birth": self.birth if pid else None,
            "restarts": self.restarts,
            "deaths": list(self.deaths),
        }


class Runner:
    """Runs commands until told to stop; to be used from the main thread alone.

    A child ends with the thread that forked it, which therefore must be one that lives
    as long as the runner.
    """

    def __init__(
        self, commands: Iterable[Command], *, logs: Path, state: Path, echo: Echo
    ) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        state.parent.mkdir(parents=True, exist_ok=True)
        self._state, self._echo = state, echo
        self._children = [Child(c, _log_file(logs / f"{c.name}.log")) for c in commands]
        self._stopping = False
        # What is written down is not as it is, and that has been told.
        self._is_stale = self._is_stale_told = False

    def run(self, environ: Mapping[str, str]) -> None:
        """Keep every child alive until `stop`, or an interrupt, ends the loop."""
        while not self._stopping:
            changed = [self._attend(child, environ) for child in self._children]
            self._is_stale |= any(changed)
            if self._is_stale:
                self._write_state()
            time.sleep(0.1)

    def end(self) -> None:
        """End `run`; takes no lock, so that a signal handler may call this."""
        self._stopping = True

    def alive(self) -> bool:
        """Tell whether every child runs just now."""
        return all(c.process and c.process.poll() is None for c in self._children)

    def stop(self, patience_seconds: float = STOP_SECONDS) -> None:
        """End all children, politely at first, what takes requests before the rest."""
        self._stopping = True
        deadline = time.monotonic() + patience_seconds
        running = [child.process for child in self._children if child.process]
        names = {c.process: c.command.name for c in self._children if c.process}
        first = [p for p in running if names[p] in FIRST_TO_STOP]
        for group in (first, [p for p in running if p not in first]):
            for process in group:
                if process.poll() is None:
                    process.terminate()
            for process in group:
                _wait(process, deadline - time.monotonic())
        for process in running:
            if process.poll() is None:
                self._say(names[process], "did not stop in time and is killed")
            runner_state.kill_group(process.pid)
            process.wait()
        for child in self._children:
            # What it said last is in its pipe yet; who left its group may hold that.
            if child.reader is not None:
                child.reader.join(_LAST_WORDS_SECONDS)
            child.log.close()
        self._state.unlink(missing_ok=True)

    def _attend(self, child: Child, environ: Mapping[str, str]) -> bool:
        """Start what should run, notice what ended; tell whether anything changed."""
        now = time.time()
        if child.process is None:
            if now < child.start_at:
                return False
            self._start(child, environ)
            return True
        code = child.process.poll()
        if code is None:
            return False
        # A killed leader leaves its own children behind, holding sockets and claims.
        runner_state.kill_group(child.process.pid)
        pause = child.died(now)
        child.process, child.start_at = None, now + pause
        child.restarts += 1
        ending = f"signal {-code}" if code < 0 else f"code {code}"
        self._say(child.command.name, f"ended ({ending}); starts in {pause:.1f} s")
        return True

    def _start(self, child: Child, environ: Mapping[str, str]) -> None:
        name = child.command.name
        try:
            child.process = subprocess.Popen(
                child.command.argv,
                env={**environ, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_ended_with(os.getpid()),  # noqa: PLW1509 - two calls, no lock
            )
        except OSError as exc:
            child.start_at = time.time() + child.died(time.time())
            self._say(name, f"cannot be started: {exc}")
            return
        child.started = time.time()
        child.birth = runner_state.birth_of(child.process.pid)
        child.reader = threading.Thread(
            target=self._read, args=(child, child.process.stdout), daemon=True
        )
        child.reader.start()

    def _read(self, child: Child, output: IO[bytes]) -> None:
        """Pass on each line; a line without end is passed on in pieces."""
        with output:
            while line := output.readline(65_536):
                text = line.decode("utf-8", "replace").rstrip("\n")
                child.log.handle(logging.makeLogRecord({"msg": text}))
                self._echo(child.command.name, text)

    def _say(self, name: str, text: str) -> None:
        self._echo("runner", f"{name} {text}")

    def _write_state(self) -> None:
        """Write down which processes run, for `status` and for a later stack."""
        rows = {c.command.name: c.row() for c in self._children}
        try:
            runner_state.write(self._state, rows)
        except OSError as exc:
            # The children need no disk to go on; tried again until there is room.
            if not self._is_stale_told:
                self._say(self._state.name, f"cannot be written: {exc}")
            self._is_stale_told = True
        else:
            self._is_stale = self._is_stale_told = False


def _log_file(path: Path) -> RotatingFileHandler:
    return RotatingFileHandler(
        path, maxBytes=MAX_LOG_BYTES, backupCount=1, encoding="utf-8"
    )


def _ended_with(parent: int) -> Callable[[], None]:
    def in_child() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        # The runner may have died before the call: then nobody sends the signal.
        if os.getppid() != parent:
            os._exit(1)

    return in_child


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        return
