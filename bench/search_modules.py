"""Search modules called in this process: no HTTP and no message between them."""

import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from bench.search_stack import Make, Stack, Timing, measured, questions
from shared.access.scope import Scope
from shared.embedding.vectors.exact_or_index import Sizes
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.results.conclude import conclude
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.tenant_languages import WrittenIn
from shared.vocabulary.recent_words import Present

_SCOPE = Scope("default", "bench")
_SECONDS = 10.0
_SIDE_BY_SIDE = 2
_ASKED = (
    *("keyword, rare", "keyword, common", "keyword, nothing", "semantic"),
    *("hybrid, fused only", "hybrid, filtered"),
)


def at_the_module(stack: Stack, samples: int) -> list[Timing]:
    """Measure the branches of each kind of search, side by side as workers do them."""
    context = _tools(stack)
    asked = questions(stack)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        return [
            measured(f"module of {kind}", samples, _once(asked[kind], context, threads))
            for kind in _ASKED
        ]


def _once(make: Make, context: SearchContext, threads: Executor) -> Callable[[], bool]:
    def once() -> bool:
        body = make()
        filters = body.get("filters")
        asked = SearchQuery(body["query"], mode=body["mode"], filters=filters)
        plan = make_plan(asked, _SCOPE, PlanLimits())
        ends_at = time.time() + _SECONDS

        def carried_out(name: str) -> list[Outcome]:
            branch = Branch(plan, name, ends_at, time.time)
            return branch_run.carry_out(branch, context)

        arrived = dict(enumerate(threads.map(carried_out, plan.branches)))
        for one in (one for several in arrived.values() for one in several):
            if one.status not in {"ok", "empty"}:
                message = f"{one.name} ended {one.status}: {one.reason}"
                raise RuntimeError(message)
        return bool(conclude(plan, arrived).ranked)

    return once


def _tools(stack: Stack) -> SearchContext:
    return SearchContext(
        pool=stack.pool,
        opensearch=lambda: stack.client,
        index=stack.made.settings.opensearch_index,
        encoder=lambda _: stack.encoder,
        sizes=Sizes(time.monotonic),
        present=Present(time.monotonic),
        written_in=WrittenIn(),
    )
