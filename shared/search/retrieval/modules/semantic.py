"""Search by meaning: the entries whose best chunk is nearest to the question."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from psycopg import Connection
from psycopg.errors import QueryCanceled

from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.models.model_names import equal_cosine
from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.nearest import Bound, How, Near, find_nearest
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.errors import ConfigurationError, LogchordError
from shared.log import get_logger
from shared.messaging.stage_names import embed_stage
from shared.postgres import statement_deadline
from shared.postgres.statement_deadline import timed_pipeline
from shared.search.jobs.outcome import UNDER_RETURN, Candidate, Diagnostic, Outcome
from shared.search.query.filters.fact_filters import WantedFact
from shared.search.query.language import tree_text
from shared.search.retrieval import module_contract
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.engines.branch_query import BranchQuery
from shared.search.retrieval.engines.candidate_rows import Columns
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.query_vectors import packed, unpack_vector
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.search_parameters import ParameterDescriptor
from shared.search.retrieval.tool_schema import MeaningArguments
from shared.vocabulary import common_words

log = get_logger()

NAME, UNIT = "semantic", "cosine"
# The code of a diagnostic: the second model failed.
OTHERS_UNSEARCHED = "other_languages_not_searched"
# Excluded entries leave holes: how far the scan goes on to fill them.
_MAX_SCAN = 2000
# The share of the time left that a wider scan may take.
_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class _NearestPage:
    """The nearest hits kept so far, and whether a wider scan could find more."""

    hits: list[Candidate]
    looked_at: int
    # Whether no other chunk lies above the floor.
    is_all: bool
    # Whether a wider scan would reach no farther.
    is_last: bool


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """Return the nearest entries above the floor, by their best chunk."""
    text = tree_text.wanted_text(ask.plan.tree).strip()
    if not text:
        return ModuleResult(skipped="empty_query")
    # Read once, so that the question's vector and the table are of the same model.
    live = context.models.live()
    if live is None:
        return ModuleResult(
            as_of=context.freshness.of(context.pool), skipped="no_model"
        )
    model = choose_model(context, text, live)
    if model is None:
        # A model's vector of another language is noise; words are searched instead.
        return ModuleResult(
            as_of=context.freshness.of(context.pool, embed_stage(live.model)),
            skipped="language",
        )
    floor = find_floor(ask, context, model, said_of=live)
    found = _by_model(ask, context, model, text, floor)
    second = context.models.find_second() if context.speaks(live.model) else None
    if model is live and second is not None:
        found = _with_other_languages(ask, context, found, second, text)
    return found


def choose_model(
    context: SearchContext, text: str, live: EmbeddingModel | None = None
) -> EmbeddingModel | None:
    """Return the model that compares a question with entries.

    None: no model in use speaks its language, or there is none.
    """
    live = live or context.models.live()
    known = context.speaks(live.model) if live is not None else ()
    # A few words do not tell their language: they count as the model's first one.
    language = common_words.detect_language(text, known[0]) if known else None
    if language is None or language in known:
        return live
    second = context.models.find_second()
    if second is not None and language in context.speaks(second.model):
        return second
    return None


def _with_other_languages(
    ask: Ask,
    context: SearchContext,
    found: ModuleResult,
    second: EmbeddingModel,
    text: str,
) -> ModuleResult:
    """Add entries in languages that the second model alone speaks.

    Its cosines are mapped to those of the first model that stand out as far.
    """
    first = found.model or ""
    others = _other_languages(ask, context, first, second.model)
    if not others:
        return found
    filters = ask.plan.filters
    facts = (*filters.facts, WantedFact("language", any_of=others))
    plan = replace(ask.plan, filters=replace(filters, facts=facts))
    floor = equal_cosine(found.floor or 0.0, first, second.model)
    try:
        more = _by_model(replace(ask, plan=plan), context, second, text, floor)
    except LogchordError as exc:
        # The hits of the first model are good without those of the second.
        log.warning("second_model_failed", model=second.model, code=exc.error_code)
        return replace(found, diagnostics=(*found.diagnostics, _unread(exc)))
    best = {hit.entry_id: hit for hit in found.hits}
    for hit in more.hits:
        score = equal_cosine(hit.score, second.model, first)
        if hit.entry_id not in best or best[hit.entry_id].score < score:
            best[hit.entry_id] = replace(hit, score=score)
    hits = sorted(best.values(), key=lambda hit: (-hit.score, hit.kind, hit.chunk_id))
    seen = [one for one in (found.as_of, more.as_of) if one is not None]
    return replace(
        found,
        hits=tuple(hits[: ask.limit]),
        as_of=min(seen, default=None),
        diagnostics=(*found.diagnostics, *more.diagnostics),
    )


def _other_languages(
    ask: Ask, context: SearchContext, first: str, second: str
) -> tuple[str, ...]:
    """Return the languages of a tenant's entries that only the second model speaks."""
    known = context.speaks(first)
    spoken = [one for one in context.speaks(second) if one not in known]
    if context.written_in is None:
        return tuple(spoken)
    there = context.written_in.load_languages(
        context.pool, ask.plan.scope.tenant, ask.budget_ms
    )
    # Without any language it is not known which ones entries have, so all are searched.
    return tuple(one for one in spoken if not there or one in there)


def _unread(error: LogchordError) -> Diagnostic:
    said = f"Entries in other languages are found by words alone: {error.message}"
    return _note(OTHERS_UNSEARCHED, said, "embedding")


def _by_model(
    ask: Ask, context: SearchContext, model: EmbeddingModel, text: str, floor: float
) -> ModuleResult:
    """Return the nearest entries above the floor by one model."""
    encoder = context.encoder(model.model).within(ask.budget_seconds)
    (vector,) = context.query_vectors.of(encoder, [text])
    notes = _notes_on_length(context, model, vector)
    asked = branch_query.kept_of(ask, context, "semantic")
    as_of = context.freshness.of(context.pool, embed_stage(model.model))
    with timed_pipeline(context.pool, ask.budget_ms) as conn:
        hits, short = _nearest(conn, ask, context, model, floor, vector, asked)
    return ModuleResult(
        tuple(hits),
        as_of,
        (*notes, *short),
        model=model.model,
        vector=packed(vector),
        floor=floor,
    )


def search_again(
    ask: Ask, context: SearchContext, before: Outcome
) -> tuple[Candidate, ...]:
    """Return the entries nearest to the vector of an earlier outcome."""
    asked = branch_query.kept_of(ask, context, "semantic")
    floor, vector = before.floor or 0.0, unpack_vector(before.vector or "")
    with timed_pipeline(context.pool, ask.budget_ms) as conn:
        model = vector_tables.find_model(conn, before.model or "")
        if model is None:
            return ()
        hits, _ = _nearest(conn, ask, context, model, floor, vector, asked)
    return tuple(hits)


def _notes_on_length(
    context: SearchContext, model: EmbeddingModel, vector: Vectors
) -> tuple[Diagnostic, ...]:
    """Note a vector length that settings do not tell; refuse one unlike the table's."""
    length = vector.shape[-1]
    if length != model.dimension:
        message = (
            f"The model {model.model} gives vectors of length {length}, and its table"
            f" holds vectors of length {model.dimension}."
        )
        raise ConfigurationError(message, config_key="embedding_model")
    told = context.told_dimension(model.model)
    if told in (None, length):
        return ()
    message = f"Vectors have length {length}; `embedding_dimension` says {told}."
    return (_note("dimension_mismatch", message, "configuration"),)


def find_floor(
    ask: Ask,
    context: SearchContext,
    model: EmbeddingModel,
    said_of: EmbeddingModel | None = None,
) -> float:
    """Return the lowest cosine kept: the request's, the setting's or the model's.

    The first two are meant for the live model, `said_of`.
    """
    wanted = (ask.plan.ordering.similarity_threshold, context.similarity_threshold)
    floor = next((one for one in wanted if one is not None), None)
    if floor is None:
        return model.similarity_floor
    return equal_cosine(floor, (said_of or model).model, model.model)


def _nearest(
    conn: Connection,
    ask: Ask,
    context: SearchContext,
    model: EmbeddingModel,
    floor: float,
    vector: Vectors,
    asked_for: BranchQuery,
) -> tuple[list[Candidate], tuple[Diagnostic, ...]]:
    """Return the nearest entries kept, with a note where the scan reached too few."""
    bound = statement_deadline.make_share_limiter(conn, ask.ends_at)

    def read(asked: int) -> _NearestPage:
        short: list[int] = []
        how = How(context.sizes, bound=bound, falls_short=lambda: short.append(asked))
        found = find_nearest(
            conn,
            model.table_name,
            ask.plan.scope,
            vector,
            asked,
            filters=ask.plan.filters.params,
            floor=floor,
            how=how,
        )
        hits = _kept(conn, ask, asked_for, found)
        is_all = len(found) < asked and not short
        return _NearestPage(hits, len(found), is_all, bool(short) or asked >= _MAX_SCAN)

    asked = ask.limit
    page = read(asked)
    while len(page.hits) < ask.limit and not page.is_all:
        wider = None
        if not page.is_last:
            asked = min(4 * asked, _MAX_SCAN)
            wider = _in_time(conn, bound, partial(read, asked))
        if wider is None:
            return page.hits, (_short(page),)
        page = wider
    return page.hits[: ask.limit], ()


def _in_time(
    conn: Connection, bound: Bound, read: Callable[[], _NearestPage]
) -> _NearestPage | None:
    """Read a wider page; None: its time is over, so the page so far stays."""
    try:
        # A failure undoes this part alone: what is read next has its own transaction.
        with conn.transaction():
            page = read() if bound(_SHARE) else None
    except QueryCanceled:
        page = None
    bound(1.0)
    return page


def _short(page: _NearestPage) -> Diagnostic:
    message = (
        f"Of the {page.looked_at} entries nearest in meaning {len(page.hits)} are not"
        " excluded; what is farther was not looked at."
    )
    return _note(UNDER_RETURN, message, "search")


def _note(code: str, message: str, category: str) -> Diagnostic:
    return Diagnostic("warning", "retrieve.semantic", code, message, category)


def _kept(
    conn: Connection, ask: Ask, asked: BranchQuery, found: list[Near]
) -> list[Candidate]:
    """Return the hits without entries that the question excludes."""
    if asked.keeps_all:
        known = {near.entry_id: columns_of(near) for near in found}
    else:
        known = candidate_rows.load_candidate_rows(
            conn, asked.params, [near.entry_id for near in found]
        )
    tenant = ask.plan.scope.tenant
    rows = ((near, known.get(near.entry_id)) for near in found)
    return [as_hit(near, row, tenant) for near, row in rows if row is not None]


def as_hit(near: Near, row: Columns, tenant: str) -> Candidate:
    """Return an entry as a hit, with its chunk's place if the text is unchanged."""
    span = (near.start_at, near.end_at) if near.revision == row.revision else None
    return row.candidate(tenant, near.cosine, near.chunk, span)


def columns_of(near: Near) -> Columns:
    """Return an entry's columns as read with its chunk, under rights and filters."""
    return Columns(
        id=near.entry_id,
        source=near.source,
        external_id=near.external_id,
        revision=near.current,
        kind=near.kind,
        origin=near.origin,
        entry_time=near.entry_time,
    )


def get_tool_descriptor() -> module_contract.SearchToolDescriptor:
    """Return the descriptor of the module `semantic`."""
    return module_contract.SearchToolDescriptor(
        name=NAME,
        description="Entries that mean what was asked, whatever their words.",
        search_mode="semantic",
        execute=search,
        unit=UNIT,
        needs_embedder=True,
        engine="postgres",
        args_schema=MeaningArguments,
    )


def get_parameter_descriptors() -> tuple[ParameterDescriptor, ...]:
    """Return the parameters that a search by meaning takes beside its question."""
    lowest = ParameterDescriptor(
        "similarity_threshold",
        "Least similarity",
        "float",
        min=0.0,
        max=1.0,
        step=0.05,
        section="Meaning",
    )
    return (lowest,)
