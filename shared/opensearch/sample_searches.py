"""Whether entries are found in an index by their own words, asked for a few of them."""

from random import Random
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.opensearch import compare_index
from shared.opensearch.client import refresh, translate_engine_errors
from shared.opensearch.compare_index import Sides
from shared.postgres.fetch_rows import fetch_value
from shared.postgres.pool import connection
from shared.text.analysis.analyser import FILLER

SAMPLES = 20
_TIMEOUT_SECONDS = 10
_WORDS_LOOKED_AT = 50
# An edit may come between reading an entry and asking for it, each time anew.
_LOOKS = 3

_ENDS: LiteralString = """
    SELECT (SELECT entry_id FROM entry_text ORDER BY entry_id LIMIT 1),
           (SELECT entry_id FROM entry_text ORDER BY entry_id DESC LIMIT 1)"""
_FROM: LiteralString = """
    SELECT t.entry_id
      FROM entry_text t
      JOIN entry e ON e.id = t.entry_id AND e.tenant = t.tenant
     WHERE t.entry_id >= %(place)s AND e.deleted_at IS NULL
     ORDER BY t.entry_id
     LIMIT 1"""
_TEXTS: LiteralString = """
    SELECT t.entry_id, left(t.stream, 1000)
      FROM entry_text t
      JOIN entry e ON e.id = t.entry_id AND e.tenant = t.tenant
                  AND e.revision = t.revision
     WHERE t.entry_id = ANY(%(ids)s) AND e.deleted_at IS NULL"""


def missed(sides: Sides, chance: Random) -> list[UUID]:
    """Return which of a few entries, at random, their own longest word does not find.

    What waits for the index, or has changed meanwhile, is no miss; nor is what the
    index holds and has not shown yet.
    """
    with connection(sides.pool) as conn:
        left = _some(conn, chance)
    for _ in range(_LOOKS):
        with connection(sides.pool) as conn:
            words = _words(conn, left)
        left = [one for one, word in words.items() if not _finds(sides, one, word)]
        if not left:
            return []
        refresh(sides.client, sides.index, _TIMEOUT_SECONDS)
    with connection(sides.pool) as conn:
        now = compare_index.rows_of(conn, sides, left)
    return [row.id for row in now if not row.is_known]


def _some(conn: Connection, chance: Random) -> list[UUID]:
    ends = conn.execute(_ENDS).fetchone()
    if ends is None or ends[0] is None:
        return []
    first, last = ends
    found: set[UUID] = set()
    for _ in range(SAMPLES):
        place = UUID(int=chance.randint(first.int, last.int))
        if entry_id := fetch_value(conn, _FROM, {"place": place}):
            found.add(entry_id)
    return sorted(found)


def _words(conn: Connection, ids: list[UUID]) -> dict[UUID, str]:
    """Return a word of each entry as it stands now."""
    words: dict[UUID, str] = {}
    for entry_id, stream in conn.execute(_TEXTS, {"ids": ids}).fetchall():
        # The last one may be cut.
        found = stream.split()[:_WORDS_LOOKED_AT][:-1] or stream.split()
        longest = max((one for one in found if one != FILLER), key=len, default=None)
        if longest is not None:
            words[entry_id] = longest
    return words


def _finds(sides: Sides, entry_id: UUID, word: str) -> bool:
    body: dict[str, Any] = {
        "query": {
            "bool": {
                "filter": [
                    {"ids": {"values": [str(entry_id)]}},
                    {"term": {"stream": word}},
                    {"term": {"deleted": False}},
                ]
            }
        }
    }
    with translate_engine_errors():
        answer = sides.client.count(
            index=sides.index, body=body, params={"request_timeout": _TIMEOUT_SECONDS}
        )
    return int(answer["count"]) == 1
