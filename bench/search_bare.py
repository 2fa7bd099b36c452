"""The engines of a search asked barely: nobody's rights, nobody between."""

from dataclasses import dataclass
from statistics import mean
from typing import Any

from pgvector import HalfVector

from bench import search_corpus
from bench.search_stack import Stack, Timing, measured, questions
from shared.embedding.models.encoder_contract import encode_question
from shared.embedding.vectors import nearest
from shared.postgres.pool import connection

_TEXT = """
    SELECT entry_id FROM entry_text
     WHERE tsv @@ %(words)s::tsquery
     ORDER BY ts_rank(tsv, %(words)s::tsquery) DESC LIMIT 50"""
_NEAREST = """
    SELECT entry_id FROM {table}
     ORDER BY embedding <=> %(near)s LIMIT 50"""

_TEN = """
    SELECT embedding <=> %(near)s FROM {table}
     ORDER BY {order} LIMIT 10"""
_BY_INDEX = "embedding <=> %(near)s"
_EXACTLY = "(embedding <=> %(near)s) + 0"
RECALL_QUESTIONS = 40
BARE_RARE, BARE_COMMON = "bare OpenSearch, rare", "bare OpenSearch, common"
BARE_NOTHING, BARE_ANY = "bare OpenSearch, nothing", "bare OpenSearch, any word"
BARE_VECTOR = "bare encoder and pgvector"
_FLOOR = {
    "keyword, rare": (BARE_RARE,),
    "keyword, common": (BARE_COMMON,),
    "keyword, nothing": (BARE_NOTHING,),
    "semantic": (BARE_VECTOR,),
}


@dataclass(frozen=True)
class Recall:
    """Which share of the nearest ten the index finds, and of the worst question's."""

    questions: int
    mean: float
    least: float


def bare(stack: Stack, samples: int) -> list[Timing]:
    """Ask each engine for fifty, with nobody's rights and nobody between."""
    asked = questions(stack)

    def words(kind: str, operator: str = "and") -> bool:
        match = {"stream": {"query": asked[kind]()["query"], "operator": operator}}
        body = {"size": 50, "_source": False, "query": {"match": match}}
        return bool(stack.client.search(index=stack.index, body=body)["hits"]["hits"])

    def text() -> bool:
        found = _rows(stack, _TEXT, {"words": f"control & room & {stack.fresh() % 59}"})
        return bool(found)

    def vector() -> bool:
        found = encode_question(stack.encoder, asked["semantic"]()["query"])
        near = _NEAREST.format(table=stack.table)
        return bool(_rows(stack, near, {"near": HalfVector(found)}))

    kinds = {
        BARE_RARE: lambda: words("keyword, rare"),
        BARE_COMMON: lambda: words("keyword, common"),
        BARE_NOTHING: lambda: words("keyword, nothing"),
        BARE_ANY: lambda: words("semantic", "or"),
        "bare Postgres text, common": text,
        BARE_VECTOR: vector,
    }
    return [measured(kind, samples, once) for kind, once in kinds.items()]


def floor_of(kind: str) -> tuple[str, ...]:
    """Return the bare rows without which a kind of search cannot be answered."""
    asked = kind.removeprefix("module of ")
    if asked.startswith("hybrid"):
        return BARE_ANY, BARE_VECTOR
    return _FLOOR.get(asked, ())


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
            near = {"near": HalfVector(vector)}
            by_index, exactly = (
                conn.execute(_TEN.format(table=stack.table, order=order).encode(), near)
                for order in (_BY_INDEX, _EXACTLY)
            )
            tenth = max(distance for (distance,) in exactly)
            found.append(sum(distance <= tenth for (distance,) in by_index) / 10)
    return Recall(len(found), round(mean(found), 3), min(found))


def _rows(stack: Stack, statement: str, given: dict[str, Any]) -> list[Any]:
    with connection(stack.pool) as conn:
        return conn.execute(statement.encode(), given).fetchall()
