"""Start, watch and end one process that outlives whoever started it."""

import atexit
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO

import psutil

from local.place import ServerError

_POLL_SECONDS = 0.05

# Whoever started a process must reap it, also when another object stops it.
_children: dict[int, subprocess.Popen[bytes]] = {}


def spawn(
    command: list[str], environment: Mapping[str, str], log: IO[bytes]
) -> psutil.Process:
    """Start a process in a session of its own, so that no Ctrl-C reaches it."""
    child = subprocess.Popen(
        command,
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    _children[child.pid] = child
    return psutil.Process(child.pid)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hear Ctrl-C and its like afterwards; in the main thread alone.

    What one of them ends between the start of a process and the note of it goes on for
    ever.
    """
    heard: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: heard.append(number))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if heard:
        raise KeyboardInterrupt


@atexit.register
def _let_go() -> None:
    """Reap ended children; running ones are to go on, so Popen need not complain."""
    for child in _children.values():
        if child.poll() is None:
            child.returncode = 0


def is_alive(process: psutil.Process) -> bool:
    """Tell whether a process runs; a dead child of ours is reaped."""
    child = _children.get(process.pid)
    if child is not None and child.poll() is not None:
        del _children[process.pid]
        return False
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def end(process: psutil.Process, how: signal.Signals, patience_seconds: float) -> None:
    """Signal a process, wait, and kill it with its children if it stays."""
    with suppress(psutil.NoSuchProcess):
        family = process.children(recursive=True)
        try:
            process.send_signal(how)
        except psutil.AccessDenied as error:
            message = f"Process {process.pid} belongs to {process.username()!r}."
            raise ServerError(message) from error
        if _ended(process, patience_seconds):
            return
        for member in (process, *family):
            with suppress(psutil.NoSuchProcess):
                member.kill()
        if not _ended(process, patience_seconds):
            message = f"Process {process.pid} does not end, not even when killed."
            raise ServerError(message)


def _ended(process: psutil.Process, patience_seconds: float) -> bool:
    deadline = time.monotonic() + patience_seconds
    while is_alive(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True
