"""SQL over all entries that match and pass the filters, to list or count them."""

from typing import Any, LiteralString

from shared.access import rights
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.engines.branch_query import BranchQuery
from shared.search.retrieval.modules import pg_fts

_COLUMNS: LiteralString = """
    WITH matched AS (
        SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin,
               e.entry_time, e.logbooks, e.authors"""


def statement(
    rest: LiteralString, *, by_words: bool, whose: LiteralString = rights.SEEN
) -> LiteralString:
    """Return a statement over `matched`: entries with the words, or all left over."""
    entries = pg_fts.with_words(whose) if by_words else candidate_rows.left(whose)
    return _COLUMNS + entries + ")" + rest


def params(asked: BranchQuery, question: CompiledQuery) -> dict[str, Any]:
    """Return the parameters of a statement over all matches."""
    return {**asked.params, "queries": branch_query.queries(question)}
