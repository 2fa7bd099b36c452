"""The page of a search: the best of the window that the caller may still see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from shared.postgres import at_once
from shared.query.plan import Plan
from shared.ranking.fold import Run
from shared.ranking.ranked import Ranked
from shared.results import similar, superseded
from shared.results.hydrate import Row, hydrate
from shared.results.superseded import Values

if TYPE_CHECKING:
    from shared.postgres import Pool

# Read with the page, so that a hit deleted meanwhile seldom costs a second look.
SPARE = 5


class Shown(NamedTuple):
    """One hit of the page: its row, how many like it stand behind it, its values."""

    item: Ranked
    row: Row
    similar: int = 0
    values: Values = superseded.NONE


Page = list[Shown]


def read_page(
    pool: Callable[[], Pool],
    plan: Plan,
    runs: Sequence[Run],
    timeout_ms: int,
    *,
    with_values: bool = True,
) -> Page:
    """Return the first hits with their rows; what is gone gives way to the next.

    Of a run that is the next of its like: it hides nobody when it cannot be seen.
    """
    if not runs:
        return []
    gone: set[str] = set()
    rows: dict[str, Row] = {}
    with at_once(pool()) as conn:
        while True:
            near = _first(runs, gone, plan.limit + SPARE)
            page = near[: plan.limit]
            if all(item.entry_id in rows for item in page):
                break
            asked = {one.entry_id for one in near} - rows.keys()
            ids = [UUID(entry_id) for entry_id in sorted(asked)]
            found = hydrate(conn, ids, plan.scope, timeout_ms)
            rows |= {str(entry_id): row for entry_id, row in found.items()}
            gone |= asked - rows.keys()
    behind = similar.counts(pool, plan, page)
    shown = [rows[item.entry_id] for item in page]
    values = superseded.read(pool, plan, shown) if with_values else {}
    return [
        Shown(
            item,
            row,
            behind.get(item.entry_id, 0),
            values.get(row.entry_id, superseded.NONE),
        )
        for item, row in zip(page, shown, strict=True)
    ]


def _first(runs: Sequence[Run], gone: set[str], count: int) -> list[Ranked]:
    left = (next((i for i in run if i.entry_id not in gone), None) for run in runs)
    return list(islice((item for item in left if item is not None), count))
