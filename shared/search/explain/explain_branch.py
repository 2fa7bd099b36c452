"""What keeps one entry out of one branch of a search: asked of that branch alone.

The very module that searched is asked again, so that the reason is the true one.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.embedding.vectors import not_embedded, vector_tables, vectors
from shared.embedding.vectors.nearest import How, find_nearest
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.errors import LogchordError
from shared.messaging.stage_names import INDEX_STAGE
from shared.postgres import statement_deadline
from shared.postgres.fetch_rows import fetch_value
from shared.postgres.pool import connection
from shared.search.absence import absence, gates
from shared.search.jobs.outcome import Candidate, Outcome
from shared.search.query import modes
from shared.search.query.compiled import conditions, tsquery
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.compiled.conditions import Condition
from shared.search.query.list_by_time import LISTING_MODULE
from shared.search.query.plan import Plan
from shared.search.retrieval.branch import plugin_module
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.installed_modules import find_module, load_module
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import semantic
from shared.search.retrieval.query_vectors import unpack_vector
from shared.search.retrieval.search_context import SearchContext
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary.expand import UNSTEMMED

# A place further back than this is not told.
MOST_PLACES = 2000
_WIDER = frozenset({"fuzzy_fallback", "relaxed_to_any_term"})
COSINE = "cosine"

_LANGUAGE: LiteralString = """
    SELECT t.language
      FROM entry_text t
      JOIN entry e ON e.id = t.entry_id AND e.revision = t.revision
     WHERE t.tenant = %(tenant)s AND e.tenant = %(tenant)s
       AND t.entry_id = %(entry_id)s"""
_WAITS_FOR_INDEX: LiteralString = """
    SELECT EXISTS (SELECT FROM work w
                    WHERE w.entry_id = %(entry_id)s AND w.tenant = %(tenant)s
                      AND w.stage = ANY ('{metadata,index}'))
        OR EXISTS (SELECT FROM quarantine q
                    WHERE q.entry_id = %(entry_id)s AND q.tenant = %(tenant)s
                      AND q.stage = ANY ('{metadata,index}'))"""
_MATCHED: LiteralString = """
    SELECT t.tsv @@ q.query::tsquery
      FROM entry_text t
     CROSS JOIN unnest(%(queries)s::text[]) WITH ORDINALITY AS q (query, place)
     WHERE t.tenant = %(tenant)s AND t.entry_id = %(entry_id)s
     ORDER BY q.place
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class BranchReason:
    """Why a branch did not find an entry; without a gate it found the entry."""

    name: str
    gate: str | None
    explanation: str
    value: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """A search that has ended, and the entry that is asked about."""

    plan: Plan
    context: SearchContext
    entry_id: UUID
    seconds: float


def of_branch(asking: Asking, name: str, outcomes: Sequence[Outcome]) -> BranchReason:
    """Explain what one branch, or its fallback, makes of the entry."""
    own = [one for one in outcomes if name in {one.name, one.fallback_for}]
    carried_out = [one for one in own if one.status in {"ok", "empty"}]
    if not carried_out:
        idle = next(filter(None, map(absence.say_idle, own)), None)
        if idle is not None:
            return BranchReason(name, "no_match", f"{name} did not search: {idle}.")
        why = next((one.error_code or one.reason for one in own), "not heard of")
        return BranchReason(
            name, f"branch_failed:{name}", f"{name} did not search: {why}."
        )
    used = carried_out[-1]
    try:
        if used.unit == COSINE:
            return _by_meaning(asking, used)
        if used.name in modes.EVIDENCE or not load_module(used.name).is_ours:
            return _by_module(asking, used.name)
        return _by_words(asking, used)
    except LogchordError as exc:
        said = f"{used.name} cannot be asked again: {exc.message}"
        return BranchReason(used.name, f"branch_failed:{used.name}", said)


def _by_words(asking: Asking, used: Outcome) -> BranchReason:
    plan, context, name = asking.plan, asking.context, used.name
    key = {"entry_id": asking.entry_id, "tenant": plan.scope.tenant}
    with connection(context.pool) as conn:
        language = fetch_value(conn, _LANGUAGE, key)
        waits = INDEX_STAGE in find_module(name).needs_stages and bool(
            fetch_value(conn, _WAITS_FOR_INDEX, key)
        )
    by_words = name != LISTING_MODULE or plan.asks_for_words
    if by_words and (language is None or waits):
        return BranchReason(name, "not_indexed", "Its words are not in the index yet.")
    alone = replace(plan, filters=replace(plan.filters, ids=(str(asking.entry_id),)))
    execute = find_module(name).execute
    found = execute(Ask.lasting(alone, asking.seconds), context)
    wider = {note.code for note in found.diagnostics} & _WIDER
    allowed = {note.code for note in used.diagnostics} & _WIDER
    if not found.hits and language is None:
        # A listing that only excludes words cannot tell such an entry apart.
        return BranchReason(name, "not_indexed", "Its words are not read yet.")
    if not found.hits or not wider <= allowed:
        ask = Ask.lasting(plan, asking.seconds)
        asked = branch_query.build_branch_query(ask, context, name).question
        with connection(context.pool) as conn:
            return _no_match(conn, name, key, asked, str(language))
    score = found.hits[0].score
    ask = replace(Ask.lasting(plan, asking.seconds), limit=MOST_PLACES)
    return _placed(asking, name, execute(ask, context).hits, score)


def _by_module(asking: Asking, name: str) -> BranchReason:
    """Explain what a module that gives no reason makes of the entry.

    It is one of evidence (tags, threads, files) or of another package: only the entry's
    place and score are known.
    """
    ask = replace(Ask.lasting(asking.plan, asking.seconds), limit=MOST_PLACES)
    module = find_module(name)
    if load_module(name).is_ours:
        found = module.execute(ask, asking.context)
    else:
        found = plugin_module.execute(module, ask, asking.context)
    if found.skipped:
        said = f"{name} cannot be asked again: {found.skipped}."
        return BranchReason(name, f"branch_failed:{name}", said)
    entry_id = str(asking.entry_id)
    score = next((one.score for one in found.hits if one.entry_id == entry_id), None)
    if score is None:
        return BranchReason(name, "no_match", f"{name} does not find it.")
    return _placed(asking, name, found.hits, score)


def _by_meaning(asking: Asking, used: Outcome) -> BranchReason:
    plan, context, name = asking.plan, asking.context, used.name
    if not used.vector or used.floor is None:
        return BranchReason(name, f"branch_failed:{name}", "Its vector was not kept.")
    vector = unpack_vector(used.vector)
    asked = branch_query.build_branch_query(
        Ask.lasting(plan, asking.seconds), context, name
    )
    second = context.models.find_second()
    with connection(context.pool) as conn:
        bound = statement_deadline.make_share_limiter(
            conn, time.monotonic() + asking.seconds
        )
        bound(1.0)
        model = vector_tables.find_model(conn, used.model or "")
        if model is None:
            said = f"The model {used.model} is not kept any more."
            return BranchReason(name, f"branch_failed:{name}", said)
        table, scope = model.table_name, plan.scope
        ids = [asking.entry_id]
        cosine = vectors.load_cosines(conn, table, scope.tenant, vector, ids).get(
            ids[0]
        )
        if cosine is None:
            return _without_vector(conn, asking, used, second)
        if asking.entry_id not in candidate_rows.load_candidate_rows(
            conn, asked.params, ids
        ):
            return BranchReason(name, "no_match", "It has what the question excludes.")
        if cosine < used.floor:
            said = f"Its cosine is {cosine:.3f}; {used.floor:.3f} is needed."
            return BranchReason(name, gates.BELOW_SIMILARITY, said, cosine, used.floor)
        filters = plan.filters.params
        # The vectors are searched as that search did, or it would find other entries.
        how = How(chosen_for=plan.window, bound=bound)
        near = find_nearest(
            conn,
            table,
            scope,
            vector,
            MOST_PLACES,
            filters=filters,
            floor=used.floor,
            how=how,
        )
        known = candidate_rows.load_candidate_rows(
            conn, asked.params, [one.entry_id for one in near]
        )
    hits = tuple(
        known[one.entry_id].candidate(scope.tenant, one.cosine, one.chunk)
        for one in near
        if one.entry_id in known
    )
    return _placed(asking, name, hits, cosine)


def _without_vector(
    conn: Connection, asking: Asking, used: Outcome, second: EmbeddingModel | None
) -> BranchReason:
    """Explain why an entry has no vector of the model that searched: it may have none.

    What that model skips, the second one may compare.
    """
    name, model, entry_id = used.name, used.model or "", asking.entry_id
    tenant = asking.plan.scope.tenant
    why = not_embedded.find_reason(conn, model, tenant, entry_id)
    if why == not_embedded.MACHINE:
        said = f"{model} reads no entries of machines: words alone find it."
        return BranchReason(name, "no_match", said)
    if why is not None and (second is None or second.model == model):
        said = f"{model} does not speak its language: words alone find it."
        return BranchReason(name, "no_match", said)
    if why is None or second is None or not _has_vector(conn, second, tenant, entry_id):
        return BranchReason(name, "not_embedded", "It has no vector of this model yet.")
    if any(note.code == semantic.OTHERS_UNSEARCHED for note in used.diagnostics):
        said = f"{second.model}, which compares it, did not search."
        return BranchReason(name, f"branch_failed:{name}", said)
    said = (
        f"{second.model} compares it, in whose languages it is, and did not find it"
        " near."
    )
    return BranchReason(name, "no_match", said)


def _has_vector(
    conn: Connection, model: EmbeddingModel, tenant: str, entry_id: UUID
) -> bool:
    return vectors.middle(conn, model.table_name, tenant, entry_id) is not None


def _placed(
    asking: Asking, name: str, hits: Sequence[Candidate], score: float
) -> BranchReason:
    """Tell the entry's place among a branch's hits; there is no gate in the window."""
    order = sorted(hits, key=lambda hit: (-hit.score, hit.kind, hit.chunk_id))
    entry_id, window = str(asking.entry_id), asking.plan.window
    places = (n for n, hit in enumerate(order, 1) if hit.entry_id == entry_id)
    place = next(places, None)
    if place is not None and place <= window:
        said = f"{name} found it, at place {place}."
        return BranchReason(name, None, said, float(place))
    at = f"at place {place}" if place else f"beyond place {len(order)}"
    value = float(place) if place else None
    if asking.plan.is_listing:
        # Its pages go on through all that match.
        limit = asking.plan.limit
        said = f"It is {at}, behind the {limit} that were asked for."
        return BranchReason(name, "below_limit", said, value, float(limit))
    least = order[window - 1].score if len(order) >= window else 0.0
    said = (
        f"{name} takes its best {window}: it is {at} with {score:.4g}, and"
        f" {least:.4g} is needed."
    )
    return BranchReason(name, "outside_candidates", said, value, float(window))


def _no_match(
    conn: Connection,
    name: str,
    key: dict[str, Any],
    asked: CompiledQuery,
    language: str,
) -> BranchReason:
    """Name the parts of the question that the entry lacks, or has but must not have."""
    known_as = language if language in STEMMED_LANGUAGES else UNSTEMMED
    condition = next(
        (g.condition for g in asked.guards if known_as in g.languages), None
    )
    if condition is None:
        nothing = f"The question has no words in its language ({language})."
        return BranchReason(name, "no_match", nothing)
    parts = condition.parts if isinstance(condition, conditions.All) else (condition,)
    # Fields that are no terms of an entry stand beside its words.
    parts = tuple(one for one in parts if not tsquery.needs_marks(one))
    written = [tsquery.write_tsquery(one) for one in parts]
    rows = conn.execute(_MATCHED, {**key, "queries": written}).fetchall()
    if len(rows) < len(parts):
        # The entry was read a moment ago and has been removed since.
        return BranchReason(
            name, "not_indexed", "Its words are not in the index any more."
        )
    missed = [part for part, (is_met,) in zip(parts, rows, strict=True) if not is_met]
    lacking = [_called(one) for one in missed if conditions.is_found(one)]
    excluded = [_called(one) for one in missed if not conditions.is_found(one)]
    said = [f"It does not have {', '.join(lacking)}."] if lacking else []
    said += [f"It has {', '.join(excluded)}, which is excluded."] if excluded else []
    told = " ".join(said) or "It does not have what the question asks for."
    met = float(len(parts) - len(missed))
    return BranchReason(name, "no_match", told, met, float(len(parts)))


def _called(condition: Condition) -> str:
    """Return a part of a question as its reader wrote it."""
    match condition:
        case conditions.Clause(lexemes=lexemes, word=word):
            return f"'{word or ' '.join(lexemes)}'"
        case conditions.Not(part):
            return _called(part)
        case conditions.AnyOf(parts):
            return " or ".join(map(_called, parts)) or "any word of the pattern"
        case conditions.All(parts):
            return " and ".join(map(_called, parts))
        case _:
            return "any word of the pattern"
