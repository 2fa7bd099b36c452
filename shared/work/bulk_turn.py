"""One of a worker's children or threads at a time does what others must not wait for.

Such as bulk work, or a source that hangs: whoever is free takes what comes in at once,
and nobody is free where everybody is amid a batch of a backfill. Nor is a core free,
where one is: while live work comes in, bulk work rests and has a twentieth of the time.
"""

import mmap
import os
import struct
import threading
import time
from dataclasses import astuple, dataclass

import psutil

# Live work comes in as long as some came in so recently.
LIVE_SECONDS = 1.0
# How much longer than a batch of bulk work took is rested then.
RESTS = 19.0


@dataclass(slots=True)
class _State:
    """The holder of the turn, since when, and until when at the latest."""

    holder: int
    process: int
    since: float
    until: float
    rest_until: float


_TURN = struct.Struct("=QQddd")
# When live work came in last stands behind it: whoever notes that has no turn, and
# must not write down an older state of it.
_LIVE_AT = struct.Struct("=d")


class Turn:
    """Whose turn it is, in memory that children share with their parent.

    Two who ask at once may both get it, for once: it is no lock, so that nobody waits
    for it, and nothing of it stays with a process that is dead.
    """

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _TURN.size + _LIVE_AT.size)

    def take(self, seconds: float) -> bool:
        """Take the turn, or keep it, for so long.

        False while another has it, and while it rests for the sake of live work.
        """
        turn = self._read()
        now, me = time.monotonic(), threading.get_native_id()
        if turn.holder != me and turn.until > now and psutil.pid_exists(turn.process):
            return False
        (live_at,) = _LIVE_AT.unpack_from(self._shared, _TURN.size)
        if turn.rest_until > now and live_at + LIVE_SECONDS > now:
            return False
        if turn.holder != me or turn.until <= now:
            turn.since = now
        turn.holder, turn.process, turn.until = me, os.getpid(), now + seconds
        self._write(turn)
        return True

    def give_back(self, *, used: bool = False) -> None:
        """Give our turn to the next who asks; after use the turn rests first."""
        turn = self._read()
        if turn.holder != threading.get_native_id():
            return
        now = time.monotonic()
        if used:
            turn.rest_until = now + RESTS * (now - turn.since)
        turn.holder, turn.until = 0, 0.0
        self._write(turn)

    def note_live(self) -> None:
        """Remember that live work came in just now."""
        _LIVE_AT.pack_into(self._shared, _TURN.size, time.monotonic())

    def _read(self) -> _State:
        return _State(*_TURN.unpack_from(self._shared))

    def _write(self, turn: _State) -> None:
        _TURN.pack_into(self._shared, 0, *astuple(turn))
