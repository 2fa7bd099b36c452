"""The pages of one ranked window: cursors are signed places, bound to the caller."""

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from shared.access.cursors import Binding, Signer
from shared.access.scope import Scope
from shared.search.query.plan import Plan
from shared.search.ranking.fold import Run
from shared.search.results.result_page import ResultPage

ROUTE = "GET /v1/search/jobs/{job_id}/results"


def binding(scope: Scope, job_id: UUID, limit: int) -> Binding:
    """Return the caller, job and page size that a cursor of this window is bound to."""
    return Binding(ROUTE, str(job_id), scope.caller, limit)


def place_after(runs: Sequence[Run], page: ResultPage) -> int:
    """Return the number of the run that the next page begins with."""
    if not page:
        return len(runs)
    last = page[-1].item
    return next(n for n, run in enumerate(runs, start=1) if last in run)


def behind(time: datetime, entry_id: str) -> list[str]:
    """Return the place behind an entry in a list by time, which has no end."""
    return [time.isoformat(), entry_id]


def following(
    signer: Callable[[], Signer],
    plan: Plan,
    job_id: UUID,
    runs: Sequence[Run],
    page: ResultPage,
) -> str | None:
    """Return the cursor of the second page, or None when the first holds all."""
    place = place_after(runs, page)
    if place >= len(runs):
        return None
    after: list[object] = [place]
    if plan.is_listing:
        last = page[-1].row
        after += behind(last.entry_time, str(last.entry_id))
    return signer().make(after, binding(plan.scope, job_id, plan.limit))
