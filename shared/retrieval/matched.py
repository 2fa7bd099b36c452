"""All that passes the filters and matches, for whoever lists or counts every one."""

from __future__ import annotations

from typing import Any, LiteralString

from shared.access import rights
from shared.query.compiled.question import Question
from shared.retrieval import columns, pg_fts, questions
from shared.retrieval.questions import Asked

_COLUMNS: LiteralString = """
    WITH matched AS (
        SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin,
               e.entry_time, e.logbooks, e.authors"""


def statement(
    rest: LiteralString, *, by_words: bool, whose: LiteralString = rights.SEEN
) -> LiteralString:
    """Return a statement over `matched`: what has the words, or what is left over."""
    entries = pg_fts.with_words(whose) if by_words else columns.left(whose)
    return _COLUMNS + entries + ")" + rest


def params(asked: Asked, question: Question) -> dict[str, Any]:
    """Return what such a statement takes."""
    return {**asked.params, "queries": questions.queries(question)}
