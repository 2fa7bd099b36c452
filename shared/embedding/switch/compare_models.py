"""Two models on the same questions: what they have in common, and what each costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from shared.access.scope import Scope
from shared.embedding.models.encoder_contract import Encoder, encode_question
from shared.embedding.vectors.nearest import find_nearest
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.postgres.pool import Pool, connection

QUESTIONS, BEST = 50, 10
# One step of a chore: with a slow model fewer questions are asked.
SECONDS = 15.0

# What was asked of late; with too little of that, what was written.
_ASKED: LiteralString = """
    SELECT tenant, request->>'query' FROM job
     WHERE request->>'query' <> '' ORDER BY id DESC LIMIT 500"""
_WRITTEN: LiteralString = """
    SELECT e.tenant, left(concat_ws(' ', nullif(r.title, ''), r.text), 80)
      FROM entry e JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
     WHERE e.deleted_at IS NULL
     ORDER BY e.id DESC
     LIMIT 50"""

Question = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Side:
    """A model, and what makes its vectors."""

    model: EmbeddingModel
    encoder: Encoder


def questions(conn: Connection[TupleRow]) -> list[Question]:
    """Return whose and what: stored queries, each once, newest first."""
    found = conn.execute(_ASKED).fetchall()
    if len(found) < QUESTIONS:
        found += conn.execute(_WRITTEN).fetchall()
    asked = dict.fromkeys((str(tenant), str(text)) for tenant, text in found)
    return [one for one in asked if one[1].strip()][:QUESTIONS]


def compare(
    pool: Pool, old: Side, new: Side, asked: Sequence[Question]
) -> dict[str, Any]:
    """Return the mean overlap of the best ten, and the time that each model takes."""
    ends = time.monotonic() + SECONDS
    shares: list[float] = []
    took: dict[str, list[float]] = {old.model.model: [], new.model.model: []}
    for tenant, text in asked:
        if time.monotonic() >= ends:
            break
        before, after = (
            _best(pool, side, tenant, text, took[side.model.model])
            for side in (old, new)
        )
        most = max(len(before), len(after))
        if most:
            shares.append(len(before & after) / most)
    return {
        "queries": len(shares),
        "overlap_at_10": round(float(np.mean(shares)), 3) if shares else None,
        "latency_ms": {model: _spread(times) for model, times in took.items()},
    }


def _best(
    pool: Pool, side: Side, tenant: str, text: str, times: list[float]
) -> set[UUID]:
    """Return the nearest of all entries; only numbers leave the comparison."""
    began = time.perf_counter()
    vector = encode_question(side.encoder, text)
    scope = Scope(tenant, "reembed")
    with connection(pool) as conn:
        near = find_nearest(conn, side.model.table_name, scope, vector, BEST)
    times.append(1000 * (time.perf_counter() - began))
    return {one.entry_id for one in near}


def _spread(times: Sequence[float]) -> dict[str, float] | None:
    if not times:
        return None
    p50, p95 = np.percentile(times, [50, 95])
    return {"p50": round(float(p50), 1), "p95": round(float(p95), 1)}
