"""Adds a model's scores of the best hits to the facts, in the time that is left."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from shared.embedding.models.encoder_contract import CrossEncoder
from shared.error_codes import Category
from shared.errors import EmbeddingOutageError, LogchordError, ModuleNotEnabledError
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.search.jobs.outcome import (
    CIRCUIT_OPEN,
    DEADLINE,
    RERANK,
    Outcome,
    make_failure,
)
from shared.search.query.language import tree_text
from shared.search.query.plan import Plan
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.rank import LIKENESS, LOGIT, SHARED_SCALES
from shared.search.results import highlights
from shared.search.results.conclude import conclude
from shared.search.results.hydrate import hydrate
from shared.search.retrieval.search_context import SearchContext

log = get_logger()

# The share of the time left that the model may take: the page is still to be read.
SHARE = 0.6
# A model that was silent for less had too little time: it is not to blame.
_SAYS_SO = 0.5
# Errors of these categories are the model's; all others are those of its texts.
_OF_THE_MODEL = frozenset({Category.EMBEDDING, Category.CONFIGURATION})


def add_cross_encoder_scores(
    context: SearchContext,
    plan: Plan,
    arrived: Mapping[int, Sequence[Outcome]],
    known: Facts,
    left_seconds: float,
) -> Facts:
    """Add to the facts a model's scores of the best hits, or why there are none."""
    if not plan.ordering.by_model or plan.is_listing:
        return known
    query = tree_text.wanted_text(plan.tree).strip()
    if not query:
        return known
    unit = LIKENESS if plan.ordering.late else LOGIT
    seconds = min(left_seconds * SHARE, plan.ordering.model_timeout_ms / 1000)
    if context.cross_encoder is None or seconds <= 0:
        why = "there was no time for it"
        unread = Outcome(RERANK, "skipped", unit, reason=DEADLINE)
        return replace(known, unread_because=why, unread=unread)
    began = time.monotonic()
    ends = began + seconds
    try:
        texts = _texts(context, plan, arrived, known, seconds)
        if not texts:
            return known
        if not context.rerank_circuit.allows():
            why = "it has failed again and again"
            unread = Outcome(RERANK, "skipped", unit, reason=CIRCUIT_OPEN)
            return replace(known, unread_because=why, unread=unread)
        reader = context.cross_encoder()
        logits = _ask(context, reader, plan, query, list(texts.values()), ends)
    except LogchordError as exc:
        # The order stays as it was: a better one is not worth a failed search.
        log.warning("rerank_skipped", code=exc.error_code, technical=exc.technical)
        timed_out = exc.error_code == "branch_timeout" or time.monotonic() >= ends
        failed = "no_model" if exc.category in _OF_THE_MODEL else exc.error_code
        why = "it was late" if timed_out else f"it failed ({exc.error_code})"
        unread = replace(
            make_failure(RERANK, unit, exc),
            # The answer lacks nothing, it only has another order.
            status="skipped",
            reason=DEADLINE if timed_out else failed,
            took_ms=round((time.monotonic() - began) * 1000, 3),
        )
        return replace(known, unread_because=why, unread=unread)
    return replace(known, logits=dict(zip(texts, logits, strict=True)))


def _ask(
    context: SearchContext,
    reader: CrossEncoder,
    plan: Plan,
    query: str,
    texts: Sequence[str],
    ends: float,
) -> list[float]:
    if reader.late is not plan.ordering.late:
        # The setting was changed since: this model's scores are on another scale.
        message = "The model that reads here is not of the kind that was planned."
        raise ModuleNotEnabledError(message, module_name="rerank")
    seconds = ends - time.monotonic()
    try:
        logits = reader.logits(query, texts, seconds)
    except EmbeddingOutageError:
        if seconds * 1000 >= _SAYS_SO * plan.ordering.model_timeout_ms:
            context.rerank_circuit.failed()
        raise
    context.rerank_circuit.succeeded()
    return logits


def _texts(
    context: SearchContext,
    plan: Plan,
    arrived: Mapping[int, Sequence[Outcome]],
    known: Facts,
    seconds: float,
) -> dict[str, str]:
    """Return the passages of the best hits that the caller may see, by entry."""
    # No hit is cut yet: the model may find a hit best that scores low so far.
    uncut = replace(plan.ordering, min_relevance_score=None, strict=False)
    wide = max(plan.window, plan.ordering.model_window)
    order = conclude(replace(plan, ordering=uncut, window=wide), arrived, known).order
    items = order.items[: plan.ordering.model_window]
    if not items:
        return {}
    if plan.ordering.late and items[0].calibration not in SHARED_SCALES:
        # A likeness would move nothing here, so its time is saved.
        return {}
    with connection(context.pool) as conn:
        ids = [UUID(item.entry_id) for item in items]
        rows = hydrate(conn, ids, plan.scope, max(1, int(seconds * 1000)))
    heard = [outcome for branch in arrived.values() for outcome in branch]
    languages = {row.language for row in rows.values()}
    marker = highlights.make_highlighter(context, plan, heard, languages)
    found = {}
    for item in items:
        row = rows.get(UUID(item.entry_id))
        if row is not None:
            span = item.span if item.revision == row.revision else None
            found[item.entry_id] = f"{row.title}\n{marker.mark(row, span).content}"
    return found
