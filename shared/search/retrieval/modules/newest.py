"""Lists hits by time: all matches, or all entries left over without words."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import LiteralString

from psycopg.rows import class_row

from shared.entries.draft import FUTURE
from shared.entries.reading.read_entries import ListingPosition
from shared.errors import LogchordError
from shared.log import get_logger
from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres.statement_deadline import timed_connection
from shared.search.jobs.outcome import Candidate, Diagnostic
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.list_by_time import LISTING_MODULE, Sort
from shared.search.query.plan import Plan
from shared.search.retrieval import module_contract
from shared.search.retrieval.engines import branch_query
from shared.search.retrieval.engines.branch_query import BranchQuery
from shared.search.retrieval.engines.candidate_rows import Columns
from shared.search.retrieval.module_contract import Ask, Lexicon, ModuleResult
from shared.search.retrieval.modules import match_sql
from shared.search.retrieval.search_context import SearchContext

log = get_logger()

_FIRST = ListingPosition()

_COUNT: LiteralString = """
    SELECT count(*)
      FROM matched"""
_COLUMNS: LiteralString = """
    SELECT id, source, external_id, revision, kind, origin, entry_time
      FROM matched
     WHERE """
_BEHIND: LiteralString = """ (%(after_time)s::timestamptz IS NULL
            OR (entry_time, id) < (%(after_time)s, %(after_id)s::uuid))
     ORDER BY entry_time DESC, id DESC
     LIMIT %(limit)s"""
# A date in the future is most likely a mistake: it must not lead a list of the newest.
_NEWEST: LiteralString = _COLUMNS + "entry_time < %(ahead)s AND" + _BEHIND
_AHEAD: LiteralString = _COLUMNS + "entry_time >= %(ahead)s AND" + _BEHIND
_OLDEST: LiteralString = f"""{_COLUMNS}(%(after_time)s::timestamptz IS NULL
            OR (entry_time, id) > (%(after_time)s, %(after_id)s::uuid))
     ORDER BY entry_time, id
     LIMIT %(limit)s"""
# The parts of a list, in turn; the newest come first where no order was asked for.
_PAGES: Mapping[Sort, tuple[LiteralString, ...]] = {
    "relevance": (_NEWEST, _AHEAD),
    "newest": (_NEWEST, _AHEAD),
    "oldest": (_OLDEST,),
}


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """List the entries that match and pass the filters, by time."""
    asked = branch_query.build_branch_query(ask, context, LISTING_MODULE)
    if _by_words(ask.plan) and not asked.question.finds:
        return ModuleResult(skipped="empty_query")
    as_of = context.freshness.of(context.pool, METADATA_STAGE)
    rows, notes = _first_page(ask, asked)
    hits = tuple(hit(ask.plan, row, place) for place, row in enumerate(rows, start=1))
    matches = _counted(ask, asked) if ask.plan.exhaustive else None
    return ModuleResult(
        hits, as_of, notes, matches=matches or 0, counted=matches is not None
    )


def following(ask: Ask, lexicon: Lexicon, after: ListingPosition) -> list[Columns]:
    """Return the rows of a later page, by the question that found the first page."""
    asked = branch_query.build_branch_query(ask, lexicon, LISTING_MODULE)
    if ask.plan.exhaustive or not _by_words(ask.plan):
        return _page(ask, asked, asked.question, after, ask.limit)

    def found_by(question: CompiledQuery) -> CompiledQuery | None:
        return question if _page(ask, asked, question, _FIRST, 1) else None

    question, _ = branch_query.first_found(ask, asked, LISTING_MODULE, found_by)
    return _page(ask, asked, question or asked.question, after, ask.limit)


def hit(plan: Plan, row: Columns, place: int) -> Candidate:
    """Return a row as a hit, scored by its place to keep the order of the listing."""
    return row.candidate(plan.scope.tenant, -float(place))


def _first_page(
    ask: Ask, asked: BranchQuery
) -> tuple[list[Columns], tuple[Diagnostic, ...]]:
    def page(question: CompiledQuery) -> list[Columns]:
        return _page(ask, asked, question, _FIRST, ask.limit)

    if ask.plan.exhaustive or not _by_words(ask.plan):
        # A list of all matches takes the question as asked, without wider ones.
        return page(asked.question), asked.diagnostics
    return branch_query.first_found(ask, asked, LISTING_MODULE, page)


def _page(
    ask: Ask,
    asked: BranchQuery,
    question: CompiledQuery,
    after: ListingPosition,
    limit: int,
) -> list[Columns]:
    ahead = find_last_part(ask.plan)
    parts = _PAGES[ask.plan.sort]
    if after.time is not None and after.time >= ahead:
        parts = parts[-1:]
    found: list[Columns] = []
    statement_params = match_sql.params(asked, question)
    with (
        timed_connection(asked.lexicon.pool, ask.budget_ms) as conn,
        conn.cursor(row_factory=class_row(Columns)) as cur,
    ):
        for number, part in enumerate(parts):
            # A following part begins at its own first entry.
            place = after if number == 0 else _FIRST
            given = {
                **statement_params,
                "ahead": ahead,
                "after_time": place.time,
                "after_id": place.entry_id,
                "limit": limit - len(found),
            }
            whole = match_sql.statement(part, by_words=_by_words(ask.plan))
            found += cur.execute(whole, given).fetchall()
            if len(found) == limit:
                break
    return found


def find_last_part(plan: Plan) -> datetime:
    """Return from when on entries stand behind all others, the newest first again.

    If no order was asked for, what was written on the day after a named one does, too.
    """
    ahead = datetime.now(UTC) + FUTURE
    edges = plan.ordering.beside_day if plan.sort == "relevance" else {}
    if len(edges) != 1:
        # Between several days no one moment parts them from the days after.
        return ahead
    return min(ahead, *map(datetime.fromisoformat, edges))


def _counted(ask: Ask, asked: BranchQuery) -> int | None:
    """Count all matches; None: time was over before."""
    statement = match_sql.statement(_COUNT, by_words=_by_words(ask.plan))
    try:
        with timed_connection(asked.lexicon.pool, ask.budget_ms) as conn:
            row = conn.execute(
                statement, match_sql.params(asked, asked.question)
            ).fetchone()
    except LogchordError as exc:
        if not exc.retriable:
            raise
        # The first page is good without the count, and says that it has none.
        log.warning("matches_not_counted", code=exc.error_code)
        return None
    return int(row[0]) if row else 0


def _by_words(plan: Plan) -> bool:
    return plan.is_listing and plan.asks_for_words


def get_tool_descriptor() -> module_contract.SearchToolDescriptor:
    """Return the descriptor of the module that lists by time."""
    return module_contract.SearchToolDescriptor(
        name=LISTING_MODULE,
        description="Entries that pass the filters and match, newest or oldest first.",
        search_mode="keyword",
        execute=search,
        unit="place",
        engine="postgres",
        needs_stages=(METADATA_STAGE,),
        compares_words=True,
    )
