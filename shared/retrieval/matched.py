"""All that passes the filters and matches, for whoever lists or counts every one."""

from __future__ import annotations

from typing import Any, LiteralString

from shared.query.compiled.question import Question
from shared.retrieval import columns, pg_fts, questions
from shared.retrieval.questions import Asked

_COLUMNS: LiteralString = """
    WITH matched AS (
        SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin,
               e.entry_time, e.logbooks, e.authors"""
_BY_WORDS: LiteralString = _COLUMNS + pg_fts.WITH_WORDS + ")"
_LEFT: LiteralString = _COLUMNS + columns.LEFT + ")"


def statement(rest: LiteralString, *, by_words: bool) -> LiteralString:
    """Return a statement over `matched`: what has the words, or what is left over."""
    return (_BY_WORDS if by_words else _LEFT) + rest


def params(asked: Asked, question: Question) -> dict[str, Any]:
    """Return what such a statement takes."""
    return {**asked.params, "queries": questions.queries(question)}
