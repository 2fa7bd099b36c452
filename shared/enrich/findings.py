"""What stages have found in an entry, kept for filters: a row for each stage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.text.analyser import quoted
from shared.text.facts import MARK, Fact
from shared.text.quantities import Quantity

# A text of nothing but names does not fill the index with them.
MAX_TERMS = 1000

_KNOWN: LiteralString = """
    SELECT f.terms = %(terms)s AND f.people = %(people)s
           AND f.facts = %(facts)s::jsonb
      FROM entry_finding f
     WHERE f.entry_id = %(entry_id)s AND f.stage = %(stage)s
       AND f.tenant = %(tenant)s"""

_STORE: LiteralString = """
    INSERT INTO entry_finding (entry_id, stage, tenant, revision, version, inputs,
                               facts, terms, people, found, words)
    VALUES (%(entry_id)s, %(stage)s, %(tenant)s, %(revision)s, %(version)s, %(inputs)s,
            %(facts)s::jsonb, %(terms)s, %(people)s, %(found)s::jsonb, %(words)s)
        ON CONFLICT (entry_id, stage) DO UPDATE
       SET revision = excluded.revision, version = excluded.version,
           inputs = excluded.inputs, facts = excluded.facts, terms = excluded.terms,
           people = excluded.people, found = excluded.found, words = excluded.words,
           updated_at = now()
     WHERE excluded.revision >= entry_finding.revision
       AND entry_finding.tenant = excluded.tenant"""

_FORGET_QUANTITIES: LiteralString = """
    DELETE FROM entry_quantity
     WHERE entry_id = %(entry_id)s AND tenant = %(tenant)s"""

_STORE_QUANTITIES: LiteralString = """
    INSERT INTO entry_quantity (entry_id, place, tenant, dimension, value, name,
                                device, parameter, said_at)
    SELECT %(entry_id)s, q.place, %(tenant)s, q.dimension, q.value, q.name,
           q.device, q.parameter, q.said_at
      FROM unnest(%(dimensions)s::text[], %(sizes)s::float8[], %(names)s::text[],
                  %(devices)s::text[], %(parameters)s::text[],
                  %(moments)s::timestamptz[])
           WITH ORDINALITY
           AS q (dimension, value, name, device, parameter, said_at, place)
     ORDER BY q.place"""

_TERMS_OF_OTHERS: LiteralString = """
    SELECT coalesce(array_agg(DISTINCT term ORDER BY term), '{}')
      FROM entry_finding f, unnest(f.terms) AS term
     WHERE f.entry_id = %(entry_id)s AND f.stage <> %(stage)s
       AND f.tenant = %(tenant)s"""


@dataclass(frozen=True, slots=True)
class Told:
    """What a stage found in words of its own, and what of it is searched."""

    found: list[dict[str, Any]] = field(default_factory=list)
    words: str = ""


NOTHING_TOLD = Told()


def terms_of(facts: Iterable[Fact]) -> list[str]:
    """Return the terms of facts, in order; what both engines compare."""
    found = sorted({term for fact in facts for term in fact.terms()})
    return found[:MAX_TERMS]


def lexemes(terms: Iterable[str]) -> str:
    """Return the terms as they stand in a tsvector, apart from every word."""
    return " ".join(quoted(MARK + term) for term in terms)


def store(
    conn: Connection[TupleRow],
    key: dict[str, Any],
    stage: str,
    *,
    version: int,
    inputs: bytes,
    facts: Sequence[Fact],
    people: str = "",
    told: Told = NOTHING_TOLD,
) -> bool:
    """Replace what a stage has found; true if filters see a difference.

    `key` names entry, tenant and revision. Whoever has facts for filters holds the
    entry's row.
    """
    row = {
        **key,
        "stage": stage,
        "version": version,
        "inputs": inputs,
        "facts": json.dumps([_as_json(fact) for fact in facts]),
        "terms": terms_of(facts),
        "people": people,
        "found": json.dumps(told.found),
        "words": told.words,
    }
    known = conn.execute(_KNOWN, row).fetchone()
    conn.execute(_STORE, row)
    if known is None:
        return bool(facts)
    return not known[0]


def store_quantities(
    conn: Connection[TupleRow], key: dict[str, Any], found: Sequence[Quantity]
) -> None:
    """Replace the quantities of an entry; the caller holds the entry's row."""
    conn.execute(_FORGET_QUANTITIES, key)
    if found:
        row = {
            **key,
            "dimensions": [one.dimension for one in found],
            "sizes": [one.value for one in found],
            "names": [one.name for one in found],
            "devices": [one.device or None for one in found],
            "parameters": [one.parameter or None for one in found],
            "moments": [one.said_at for one in found],
        }
        conn.execute(_STORE_QUANTITIES, row)


def terms_of_others(
    conn: Connection[TupleRow], key: dict[str, Any], stage: str
) -> list[str]:
    """Return the terms that other stages have found in an entry."""
    row = conn.execute(_TERMS_OF_OTHERS, {**key, "stage": stage}).fetchone()
    return list(row[0]) if row else []


def _as_json(fact: Fact) -> dict[str, Any]:
    return {
        name: value for name, value in asdict(fact).items() if value not in (None, ())
    }
