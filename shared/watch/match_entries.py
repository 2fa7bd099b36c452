"""Which of some entries a saved search finds: by the statements of a search itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString
from uuid import UUID

from shared.embedding.vectors import vectors
from shared.postgres.statement_deadline import timed_connection
from shared.search.query.language import tree_text
from shared.search.query.list_by_time import LISTING_MODULE
from shared.search.query.plan import Plan
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import match_sql, semantic
from shared.search.retrieval.query_vectors import packed, unpack_vector
from shared.search.retrieval.search_context import SearchContext
from shared.watch.saved_plans import SavedPlans

WORDS, MEANING = "keyword", "semantic"

_OF_THESE: LiteralString = """
    SELECT id FROM matched WHERE id = ANY (%(ids)s::uuid[])"""
Matches = dict[UUID, list[str]]


def match(
    context: SearchContext,
    plans: SavedPlans,
    vector: str | None,
    ids: Sequence[UUID],
    seconds: float,
) -> Matches:
    """Return which of these entries are found, and by what, as a search now would."""
    found: Matches = {}
    for one in _by_words(context, plans.by_words, ids, seconds):
        found.setdefault(one, []).append(WORDS)
    if plans.by_meaning is not None and vector is not None:
        for one in _by_meaning(context, plans.by_meaning, vector, ids, seconds):
            found.setdefault(one, []).append(MEANING)
    return found


def name_models(context: SearchContext) -> str | None:
    """Return the names of the models in use, which choose among them by language.

    A vector is kept with them: another one may speak what none of these does.
    """
    live, second = context.models.live(), context.models.find_second()
    known = [one.model for one in (live, second) if one is not None]
    return " ".join(known) if live is not None else None


def make_vector(context: SearchContext, plan: Plan, seconds: float) -> str | None:
    """Return the vector of a question; None: no model speaks its language."""
    text = tree_text.wanted_text(plan.tree).strip()
    # A pattern such as `SR:C??-RF*` has words, but no meaning.
    model = semantic.choose_model(context, text) if text else None
    if model is None:
        return None
    encoder = context.encoder(model.model).within(seconds)
    return packed(*context.query_vectors.of(encoder, [text]))


def _by_words(
    context: SearchContext, plan: Plan, ids: Sequence[UUID], seconds: float
) -> list[UUID]:
    """Return the entries that `exhaustive` would list, of these."""
    ask = Ask.lasting(plan, seconds)
    asked = branch_query.build_branch_query(ask, context, LISTING_MODULE)
    if plan.asks_for_words and not asked.question.finds:
        return []
    statement = match_sql.statement(_OF_THESE, by_words=plan.asks_for_words)
    given = {**match_sql.params(asked, asked.question), "ids": list(ids)}
    with timed_connection(context.pool, ask.budget_ms) as conn:
        return [row[0] for row in conn.execute(statement, given, prepare=False)]


def _by_meaning(
    context: SearchContext, plan: Plan, vector: str, ids: Sequence[UUID], seconds: float
) -> list[UUID]:
    """Return the entries as near as a search by meaning would require, of these."""
    live = context.models.live()
    text = tree_text.wanted_text(plan.tree).strip()
    model = semantic.choose_model(context, text, live)
    if model is None:
        return []
    ask = Ask.lasting(plan, seconds)
    asked = branch_query.kept_of(ask, context, MEANING)
    floor = semantic.find_floor(ask, context, model, said_of=live)
    with timed_connection(context.pool, ask.budget_ms) as conn:
        cosines = vectors.load_cosines(
            conn, model.table_name, plan.scope.tenant, unpack_vector(vector), ids
        )
        near = [one for one, cosine in cosines.items() if cosine >= floor]
        return [*candidate_rows.load_candidate_rows(conn, asked.params, near)]
