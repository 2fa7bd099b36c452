"""Keyword search in Postgres, over the terms that the analyser made."""

from dataclasses import dataclass, replace
from typing import LiteralString

from psycopg import Connection

from shared.access import rights
from shared.entries.reading.filter_sql import MARKS, NARROWED
from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres import statement_deadline
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.statement_deadline import timed_connection
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.retrieval import branch_languages, module_contract
from shared.search.retrieval.engines import branch_query
from shared.search.retrieval.engines.branch_query import BranchQuery
from shared.search.retrieval.engines.candidate_rows import Columns
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.tool_schema import WordArguments

# Every match costs time to rank: only the newest matches of a common word are ranked.
RANKED_MATCHES = 2000


@dataclass(frozen=True, slots=True)
class Match(Columns):
    """The columns of an entry that matches, with its rank."""

    score: float


# Reads the index of terms. Each entry is compared with the question of its own language
# alone, and so is found once.
def with_words(whose: LiteralString = rights.SEEN) -> LiteralString:
    """Return the part of a statement that names the entries `e` with the words."""
    return f"""
          FROM jsonb_to_recordset(%(queries)s::jsonb)
               AS q (languages text[], gate text, query text)
          JOIN entry_text t
            ON t.tsv @@ q.gate::tsquery
           AND (t.language = ANY (q.languages)
                OR '*' = ANY (q.languages) AND t.language <> ALL (%(stemmed)s))
          JOIN entry e ON e.id = t.entry_id
         WHERE t.tenant = %(tenant)s AND e.tenant = %(tenant)s
           AND e.deleted_at IS NULL{whose}{NARROWED}
           AND (%(fields)s::jsonb = '[]' OR (t.tsv || {MARKS}) @@ q.query::tsquery)"""


# By how long a text is. Words side by side rank by how near they stand, and are worth
# nothing a section apart. Words joined by OR rank by how many there are and how often,
# as a mean of them all.
SCORE: LiteralString = (
    "ts_rank(tsv, query || query, 1)::float8 * (numnode(query) + 1) / 2"
)
_SEARCH: LiteralString = f"""
    WITH matched AS (
        SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin,
               e.entry_time, t.tsv, q.query::tsquery AS query{with_words()}
         ORDER BY e.entry_time DESC, e.id DESC
         LIMIT %(ranked)s)
    SELECT id, source, external_id, revision, kind, origin, entry_time,
           {SCORE} AS score
      FROM matched
     ORDER BY score DESC, kind, source, external_id
     LIMIT %(limit)s"""


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """Search by words in Postgres; where nothing is found, by wider questions."""
    # Read before the languages, so that an entry in a new language is newer than it.
    as_of = context.freshness.of(context.pool, METADATA_STAGE)
    asked = branch_query.build_branch_query(
        ask, context, "pg_fts", branch_languages.choose_languages(ask, context)
    )
    if not asked.question.finds:
        return ModuleResult(skipped="empty_query")
    asked = branch_query.respelt(ask, asked, "pg_fts")
    whole = branch_query.with_all(asked) if ask.plan.words.any_word else asked.question

    def matches(question: CompiledQuery) -> list[Match]:
        with timed_connection(context.pool, ask.budget_ms) as conn:
            if question != asked.question or question == whole:
                return _matches(conn, ask, asked, question)
            # Entries with all words count twice, and may be older than the newest with
            # one word. Where they fill the window nothing else is read: for common
            # words that took up to five times as long.
            by_all = _matches(conn, ask, asked, whole)
            if len(by_all) == ask.limit:
                return by_all
            statement_deadline.limit_time(conn, ask.budget_ms)
            return _twice(_matches(conn, ask, asked, question), by_all)[: ask.limit]

    rows, notes = branch_query.first_found(ask, asked, "pg_fts", matches)
    tenant = ask.plan.scope.tenant
    hits = tuple(row.candidate(tenant, row.score) for row in rows)
    return ModuleResult(
        hits, as_of, notes, exact=asked.is_exact, **asked.measure(notes)
    )


def _matches(
    conn: Connection, ask: Ask, asked: BranchQuery, question: CompiledQuery
) -> list[Match]:
    given = {
        **asked.params,
        "queries": branch_query.queries(question),
        "ranked": RANKED_MATCHES,
        "limit": ask.limit,
    }
    # Planned with the values at hand: a generic plan cannot know how rare the words
    # are, nor which of the filters narrow.
    return fetch_all(conn, Match, _SEARCH, given, prepare=False)


def _twice(by_any: list[Match], by_all: list[Match]) -> list[Match]:
    """Merge matches by any word and by all words; the latter count twice."""
    found = {row.id: row for row in by_any}
    for row in by_all:
        once = found[row.id].score if row.id in found else 0.0
        found[row.id] = replace(row, score=once + row.score)
    return sorted(
        found.values(),
        key=lambda row: (-row.score, row.kind, row.source, row.external_id),
    )


def get_tool_descriptor() -> module_contract.SearchToolDescriptor:
    """Return the descriptor of the module `pg_fts`."""
    return module_contract.SearchToolDescriptor(
        name="pg_fts",
        description="Words, phrases and names, found by Postgres.",
        search_mode="keyword",
        execute=search,
        unit="ts_rank",
        engine="postgres",
        needs_stages=(METADATA_STAGE,),
        compares_words=True,
        args_schema=WordArguments,
    )
