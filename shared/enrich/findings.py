"""What stages have found in entries, kept for filters: a row for each and its entry."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.text.analysis.analyser import quote_lexeme
from shared.text.facts import MARK, Fact
from shared.text.reading.quantities import Quantity

# A text of nothing but names does not fill the index with them.
MAX_TERMS = 1000

# All of them see the table as it was before. As JSON, for no array holds arrays of
# different lengths.
_STORE: LiteralString = """
    WITH given AS MATERIALIZED (
        SELECT g.entry_id, g.revision, g.version, g.inputs, g.facts, g.terms, g.people,
               g.found, g.words
          FROM json_to_recordset(%(rows)s::json) AS g (
            entry_id uuid, revision integer, version bigint, inputs bytea, facts jsonb,
            terms text[], people text, found jsonb, words text)),
    known AS (
        SELECT g.entry_id, f.terms = g.terms AND f.people = g.people
               AND f.facts = g.facts AS is_same
          FROM given g
          JOIN entry_finding f ON f.entry_id = g.entry_id
         WHERE f.stage = %(stage)s AND f.tenant = %(tenant)s),
    stored AS (
        INSERT INTO entry_finding (entry_id, stage, tenant, revision, version, inputs,
                                   facts, terms, people, found, words)
        SELECT g.entry_id, %(stage)s, %(tenant)s, g.revision, g.version, g.inputs,
               g.facts, g.terms, g.people, g.found, g.words
          FROM given g
         ORDER BY g.entry_id
            ON CONFLICT (entry_id, stage) DO UPDATE
           SET revision = excluded.revision, version = excluded.version,
               inputs = excluded.inputs, facts = excluded.facts,
               terms = excluded.terms, people = excluded.people,
               found = excluded.found, words = excluded.words, updated_at = now()
         WHERE excluded.revision >= entry_finding.revision
           AND entry_finding.tenant = excluded.tenant)
    SELECT g.entry_id
      FROM given g
      LEFT JOIN known k ON k.entry_id = g.entry_id
     WHERE CASE WHEN k.entry_id IS NULL THEN g.facts <> '[]' ELSE NOT k.is_same END
     ORDER BY g.entry_id"""

_FORGET_QUANTITIES: LiteralString = """
    DELETE FROM entry_quantity
     WHERE entry_id = ANY(%(ids)s) AND tenant = %(tenant)s"""

_STORE_QUANTITIES: LiteralString = """
    INSERT INTO entry_quantity (entry_id, place, tenant, dimension, value, name,
                                device, parameter, said_at)
    SELECT q.entry_id, q.place, %(tenant)s, q.dimension, q.value, q.name, q.device,
           q.parameter, q.said_at
      FROM unnest(%(entry_ids)s::uuid[], %(places)s::integer[],
                  %(dimensions)s::text[], %(sizes)s::float8[], %(names)s::text[],
                  %(devices)s::text[], %(parameters)s::text[],
                  %(moments)s::timestamptz[])
           AS q (entry_id, place, dimension, value, name, device, parameter, said_at)
     ORDER BY q.entry_id, q.place"""

_TERMS_OF_OTHERS: LiteralString = """
    SELECT f.entry_id, array_agg(DISTINCT term ORDER BY term)
      FROM entry_finding f, unnest(f.terms) AS term
     WHERE f.entry_id = ANY(%(ids)s) AND f.stage <> %(stage)s
       AND f.tenant = %(tenant)s
     GROUP BY f.entry_id
     ORDER BY f.entry_id
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class StageFindings:
    """The findings of a stage in one revision: facts for filters, or its own words."""

    entry_id: UUID
    revision: int
    # The version of the stage together with its settings.
    version: int
    # A digest of the fields that the stage reads; empty where it reads all of them.
    inputs: bytes = b""
    facts: Sequence[Fact] = ()
    # The facts as both engines compare them.
    terms: Sequence[str] = field(kw_only=True)
    people: str = ""
    found: Sequence[dict[str, Any]] = ()
    # What of it is searched.
    words: str = ""


def terms_of(facts: Iterable[Fact]) -> list[str]:
    """Return the terms of facts, in order; what both engines compare."""
    return sorted({term for fact in facts for term in fact.terms()})[:MAX_TERMS]


def lexemes(terms: Iterable[str]) -> str:
    """Return the terms as they stand in a tsvector, apart from every word."""
    return " ".join(quote_lexeme(MARK + term) for term in terms)


def store(
    conn: Connection, tenant: str, stage: str, told: Iterable[StageFindings]
) -> set[UUID]:
    """Replace the findings of a stage; return the entries that filters see changed.

    Whoever has facts for filters holds the rows of the entries.
    """
    rows = [
        {
            "entry_id": str(one.entry_id),
            "revision": one.revision,
            "version": one.version,
            "inputs": f"\\x{one.inputs.hex()}",
            "facts": [_as_json(fact) for fact in one.facts],
            "terms": one.terms,
            "people": one.people,
            "found": one.found,
            "words": one.words,
        }
        for one in told
    ]
    if not rows:
        return set()
    values = {"tenant": tenant, "stage": stage, "rows": json.dumps(rows)}
    # Planned each time, as all that looks for many: a plan of tables that were small
    # goes on reading the whole of them while they grow.
    return {entry_id for (entry_id,) in conn.execute(_STORE, values, prepare=False)}


def store_quantities(
    conn: Connection, tenant: str, found: Mapping[UUID, Sequence[Quantity]]
) -> None:
    """Replace the quantities of entries; the caller holds the rows of these."""
    asked = {"tenant": tenant, "ids": sorted(found)}
    conn.execute(_FORGET_QUANTITIES, asked, prepare=False)
    placed = [
        (entry_id, place, one)
        for entry_id, quantities in found.items()
        for place, one in enumerate(quantities, 1)
    ]
    if placed:
        row = {
            "tenant": tenant,
            "entry_ids": [entry_id for entry_id, _, _ in placed],
            "places": [place for _, place, _ in placed],
            "dimensions": [one.dimension for _, _, one in placed],
            "sizes": [one.value for _, _, one in placed],
            "names": [one.name for _, _, one in placed],
            "devices": [one.device or None for _, _, one in placed],
            "parameters": [one.parameter or None for _, _, one in placed],
            "moments": [one.said_at for _, _, one in placed],
        }
        conn.execute(_STORE_QUANTITIES, row, prepare=False)


def terms_of_others(
    conn: Connection, tenant: str, stage: str, ids: Sequence[UUID]
) -> dict[UUID, list[str]]:
    """Return the terms that other stages have found, of entries that have any."""
    values = {"tenant": tenant, "stage": stage, "ids": list(ids)}
    return dict(conn.execute(_TERMS_OF_OTHERS, values, prepare=False).fetchall())


def _as_json(fact: Fact) -> dict[str, Any]:
    known: dict[str, Any] = {"field": fact.field, "value": fact.value, "how": fact.how}
    if fact.start is not None:
        known["start"] = fact.start
    if fact.end is not None:
        known["end"] = fact.end
    if fact.aliases:
        known["aliases"] = fact.aliases
    return known
