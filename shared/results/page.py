"""The page of a search: the best of the window that the caller may still see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from shared.postgres import connection
from shared.query.plan import Plan
from shared.ranking.rank import Ranked
from shared.results.hydrate import Row, hydrate

if TYPE_CHECKING:
    from shared.postgres import Pool

# Read with the page, so that a hit deleted meanwhile seldom costs a second look.
SPARE = 5

Page = list[tuple[Ranked, Row]]


def read_page(
    pool: Callable[[], Pool], plan: Plan, ranked: Sequence[Ranked], timeout_ms: int
) -> Page:
    """Return the first hits with their rows; what is gone gives way to the next."""
    if not ranked:
        return []
    page: Page = []
    at = 0
    with connection(pool()) as conn:
        while len(page) < plan.limit and at < len(ranked):
            step = ranked[at : at + plan.limit - len(page) + SPARE]
            ids = [UUID(item.entry_id) for item in step]
            rows = hydrate(conn, ids, plan.scope, timeout_ms)
            found = [(item, rows.get(UUID(item.entry_id))) for item in step]
            page += [(item, row) for item, row in found if row is not None]
            at += len(step)
    return page[: plan.limit]
