"""Finds entries with a file whose name has words of the question."""

from typing import LiteralString

from shared.search.query.decomposition.decompose import list_content_words
from shared.search.query.language import tree_text
from shared.search.retrieval import module_contract
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.modules.evidence import weighted_terms
from shared.search.retrieval.modules.pg_fts import RANKED_MATCHES, Match
from shared.search.retrieval.search_context import SearchContext

NAME = "attachment_name"
# Shorter words stand in names by chance.
_LEAST_LETTERS = 3
_MOST_WORDS = 32
_WILD = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})

_NAMED: LiteralString = f"""
    WITH named AS (
        SELECT a.entry_id, lower(a.filename) AS filename
          FROM attachment a
         WHERE a.tenant = %(tenant)s AND lower(a.filename) LIKE ANY (%(patterns)s)
         ORDER BY a.entry_id DESC
         LIMIT %(ranked)s),
    weighed AS (
        SELECT named.entry_id, max((
               SELECT count(*) FROM unnest(%(patterns)s::text[]) AS word (pattern)
                WHERE named.filename LIKE word.pattern)) AS words
          FROM named
         GROUP BY named.entry_id)
    SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin, e.entry_time,
           (SELECT w.words::float8 / cardinality(%(patterns)s::text[])
              FROM weighed w WHERE w.entry_id = e.id) AS score{candidate_rows.left()}
       AND e.id IN (SELECT w.entry_id FROM weighed w)
     ORDER BY score DESC, e.entry_time DESC, e.kind, e.source, e.external_id
     LIMIT %(limit)s"""


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """Find entries, scored by the share of the question's words in a file's name."""
    words = list_content_words(tree_text.wanted_text(ask.plan.tree))
    patterns = [
        f"%{word.casefold().translate(_WILD)}%"
        for word in dict.fromkeys(words)
        if len(word) >= _LEAST_LETTERS
    ][:_MOST_WORDS]
    as_of = context.freshness.of(context.pool)
    if not patterns:
        return ModuleResult(as_of=as_of, skipped="empty_query")
    given = {
        **branch_query.kept_of(ask, context, NAME).params,
        "patterns": patterns,
        "ranked": RANKED_MATCHES,
        "limit": ask.limit,
    }
    rows = weighted_terms.load_rows(ask, context, Match, _NAMED, given)
    tenant = ask.plan.scope.tenant
    return ModuleResult(tuple(row.candidate(tenant, row.score) for row in rows), as_of)


def get_tool_descriptor() -> module_contract.SearchToolDescriptor:
    """Return the descriptor of the module `attachment_name`."""
    return module_contract.SearchToolDescriptor(
        name=NAME,
        description="Entries with a file whose name has words of the question.",
        search_mode=NAME,
        execute=search,
        unit=NAME,
        engine="postgres",
    )
