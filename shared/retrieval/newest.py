"""The listing behind a question that names nothing to find: newest first."""

from __future__ import annotations

from typing import LiteralString

from psycopg.rows import class_row

from shared.broker import METADATA_STAGE
from shared.postgres import connection
from shared.retrieval import columns, questions
from shared.retrieval.columns import Columns
from shared.retrieval.module import Ask, Found, SearchToolDescriptor, Tools

_NEWEST: LiteralString = (
    columns.SHOWN + " ORDER BY e.entry_time DESC, e.id DESC LIMIT %(limit)s"
)


def search(ask: Ask, tools: Tools) -> Found:
    """Return what passes the filters and is not excluded, newest first."""
    asked = questions.read(ask, tools, "newest")
    given = {**asked.params, "limit": ask.limit}
    as_of = tools.freshness.of(tools.pool, METADATA_STAGE)
    with connection(tools.pool) as conn:
        columns.limit_time(conn, ask.budget_ms)
        with conn.cursor(row_factory=class_row(Columns)) as cur:
            rows = cur.execute(_NEWEST, given).fetchall()
    tenant = ask.plan.scope.tenant
    hits = tuple(row.candidate(tenant, row.entry_time.timestamp()) for row in rows)
    return Found(hits, as_of, asked.diagnostics)


_DESCRIPTOR = SearchToolDescriptor(
    name="newest",
    description="Entries that pass the filters, newest first.",
    search_mode="keyword",
    execute=search,
    unit="entry_time",
)


def get_tool_descriptor() -> SearchToolDescriptor:
    """Return what the system knows of this module."""
    return _DESCRIPTOR
