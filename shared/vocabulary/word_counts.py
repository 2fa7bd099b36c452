"""How many entries have each word and name; what none has any more goes.

A walk over all entries counts, and marks what it meets with its number; so does whoever
learns a word meanwhile. What is not marked in the end, no entry has.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import LiteralString

from psycopg import Connection

from shared.postgres.fetch_rows import fetch_value
from shared.text.analysis.analyser import IDENT_PREFIX, quote_lexeme
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary.learn_words import language_of

STEP_ROWS = 5000

# Alone with the key that learners share: none of them trusts an older number then.
_ALONE: LiteralString = "SELECT pg_advisory_xact_lock(278529)"
_NEXT_WALK: LiteralString = "UPDATE vocabulary SET walk = walk + 1 RETURNING walk"
_COUNT_WORDS: LiteralString = """
    INSERT INTO lexeme AS l (tenant, language, surface, stem, counted, walk)
    SELECT s.tenant, s.language, s.surface, s.stem, s.n, %(walk)s
      FROM unnest(%(tenants)s::text[], %(languages)s::text[], %(surfaces)s::text[],
                  %(stems)s::text[], %(counts)s::int[])
           AS s (tenant, language, surface, stem, n)
     ORDER BY s.tenant, s.language, s.surface COLLATE "C"
        ON CONFLICT (tenant, language, surface) DO UPDATE
       SET stem = excluded.stem, walk = greatest(l.walk, excluded.walk),
           counted = excluded.counted
                   + CASE WHEN l.walk < excluded.walk THEN 0 ELSE l.counted END"""
_COUNT_NAMES: LiteralString = """
    INSERT INTO ident AS i (tenant, ident, counted, walk)
    SELECT s.tenant, s.ident, s.n, %(walk)s
      FROM unnest(%(tenants)s::text[], %(idents)s::text[], %(counts)s::int[])
           AS s (tenant, ident, n)
     ORDER BY s.tenant, s.ident COLLATE "C"
        ON CONFLICT (tenant, ident) DO UPDATE
       SET walk = greatest(i.walk, excluded.walk),
           counted = excluded.counted
                   + CASE WHEN i.walk < excluded.walk THEN 0 ELSE i.counted END"""
_LAST_WORD: LiteralString = """
    SELECT max(ARRAY[p.tenant, p.language, p.surface]), count(*)
      FROM (SELECT tenant, language, surface FROM lexeme
             WHERE (tenant, language, surface)
                   > (%(tenant)s::text, %(language)s::text, %(term)s::text)
             ORDER BY tenant, language, surface
             LIMIT %(limit)s) p"""
_LAST_NAME: LiteralString = """
    SELECT max(ARRAY[p.tenant, '', p.ident]), count(*)
      FROM (SELECT tenant, ident FROM ident
             WHERE (tenant, ident) > (%(tenant)s::text, %(term)s::text)
             ORDER BY tenant, ident
             LIMIT %(limit)s) p"""
# In order of the key, as learners lock; who has just marked it, keeps it.
_FORGET_WORDS: LiteralString = """
    WITH gone AS MATERIALIZED (
        SELECT tenant, language, surface FROM lexeme
         WHERE (tenant, language, surface)
               > (%(tenant)s::text, %(language)s::text, %(term)s::text)
           AND (tenant, language, surface)
               <= (%(last_tenant)s::text, %(last_language)s::text, %(last_term)s::text)
           AND walk < %(walk)s
         ORDER BY tenant, language, surface
           FOR UPDATE)
    DELETE FROM lexeme l USING gone g
     WHERE l.tenant = g.tenant AND l.language = g.language AND l.surface = g.surface"""
_FORGET_NAMES: LiteralString = """
    WITH gone AS MATERIALIZED (
        SELECT tenant, ident FROM ident
         WHERE (tenant, ident) > (%(tenant)s::text, %(term)s::text)
           AND (tenant, ident) <= (%(last_tenant)s::text, %(last_term)s::text)
           AND walk < %(walk)s
         ORDER BY tenant, ident
           FOR UPDATE)
    DELETE FROM ident i USING gone g
     WHERE i.tenant = g.tenant AND i.ident = g.ident"""
_SETTLE_WORDS: LiteralString = """
    UPDATE lexeme SET n = counted
     WHERE (tenant, language, surface)
           > (%(tenant)s::text, %(language)s::text, %(term)s::text)
       AND (tenant, language, surface)
           <= (%(last_tenant)s::text, %(last_language)s::text, %(last_term)s::text)
       AND n <> counted"""
_SETTLE_NAMES: LiteralString = """
    UPDATE ident SET n = counted
     WHERE (tenant, ident) > (%(tenant)s::text, %(term)s::text)
       AND (tenant, ident) <= (%(last_tenant)s::text, %(last_term)s::text)
       AND n <> counted"""

# What another form of the word is known by, and what many had at the last count, stay
# until the next one. In order of the key, as a count locks.
_PURGE_WORDS: LiteralString = """
    WITH gone AS MATERIALIZED (
        SELECT l.surface
          FROM unnest(%(stems)s::text[], %(queries)s::text[]) AS s (stem, query)
          JOIN lexeme l ON l.tenant = %(tenant)s AND l.language = %(language)s
           AND l.stem = s.stem AND l.n < %(many)s
         WHERE NOT EXISTS (
                SELECT FROM entry_text t JOIN entry e ON e.id = t.entry_id
                 WHERE t.tenant = %(tenant)s AND e.deleted_at IS NULL
                   AND t.tsv @@ s.query::tsquery
                   AND (t.language = l.language
                        OR l.language = '*' AND t.language <> ALL (%(stemmed)s)))
         ORDER BY l.surface
           FOR UPDATE OF l)
    DELETE FROM lexeme l USING gone g
     WHERE l.tenant = %(tenant)s AND l.language = %(language)s
       AND l.surface = g.surface"""
_PURGE_NAMES: LiteralString = """
    WITH gone AS MATERIALIZED (
        SELECT i.ident
          FROM unnest(%(idents)s::text[], %(queries)s::text[]) AS s (ident, query)
          JOIN ident i ON i.tenant = %(tenant)s AND i.ident = s.ident
           AND i.n < %(many)s
         WHERE NOT EXISTS (
                SELECT FROM entry_text t JOIN entry e ON e.id = t.entry_id
                 WHERE t.tenant = %(tenant)s AND e.deleted_at IS NULL
                   AND t.tsv @@ s.query::tsquery)
         ORDER BY i.ident
           FOR UPDATE OF i)
    DELETE FROM ident i USING gone g
     WHERE i.tenant = %(tenant)s AND i.ident = g.ident"""
# To look for another entry that has it takes time, and everybody waits meanwhile.
_MANY = 100

WORDS, NAMES = "words", "names"
_STATEMENTS: dict[str, tuple[LiteralString, LiteralString, LiteralString]] = {
    WORDS: (_LAST_WORD, _FORGET_WORDS, _SETTLE_WORDS),
    NAMES: (_LAST_NAME, _FORGET_NAMES, _SETTLE_NAMES),
}


@dataclass(slots=True)
class Count:
    """In how many of some entries each word and name was met."""

    # By tenant, language and word, with its stem; by tenant and name.
    words: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stems: dict[tuple[str, str, str], str] = field(default_factory=dict)
    names: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(
        self,
        tenant: str,
        language: str,
        words: Mapping[str, str],
        idents: Iterable[str],
    ) -> None:
        """Add the words of one entry to the count."""
        for word, stem in words.items():
            key = (tenant, language, word)
            self.words[key] += 1
            self.stems[key] = stem
        self.names.update((tenant, ident) for ident in idents)


def begin(conn: Connection) -> int:
    """Begin a walk and return its number; waits for who is learning just now."""
    conn.execute(_ALONE)
    return int(fetch_value(conn, _NEXT_WALK) or 0)


def store_counts(conn: Connection, walk: int, count: Count) -> None:
    """Add counts to those that this walk has stored before."""
    words = sorted(count.words)
    if words:
        tenants, languages, surfaces = map(list, zip(*words, strict=True))
        values = {
            "walk": walk,
            "tenants": tenants,
            "languages": languages,
            "surfaces": surfaces,
            "stems": [count.stems[key] for key in words],
            "counts": [count.words[key] for key in words],
        }
        conn.execute(_COUNT_WORDS, values)
    names = sorted(count.names)
    if names:
        values = {
            "walk": walk,
            "tenants": [tenant for tenant, _ in names],
            "idents": [ident for _, ident in names],
            "counts": [count.names[key] for key in names],
        }
        conn.execute(_COUNT_NAMES, values)


def forget(conn: Connection, tenant: str, language: str, terms: Iterable[str]) -> int:
    """Take out what no entry has of a purged one's lexemes; return how many.

    Waits for who is learning: what nobody has now, nobody is about to have.
    """
    idents: list[str] = []
    stems: list[str] = []
    for term in terms:
        name = term.removeprefix(IDENT_PREFIX)
        (stems if name == term else idents).append(name)
    begin(conn)
    values = {
        "tenant": tenant,
        "language": language_of(language),
        "stemmed": list(STEMMED_LANGUAGES),
        "many": _MANY,
    }
    queries = [quote_lexeme(stem) for stem in stems]
    words = conn.execute(_PURGE_WORDS, {**values, "stems": stems, "queries": queries})
    queries = [quote_lexeme(IDENT_PREFIX + ident) for ident in idents]
    names = conn.execute(_PURGE_NAMES, {**values, "idents": idents, "queries": queries})
    return words.rowcount + names.rowcount


def settle(
    conn: Connection, walk: int, what: str, after: Sequence[str]
) -> list[str] | None:
    """Make this walk's counts of a page final, and delete words that it did not meet.

    Returns where the page ended, or None where it was the last one.
    """
    last, forget, settled = _STATEMENTS[what]
    tenant, language, term = after
    values = {"tenant": tenant, "language": language, "term": term, "walk": walk}
    row = conn.execute(last, {**values, "limit": STEP_ROWS}).fetchone()
    if row is None or row[0] is None:
        return None
    names = ("last_tenant", "last_language", "last_term")
    values |= dict(zip(names, row[0], strict=True))
    conn.execute(forget, values)
    conn.execute(settled, values)
    return list(row[0]) if row[1] == STEP_ROWS else None
