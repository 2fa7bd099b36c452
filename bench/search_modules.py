"""Each search module called in this process: no HTTP, no message, no ranking."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.search_stack import Make, Stack, Timing, measured, questions
from shared.access.scope import Scope
from shared.embedding.in_use import InUse
from shared.embedding.sizes import Sizes
from shared.query.plan import Limits, Question, make_plan
from shared.retrieval import attempt
from shared.retrieval.attempt import Branch
from shared.retrieval.circuit import Circuit
from shared.retrieval.freshness import Freshness
from shared.retrieval.module import Tools
from shared.retrieval.query_vectors import QueryVectors
from shared.retrieval.written_in import WrittenIn
from shared.vocabulary.present import Present

_SCOPE = Scope("default", "bench")
_SECONDS = 10.0
_ASKED = ("keyword, rare", "keyword, common", "keyword, nothing", "semantic")


def at_the_module(stack: Stack, samples: int) -> list[Timing]:
    """Measure the branches of each kind of search, one after the other."""
    tools = _tools(stack)
    asked = questions(stack)
    return [
        measured(f"module of {kind}", samples, _once(asked[kind], tools))
        for kind in _ASKED
    ]


def _once(make: Make, tools: Tools) -> Callable[[], bool]:
    def once() -> bool:
        body = make()
        asked = Question(body["query"], mode=body["mode"])
        plan = make_plan(asked, _SCOPE, Limits())
        hits = 0
        for name in plan.branches:
            branch = Branch(plan, name, time.time() + _SECONDS, time.time)
            for one in attempt.carry_out(branch, lambda: tools):
                if one.status not in {"ok", "empty"}:
                    message = f"{name} ended {one.status}: {one.reason}"
                    raise RuntimeError(message)
                hits += len(one.hits)
        return hits > 0

    return once


def _tools(stack: Stack) -> Tools:
    return Tools(
        pool=stack.pool,
        opensearch=lambda: stack.client,
        index=stack.made.settings.opensearch_index,
        similarity_threshold=None,
        models=InUse(stack.pool, time.monotonic),
        encoder=lambda _: stack.encoder,
        query_vectors=QueryVectors(),
        freshness=Freshness(time.monotonic),
        circuit=Circuit(time.monotonic),
        sizes=Sizes(time.monotonic),
        present=Present(time.monotonic),
        written_in=WrittenIn(),
    )
