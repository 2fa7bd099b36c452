"""One of a worker's children or threads at a time does bulk work.

Live work would wait behind it otherwise: whoever is free takes what comes in at once,
and nobody is free where everybody is amid a batch of a backfill.
"""

from __future__ import annotations

import mmap
import struct
import threading
import time

_HOLDER = struct.Struct("=dQ")


class BulkTurn:
    """Whose turn it is, in memory that children share with their parent.

    Two who ask at once may both get it, for one batch: it is no lock, so that nobody
    waits for it, and nothing of it stays with the dead but their time.
    """

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _HOLDER.size)

    def take(self, seconds: float) -> bool:
        """Take the turn, or keep it, for so long; false while another has it."""
        until, holder = _HOLDER.unpack_from(self._shared)
        now, me = time.monotonic(), threading.get_native_id()
        if holder != me and until > now:
            return False
        _HOLDER.pack_into(self._shared, 0, now + seconds, me)
        return True

    def give_back(self) -> None:
        """Let whoever asks next have it, if it is ours."""
        _, holder = _HOLDER.unpack_from(self._shared)
        if holder == threading.get_native_id():
            _HOLDER.pack_into(self._shared, 0, 0.0, 0)
