"""Whether a request is sent once more, and when: three times, within its time."""

import random

from api.client.error_answers import UnreachableError
from shared.errors import LogchordError, Severity

TRIES = 3
_FIRST_SECONDS = 0.25


def find_pause(
    error: LogchordError, tries: int, left_seconds: float, *, may_repeat: bool
) -> float | None:
    """Return how long to wait before the next try; None: there is none.

    What was perhaps carried out is sent again only where twice is as once.
    """
    if tries >= TRIES or error.severity is not Severity.RETRIABLE:
        return None
    if isinstance(error, UnreachableError) and not may_repeat:
        return None
    # Jittered: who was turned away with others does not come back with them.
    pause = _FIRST_SECONDS * 2 ** (tries - 1) * random.uniform(0.5, 1.5)  # noqa: S311
    pause = max(pause, float(error.retry_after_seconds or 0))
    return pause if pause < left_seconds else None
