"""Tells with `debug` how an answer came about: its plan, and the steps of scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.search.query.modes import AGENTIC
from shared.search.query.ordering import CARRIED, NAMED, Ordering
from shared.search.query.plan import Plan
from shared.search.ranking.linear_rerank import COSINE, MOVED
from shared.search.ranking.rank import LOGIT
from shared.search.results.conclude import Conclusion
from shared.search.results.hit import Hit


def trace_scores(
    plan: Plan, conclusion: Conclusion, hits: Sequence[Hit], sent: Mapping[str, object]
) -> dict[str, Any]:
    """Return the plan with the queries sent, and the steps of each hit's score."""
    fused = {item.entry_id: item.fused for item in conclusion.ranked}
    return {
        "plan": {**planned(plan), **_phases(plan, conclusion, len(hits)), **sent},
        "score_trace": [
            _trace(hit, fused.get(hit.entry_id, 0.0), conclusion, plan) for hit in hits
        ],
    }


def _phases(plan: Plan, conclusion: Conclusion, returned: int) -> dict[str, Any]:
    """Count the results of each phase of a question that was taken apart."""
    if plan.method != AGENTIC:
        return {}
    order = conclusion.order
    return {
        "phases": {
            "planner": {"sub_queries": len(plan.sub_queries)},
            "retriever": {
                "branches": len(conclusion.branches),
                "took_ms": max((o.took_ms for o in conclusion.branches), default=0.0),
            },
            "validator": {"validated": order.validated, "rejected": order.rejected},
            "synthesizer": {"found": order.found, "returned": returned},
        }
    }


def planned(plan: Plan) -> dict[str, Any]:
    """Return the parts of a plan that `debug` shows, carried out or not."""
    ordering = plan.ordering
    return {
        "query": plan.query,
        "intent": plan.intent,
        "mode": plan.method,
        "reasoning": plan.reasoning,
        "branches": list(plan.branches),
        "sub_queries": list(plan.sub_queries),
        "decomposed_by": plan.fan_out.strategy,
        "limit": plan.limit,
        "window": plan.window,
        "deadline_ms": plan.deadline_ms,
        "rrf_k": plan.rrf_k,
        "rerank": _rerank(ordering),
        "feedback": ordering.feedback,
        "domain_weights": dict(ordering.domain_weights),
        "branch_weights": dict(ordering.branch_weights),
        "weigh_by_best": ordering.weigh_by_best,
        "context_boosts": {
            "origin": ordering.machine_factor,
            "graph_gravity": ordering.gravity_factor,
            **_boosts(ordering),
        },
    }


def _boosts(ordering: Ordering) -> dict[str, float]:
    """Return the factors that this question's context gives to some of its hits."""
    applies = {
        "entity_proximity": (NAMED in ordering.near, ordering.entity_factor),
        "scope": (any(ordering.scope.values()), ordering.scope_factor),
        "session": (
            CARRIED in ordering.near or bool(ordering.places),
            ordering.session_factor,
        ),
    }
    return {name: factor for name, (is_so, factor) in applies.items() if is_so}


def _rerank(ordering: Ordering) -> str:
    if ordering.by_model:
        return "late" if ordering.late else "model"
    return "linear" if ordering.rerank else "none"


def _trace(
    hit: Hit, fused: float, conclusion: Conclusion, plan: Plan
) -> dict[str, Any]:
    score = f"{hit.calibration} {hit.relevance_score:.6f}"
    ranks = ", ".join(f"{name} {rank}" for name, rank in hit.ranks.items())
    factors = ", ".join(f"{name} {one:g}" for name, one in hit.factors.items())
    reranked = f"{fused:.6f} before factors" if conclusion.order.reranked else "none"
    if MOVED in hit.scores:
        own = hit.scores.get(COSINE)
        was = "" if own is None else f", {own:.6f} before"
        reranked += f"; question moved, cosine {hit.scores[MOVED]:.6f}{was}"
    return {
        "entry_id": hit.entry_id,
        "chunk_id": hit.chunk_id,
        "contrib": hit.contrib,
        "factors": hit.factors,
        "fused": fused,
        "rerank_logit": hit.scores.get(LOGIT),
        "calibrated": hit.relevance_score,
        # The map from the product of score and factors to the score that is shown.
        "calibration": hit.calibration,
        # In the order in which a search goes through them.
        "steps": [
            f"Query Analysis: {plan.method}",
            f"Parallel Search: {ranks}",
            f"Result Fusion: {hit.scores['rrf']:.6f}",
            f"Reranking: {reranked}; factors {factors or 'none'}",
            f"Filtering: {score}, {hit.confidence}",
            f"Limiting: place {hit.rank}, {hit.similar_count} alike behind it",
            "Synthesis: none",
        ],
    }
