"""Lists the entries found that are in no window, for whoever asks why."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shared.search.ranking.fold import Run
from shared.search.ranking.ranked_hits import Beyond, Ranked


def list_hits_behind_window(
    items: Sequence[Ranked],
    left_out: Sequence[Ranked],
    runs: Sequence[Run],
    window: int,
    read: Collection[str],
) -> tuple[Beyond, ...]:
    """Return the items that are not in the first runs of a window, and why not.

    `left_out` was cut by its score, `read` are those that a model has read. Other runs
    follow the window; an item in no run stands behind its like.
    """
    cut = {item.entry_id for item in left_out}
    within = {item.entry_id for run in runs[:window] for item in run}
    behind = {
        item.entry_id: place
        for place, run in enumerate(runs[window:], window + 1)
        for item in run
    }
    return tuple(
        Beyond(
            entry_id=item.entry_id,
            relevance_score=item.relevance_score,
            confidence=item.confidence,
            place=place if item.entry_id in cut else behind.get(item.entry_id),
            unread=bool(read) and item.entry_id not in read,
        )
        for place, item in enumerate(items, 1)
        if item.entry_id not in within
    )
