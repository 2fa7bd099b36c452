"""The pages of one ranked window: signed places in it, bound to whoever asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from shared.access.cursors import Binding, Signer
from shared.access.scope import Scope
from shared.query.plan import Plan
from shared.ranking.rank import Ranked
from shared.results.page import Page

ROUTE = "GET /v1/search/jobs/{job_id}/results"


def binding(scope: Scope, job_id: UUID, limit: int) -> Binding:
    """Return what a place in this window belongs to."""
    return Binding(ROUTE, str(job_id), scope.key_id or scope.subject, limit)


def place_after(ranked: Sequence[Ranked], page: Page) -> int:
    """Return where in the window the next page begins."""
    return ranked.index(page[-1][0]) + 1 if page else len(ranked)


def following(
    signer: Callable[[], Signer],
    plan: Plan,
    job_id: UUID,
    ranked: Sequence[Ranked],
    page: Page,
) -> str | None:
    """Return the cursor of the second page, or None when the first holds all."""
    place = place_after(ranked, page)
    if place >= len(ranked):
        return None
    return signer().make([place], binding(plan.scope, job_id, plan.limit))
