"""The glossary as it is shown: each term with what entries that are seen say of it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import cursors, rights
from shared.access.scope import Scope
from shared.glossary import glossary_terms
from shared.glossary.glossary_terms import State
from shared.postgres.fetch_rows import fetch_all, fetch_value

# How many entries of a form are quoted; how many there are is counted.
MOST_QUOTED = 3
_BEFORE, _QUOTE = 40, 200

_OF_DIGEST: LiteralString = """
    SELECT g.term_key
      FROM glossary_form g
     WHERE g.tenant = %(tenant)s
       AND sha256(convert_to(g.term_key, 'UTF8')) = %(digest)s
     LIMIT 1"""
_PAGE: LiteralString = f"""
    WITH page AS (
        SELECT g.term_key, g.state
          FROM glossary_form g
         WHERE g.tenant = %(tenant)s
           AND (%(state)s::text IS NULL OR g.state = %(state)s)
           AND (%(term_key)s::text IS NULL OR g.term_key = %(term_key)s)
           AND (%(after_key)s::text IS NULL
                OR (g.term_key, g.state) > (%(after_key)s, %(after_state)s))
           {glossary_terms.TOLD}
         GROUP BY g.term_key, g.state
         ORDER BY g.term_key, g.state
         LIMIT %(limit)s)
    SELECT g.term_key, g.state, g.term, g.form, s.entries, s.quotes
      FROM page p
      JOIN glossary_form g ON g.tenant = %(tenant)s AND g.term_key = p.term_key
       AND g.state = p.state
     CROSS JOIN LATERAL (
        SELECT count(*) AS entries,
               (array_agg(v.entry_id ORDER BY v.entry_id DESC))[:%(quoted)s]
                   AS quotes{glossary_terms.SAID}) AS s
     WHERE g.tenant = %(tenant)s{glossary_terms.TOLD}
     ORDER BY g.term_key, g.state, g.form_key
     LIMIT 20000"""
_QUOTES: LiteralString = f"""
    SELECT g.term_key, g.state, g.form, e.id AS entry_id, e.source, e.external_id,
           substr(r.text, greatest(1, v.place - %(before)s), %(quote)s) AS quote
      FROM glossary_form g
      JOIN glossary_evidence v ON v.tenant = g.tenant AND v.term_key = g.term_key
       AND v.form_key = g.form_key
      JOIN entry e ON e.id = v.entry_id AND e.revision = v.revision
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
     WHERE g.tenant = %(tenant)s AND g.term_key = ANY(%(keys)s::text[])
       AND e.id = ANY(%(ids)s::uuid[]) AND e.tenant = %(tenant)s
       AND e.deleted_at IS NULL{rights.SEEN}
     ORDER BY g.term_key, g.form_key, e.id DESC
     LIMIT 20000"""


@dataclass(frozen=True, slots=True)
class _UsageRow:
    term_key: str
    state: State
    term: str
    form: str
    entries: int
    quotes: list[UUID] | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """An entry that explains a form, quoted."""

    form: str
    entry_id: UUID
    # By which people know it.
    source: str
    external_id: str
    quote: str


@dataclass(frozen=True, slots=True)
class Term:
    """A term and its forms of one state, with entries that the caller may see."""

    key: str
    term: str
    state: State
    forms: tuple[str, ...]
    entries: int
    evidence: tuple[Evidence, ...]

    @property
    def place(self) -> list[str]:
        """Return where it stands in the list, short enough for a cursor."""
        return [sha256(self.key.encode()).hexdigest(), self.state]


def page(
    conn: Connection,
    scope: Scope,
    *,
    state: State | None = None,
    term: str | None = None,
    after: Sequence[str] | None = None,
    limit: int,
) -> list[Term]:
    """Return terms by their letters, behind a place; one in two states is two.

    A place whose term is gone is refused as a bad cursor.
    """
    after_key, after_state = None, None
    if after is not None:
        digest, after_state = after
        place = {**scope.params, "digest": bytes.fromhex(digest)}
        after_key = fetch_value(conn, _OF_DIGEST, place)
        if after_key is None:
            raise cursors.refuse()
    values: dict[str, Any] = {
        **scope.params,
        "state": state,
        "term_key": None if term is None else glossary_terms.key_of(term),
        "after_key": after_key,
        "after_state": after_state,
        "limit": limit,
        "quoted": MOST_QUOTED,
    }
    rows = fetch_all(conn, _UsageRow, _PAGE, values)
    quotes = _quotes(conn, {**values, "keys": [*{row.term_key for row in rows}]}, rows)
    return [
        _term(list(group), tuple(quotes.get(which, ())))
        for which, group in groupby(rows, key=lambda row: (row.term_key, row.state))
    ]


def _quotes(
    conn: Connection, values: dict[str, Any], rows: list[_UsageRow]
) -> dict[tuple[str, str], list[Evidence]]:
    """Return the quotes of the named entries, by term and state."""
    named = {(row.term_key, row.form, one) for row in rows for one in row.quotes or ()}
    quotes: dict[tuple[str, str], list[Evidence]] = defaultdict(list)
    if not named:
        return quotes
    ids = sorted({one for _, _, one in named})
    given = {**values, "ids": ids, "before": _BEFORE, "quote": _QUOTE}
    for key, state, form, entry_id, source, name, quote in conn.execute(_QUOTES, given):
        if (key, form, entry_id) in named:
            told = Evidence(form, entry_id, source, name, " ".join(quote.split()))
            quotes[key, state].append(told)
    return quotes


def _term(rows: list[_UsageRow], evidence: tuple[Evidence, ...]) -> Term:
    first = rows[0]
    return Term(
        key=first.term_key,
        term=first.term,
        state=first.state,
        forms=tuple(row.form for row in rows),
        entries=sum(row.entries for row in rows),
        evidence=evidence,
    )
