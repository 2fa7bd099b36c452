"""What the raw scores of words are worth here, for plans: read once a minute."""

import asyncio
import time
from collections.abc import Callable, Mapping

from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.search.retrieval import score_scale

log = get_logger()

# It is measured once an hour.
KEPT_SECONDS = 60.0
# A search does not wait longer for it, and takes what was known last.
_WAIT_SECONDS = 1.0


class MeasuredScores:
    """One per API process, with the digest of the settings that belongs to it."""

    def __init__(
        self,
        pool: Pool,
        digest: Callable[[Mapping[str, float]], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._digest = digest
        self._clock = clock
        self._until = -KEPT_SECONDS
        self.scale: Mapping[str, float] = {}
        self.config_hash = digest({})

    async def refresh(self) -> None:
        """Read the scale of scores anew if it is old; others go on with the old one."""
        now = self._clock()
        if now < self._until:
            return
        self._until = now + KEPT_SECONDS
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                scale = await asyncio.to_thread(self._read)
        except (LogchordError, TimeoutError) as exc:
            code = exc.error_code if isinstance(exc, LogchordError) else "late"
            log.warning("score_scale_not_read", code=code)
            return
        if scale != self.scale:
            self.scale, self.config_hash = scale, self._digest(scale)

    def _read(self) -> dict[str, float]:
        with connection(self._pool) as conn:
            return score_scale.load_scale(conn)
