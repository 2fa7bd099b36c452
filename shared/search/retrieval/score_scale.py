"""Measures how large raw scores are in these entries, by a sample of their own words.

BM25 and `ts_rank` grow with how rare a word is, and so with the number of entries. The
best hit of a usual word is worth 0.8, where hits are trusted most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any, LiteralString

from psycopg import Connection

from shared.entries.reading import entry_counts
from shared.opensearch.client import translate_engine_errors
from shared.opensearch.mapping import read_alias
from shared.postgres.pool import Pool, connection
from shared.text.analysis.analyser import FILLER, quote_lexeme

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

# How many entries give a word each; fewer different words tell nothing.
SAMPLES, _FEWEST = 100, 10
_ROWS_LOOKED_AT = 2000
# s / (s + c) is 0.8 where c is a quarter of s.
_SHARE_OF_BEST = 0.25
# The longest of so many words of an entry is taken, for short ones tell little.
_LOOKED_AT = 4
# A smaller change is not stored, or whoever compares two answers would see another
# setting.
_CHANGE = 0.2
_TIMEOUT_SECONDS = 10

# Reads some rows of random pages of the table.
_TEXTS: LiteralString = """
    SELECT left(t.stream, 400)
      FROM entry_text t TABLESAMPLE SYSTEM (%(percent)s)
     ORDER BY random()
     LIMIT %(limit)s"""
# Ranks as `pg_fts` does, without regard to rights.
_RANKED: LiteralString = """
    SELECT (SELECT max(ts_rank(found.tsv, word::tsquery, 1))::float8
              FROM (SELECT t.tsv FROM entry_text t
                     WHERE t.tsv @@ word::tsquery LIMIT 500) AS found)
      FROM unnest(%(words)s::text[]) AS word"""
_KEEP: LiteralString = """
    INSERT INTO score_scale AS s (unit, half, measured_in)
    VALUES (%(unit)s, %(half)s, %(measured_in)s)
        ON CONFLICT (unit) DO UPDATE
       SET half = excluded.half, measured_in = excluded.measured_in,
           measured_at = now()
     WHERE abs(s.half - excluded.half) > %(change)s * s.half
        OR s.measured_in <> excluded.measured_in"""
_LOAD: LiteralString = "SELECT unit, half FROM score_scale ORDER BY unit LIMIT 100"


def load_scale(conn: Connection) -> dict[str, float]:
    """Return the raw score of a word that is worth a half, by its unit."""
    return dict(conn.execute(_LOAD).fetchall())


def store_scale(conn: Connection, measured: Mapping[str, tuple[float, str]]) -> None:
    """Store measured scales and where they come from, unless they hardly changed."""
    for unit, (half, measured_in) in sorted(measured.items()):
        given = {"unit": unit, "half": half, "measured_in": measured_in}
        conn.execute(_KEEP, {**given, "change": _CHANGE})


def measure_scale(
    pool: Pool, client: OpenSearch | None, base: str, chance: Random
) -> dict[str, tuple[float, str]]:
    """Measure by unit the raw score that is worth a half, and where it was measured.

    A unit with too few hits is left out.
    """
    with connection(pool) as conn:
        words = _sample_words(conn, chance)
        if len(words) < _FEWEST:
            return {}
        rows = conn.execute(_RANKED, {"words": [*map(quote_lexeme, words)]})
        best = {"ts_rank": ([row[0] for row in rows if row[0]], "entry_text")}
    if client is not None:
        best["bm25"] = _best_scores(client, read_alias(base), words)
    return {
        unit: (_half(scores), where)
        for unit, (scores, where) in best.items()
        if len(scores) >= _FEWEST
    }


def _half(scores: Sequence[float]) -> float:
    """Return the score worth a half, to two digits, by the best hits of some words."""
    return float(f"{_SHARE_OF_BEST * median(scores):.1e}")


def _sample_words(conn: Connection, chance: Random) -> list[str]:
    """Return a word from each of some random entries, each once.

    Taken as often as it comes, one very common word more or less halves the scale of a
    small logbook.
    """
    about = max(1, entry_counts.estimate_entries(conn))
    percent = min(100.0, 100.0 * _ROWS_LOOKED_AT / about)
    given = {"percent": percent, "limit": SAMPLES}
    found: set[str] = set()
    for (stream,) in conn.execute(_TEXTS, given).fetchall():
        # The last word may be cut.
        terms = [one for one in stream.split()[:-1] if one != FILLER]
        some = chance.sample(terms, min(_LOOKED_AT, len(terms)))
        if some:
            found.add(max(some, key=len))
    return sorted(found)


def _best_scores(
    client: OpenSearch, index: str, words: Sequence[str]
) -> tuple[list[float], str]:
    """Return the score of the best hit of each word, and the index that has them."""
    lines: list[Mapping[str, Any]] = []
    for word in words:
        query = {
            "bool": {
                "must": [{"term": {"stream": {"value": word}}}],
                "filter": [{"term": {"deleted": False}}],
            }
        }
        lines += [{}, {"size": 1, "_source": False, "query": query}]
    given = {"request_timeout": _TIMEOUT_SECONDS}
    with translate_engine_errors():
        answers = client.msearch(index=index, body=lines, params=given)["responses"]
    hits = [one.get("hits", {}).get("hits", []) for one in answers]
    found = [hits_of_one[0] for hits_of_one in hits if hits_of_one]
    where = found[0]["_index"] if found else index
    return [float(one["_score"]) for one in found], where
