"""How a search's deadline is shared: branches, ranking, and the API's late path."""

# The last branch needs this time to rank, read and answer.
_FINISH_SHARE, _FINISH_SECONDS = 0.2, 0.3
# Where the last branch is late, the API does the same in this time.
_LATE_SHARE, _LATE_SECONDS = 0.1, 0.15


def branch_end(deadline: float, deadline_ms: int) -> float:
    """Return the time until which branches may search."""
    return deadline - min(_FINISH_SECONDS, _FINISH_SHARE * deadline_ms / 1000)


def answer_end(deadline: float, deadline_ms: int) -> float:
    """Return the time until which the API waits before it ranks stored outcomes."""
    return deadline - min(_LATE_SECONDS, _LATE_SHARE * deadline_ms / 1000)
