"""How a search's deadline is shared: branches, ranking, and the API's late path."""

from __future__ import annotations

# The last branch still has to rank, read and answer.
_FINISH_SHARE, _FINISH_SECONDS = 0.2, 0.3
# If it does not, the API has to do the same.
_LATE_SHARE, _LATE_SECONDS = 0.1, 0.15


def branch_end(deadline: float, deadline_ms: int) -> float:
    """Return until when branches may search."""
    return deadline - min(_FINISH_SECONDS, _FINISH_SHARE * deadline_ms / 1000)


def answer_end(deadline: float, deadline_ms: int) -> float:
    """Return until when the API waits for an answer before it ranks what is in."""
    return deadline - min(_LATE_SECONDS, _LATE_SHARE * deadline_ms / 1000)
