"""Folds copies behind the best of them, and bounds each source's share of a page."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain, groupby
from math import ceil

from shared.search.ranking.ranked_hits import Beyond, Ranked

# How many of a series or group stay in the window: should the best be gone when a page
# is read, the next one stands for them all.
SPARE_COPIES = 10

# One hit, and its like that stand behind it.
Run = tuple[Ranked, ...]


def arranged(
    items: Sequence[Ranked], window: int, limit: int, source_share: float
) -> tuple[Ranked, ...]:
    """Return the first runs of a window, page by page.

    While more than one source has hits, none gets more than its share of a page. Hits
    over the share come back where the page stays short, and else on the next page.
    """
    together: dict[str, list[Ranked]] = {}
    for item in items:
        together.setdefault(_key(item), []).append(item)
    left: list[Run] = [tuple(alike[:SPARE_COPIES]) for alike in together.values()]
    shown: list[Run] = []
    while left and len(shown) < window:
        if len({run[0].source for run in left}) == 1:
            # Only one source has hits left, so there is nobody to make room for.
            shown += left
            break
        page = _page(left, limit, source_share)
        shown += [left[number] for number in page]
        taken = set(page)
        left = [run for number, run in enumerate(left) if number not in taken]
    return tuple(chain.from_iterable(shown[:window]))


def group_runs(items: Sequence[Ranked]) -> list[Run]:
    """Return the runs of a window; of each run the first hit still there is shown."""
    return [tuple(run) for _, run in groupby(items, _key)]


def _page(left: Sequence[Run], limit: int, source_share: float) -> list[int]:
    sources = [run[0].source for run in left]
    most = ceil(source_share * limit) if len(set(sources)) > 1 else limit
    chosen: list[int] = []
    capped: list[int] = []
    of_source: Counter[str] = Counter()
    for number, source in enumerate(sources):
        if len(chosen) == limit:
            break
        within = of_source[source] < most
        (chosen if within else capped).append(number)
        of_source[source] += within
    return sorted([*chosen, *capped[: limit - len(chosen)]])


def _key(item: Ranked) -> str:
    # A series comes before copies: all of it says the same, and only some have copies.
    return item.thread_id or item.series_id or item.group_id or item.entry_id


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
