"""A search module: what the control room has pinned, if the question names it."""

from __future__ import annotations

from typing import LiteralString

from shared.postgres.pool import connection
from shared.search.query.language import tree_text
from shared.search.retrieval.module_contract import (
    Ask,
    ModuleResult,
    Named,
    SearchToolDescriptor,
)
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.search_parameters import ParameterDescriptor

_PINNED: LiteralString = """
    SELECT e.id, lower(e.metadata ->> %(pin)s) AS pinned_for
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.metadata ->> %(pin)s IS NOT NULL
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT %(limit)s"""


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """Return the entries that are pinned for a word of the question."""
    words = tree_text.wanted_text(ask.plan.tree).lower().split()
    pin = ask.plan.parameters["pinned_as"]
    given = {"tenant": ask.plan.scope.tenant, "pin": pin, "limit": ask.limit}
    with connection(context.pool) as conn:
        rows = conn.execute(_PINNED, given).fetchall()
    shared = (
        (entry_id, len(set(words) & set(for_.split()))) for entry_id, for_ in rows
    )
    return ModuleResult(
        named=tuple(Named(entry_id, n / len(words)) for entry_id, n in shared if n)
    )


def get_tool_descriptor() -> SearchToolDescriptor:
    """Return what Logchord knows of the module."""
    return SearchToolDescriptor(
        "pinned",
        description="What the control room has pinned.",
        search_mode="pinned",
        execute=search,
        unit="pins",
    )


def get_parameter_descriptors() -> tuple[ParameterDescriptor, ...]:
    """Return what a request may say of the search."""
    tag = ParameterDescriptor(
        "pinned_as", "Pinned as", "text", default="pinned", max=40, section="Pins"
    )
    return (tag,)
