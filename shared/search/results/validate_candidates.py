"""Compares the hits of sub-queries with the whole question before they are merged.

A hit of one part alone may have nothing to do with the whole question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import numpy as np

from shared.embedding.models import model_names
from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.vectors import vector_tables, vectors
from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Plan
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.ranked_hits import Ranked
from shared.search.results.conclude import conclude
from shared.search.results.hydrate import HitRow, hydrate
from shared.search.retrieval.query_vectors import unpack_vector
from shared.search.retrieval.search_context import SearchContext

log = get_logger()

# How much of a hit's text is compared.
CONTENT_CHARACTERS = 500
# The share of the time left that this may take: the page is still to be read.
SHARE = 0.6


def validate_candidates(
    context: SearchContext,
    plan: Plan,
    arrived: Mapping[int, Sequence[Outcome]],
    known: Facts,
    left_seconds: float,
) -> Facts:
    """Return the facts with each candidate's cosine to the whole question.

    Where nobody can compare them, the facts say why, and no hit is left out.
    """
    if plan.fan_out.threshold is None:
        return known
    heard = [one for branch in arrived.values() for one in branch]
    whole = next((one for one in heard if one.part == 0 and one.vector), None)
    if whole is None:
        return replace(known, unvalidated_because="the question has no vector")
    seconds = left_seconds * SHARE
    if seconds <= 0 or not known.in_time:
        return replace(known, unvalidated_because="there was no time for it")
    items = _candidates(plan, arrived, known)
    if not items:
        return known
    try:
        found = _cosines(context, plan, whole, items, seconds)
    except LogchordError as exc:
        log.warning("candidates_not_validated", code=exc.error_code)
        return replace(known, unvalidated_because=f"it failed ({exc.error_code})")
    return replace(known, validation=found)


def cosine(one: Vectors, other: Vectors) -> float:
    """Return the cosine of two vectors; 0 where one of them has no length."""
    norms = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float(one @ other) / norms if norms else 0.0


def content_of(row: HitRow, item: Ranked) -> str:
    """Return the part of a hit that is compared: its title, and its best passage."""
    start = item.span[0] if item.span and item.revision == row.revision else 0
    title = f"{row.title}\n" if row.title else ""
    return f"{title}{row.text[start:]}"[:CONTENT_CHARACTERS]


def _candidates(
    plan: Plan, arrived: Mapping[int, Sequence[Outcome]], known: Facts
) -> Sequence[Ranked]:
    """Return the best hits of the sub-queries, before any is cut by its score."""
    uncut = replace(plan.ordering, min_relevance_score=0.0, strict=False)
    return conclude(replace(plan, ordering=uncut), arrived, known).order.items


def _cosines(
    context: SearchContext,
    plan: Plan,
    whole: Outcome,
    items: Sequence[Ranked],
    seconds: float,
) -> dict[str, float]:
    """Return the hits' cosines by the model that the threshold belongs to."""
    name, vector = whole.model or "", unpack_vector(whole.vector or "")
    tenant, scope = plan.scope.tenant, plan.scope
    threshold = plan.fan_out.threshold or 0.0
    ids = [UUID(item.entry_id) for item in items]
    with connection(context.pool) as conn:
        rows = hydrate(conn, ids, scope, max(1, int(seconds * 1000)))
        model = context.models.named(name) or vector_tables.find_model(conn, name)
        stored: dict[UUID, float] = {}
        if model is not None and rows:
            table = model.table_name
            stored = vectors.load_cosines(conn, table, tenant, vector, [*rows])
    # An entry that is compared as a whole has a stored vector already. So has each
    # passage of a long one: where the nearest is near enough, no text is read again.
    told = {
        entry_id: near
        for entry_id, one in stored.items()
        if (near := _as_minilm(one, name)) >= threshold or _is_short(rows[entry_id])
    }
    texts = {
        entry_id: content_of(rows[entry_id], item)
        for item in items
        if (entry_id := UUID(item.entry_id)) in rows and entry_id not in told
    }
    encoder = context.encoder(name).within(seconds)
    made = context.passage_vectors.of(encoder, [*texts.values()])
    told |= {
        entry_id: _as_minilm(cosine(one, vector), name)
        for entry_id, one in zip(texts, made, strict=True)
    }
    return {str(entry_id): one for entry_id, one in told.items()}


def _is_short(row: HitRow) -> bool:
    return len(row.title) + len(row.text) < CONTENT_CHARACTERS


def _as_minilm(cosine_of: float, model: str) -> float:
    """Return a cosine on the scale of the model that the threshold was said of."""
    return model_names.equal_cosine(cosine_of, model, model_names.MINILM)
