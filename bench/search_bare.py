"""The engines of a search asked barely: nobody's rights, nobody between."""

from __future__ import annotations

import json
from typing import Any

from bench.search_stack import Stack, Timing, measured
from shared.postgres import connection

_TEXT = """
    SELECT entry_id FROM entry_text
     WHERE tsv @@ %(words)s::tsquery
     ORDER BY ts_rank(tsv, %(words)s::tsquery) DESC LIMIT 50"""
_NEAREST = """
    SELECT entry_id FROM {table}
     ORDER BY embedding <=> %(near)s::halfvec LIMIT 50"""


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


def _rows(stack: Stack, statement: str, given: dict[str, str]) -> list[Any]:
    with connection(stack.pool) as conn:
        return conn.execute(statement.encode(), given).fetchall()
