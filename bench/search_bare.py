"""The engines of a search asked barely: nobody's rights, nobody between."""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import mean
from typing import Any

from bench import search_corpus
from bench.search_stack import Stack, Timing, measured
from shared.embedding import nearest
from shared.postgres import connection

_TEXT = """
    SELECT entry_id FROM entry_text
     WHERE tsv @@ %(words)s::tsquery
     ORDER BY ts_rank(tsv, %(words)s::tsquery) DESC LIMIT 50"""
_NEAREST = """
    SELECT entry_id FROM {table}
     ORDER BY embedding <=> %(near)s::halfvec LIMIT 50"""

_TEN = """
    SELECT embedding <=> %(near)s::halfvec FROM {table}
     ORDER BY {order} LIMIT 10"""
_BY_INDEX = "embedding <=> %(near)s::halfvec"
_EXACTLY = "(embedding <=> %(near)s::halfvec) + 0"
RECALL_QUESTIONS = 40


@dataclass(frozen=True)
class Recall:
    """Which share of the nearest ten the index finds, and of the worst question's."""

    questions: int
    mean: float
    least: float


def bare(stack: Stack, samples: int) -> list[Timing]:
    """Ask each engine for fifty, with nobody's rights and nobody between."""

    def words() -> bool:
        text = f"control room after {stack.fresh() % 59} min"
        query = {"match": {"stream": {"query": text, "operator": "and"}}}
        body = {"size": 50, "_source": False, "query": query}
        return bool(stack.client.search(index=stack.index, body=body)["hits"]["hits"])

    def text() -> bool:
        found = _rows(stack, _TEXT, {"words": f"control & room & {stack.fresh() % 59}"})
        return bool(found)

    def vector() -> bool:
        asked = f"not enough flow of cooling water number {stack.fresh()}"
        (found,) = stack.encoder.encode([asked])
        near = _NEAREST.format(table=stack.table)
        return bool(_rows(stack, near, {"near": json.dumps(found.tolist())}))

    kinds = {"bare OpenSearch": words, "bare Postgres text": text}
    return [
        measured(kind, samples, once)
        for kind, once in {**kinds, "bare encoder and pgvector": vector}.items()
    ]


def recall(stack: Stack) -> Recall:
    """Ask for what is like the next entries, by the index and without it."""
    after = search_corpus.drafts(RECALL_QUESTIONS, first=stack.entries + 1)
    vectors = stack.encoder.encode([one.text[:80] for one in after])
    found = []
    with connection(stack.pool) as conn, conn.transaction():
        conn.execute("SET LOCAL statement_timeout = 0")
        conn.execute("SET LOCAL enable_seqscan = off")
        conn.execute(nearest.TUNE, {"ef_search": str(nearest.MIN_EF_SEARCH)})
        for vector in vectors:
            near = {"near": nearest.as_text(vector)}
            by_index, exactly = (
                conn.execute(_TEN.format(table=stack.table, order=order).encode(), near)
                for order in (_BY_INDEX, _EXACTLY)
            )
            tenth = max(distance for (distance,) in exactly)
            found.append(sum(distance <= tenth for (distance,) in by_index) / 10)
    return Recall(len(found), round(mean(found), 3), min(found))


def _rows(stack: Stack, statement: str, given: dict[str, str]) -> list[Any]:
    with connection(stack.pool) as conn:
        return conn.execute(statement.encode(), given).fetchall()
