"""The cards of a page: of what the question names, or 40 % of the best hits share."""

from collections.abc import Iterator, Sequence

from psycopg import Connection

from shared.cards import card_rows, card_things
from shared.cards.thing_card import BestHit, make_thing_card
from shared.cards.thread_card import make_thread_card
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres import request_deadline
from shared.postgres.pool import pipelined_connection
from shared.postgres.statement_deadline import Deadline
from shared.search.query.plan import Plan
from shared.search.response.card import Card
from shared.search.results.result_page import ResultPage, Shown
from shared.search.retrieval.search_context import SearchContext
from shared.text.facility.devices import DEVICE
from shared.text.facts import make_key

log = get_logger()

# With less time left a page has none; of more, they all take no more than so much.
LEAST_MS, MOST_MS = 50, 60


def make_cards(
    context: SearchContext, plan: Plan, page: ResultPage, timeout_ms: int
) -> Sequence[Card]:
    """Return the cards of a page, those of the question first."""
    if not page or timeout_ms < LEAST_MS:
        return ()
    made: list[Card] = []
    end = Deadline.after(min(timeout_ms, MOST_MS))
    try:
        with (
            request_deadline.hurried(MOST_MS / 1000),
            pipelined_connection(context.pool) as conn,
        ):
            made.extend(_cards(conn, context, plan, page, end))
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        # The hits are the answer, and stand without them; what was made is kept.
        told = {"code": exc.error_code, "technical": exc.technical}
        log.warning("cards_not_made", made=len(made), **told)
    return made


def _cards(
    conn: Connection,
    context: SearchContext,
    plan: Plan,
    page: ResultPage,
    end: Deadline,
) -> Iterator[Card]:
    end.limit_time(conn, one_plan=True)
    best = [one.row for one in page[: card_things.BEST_HITS]]
    named = card_rows.load_named(conn, plan.scope, [one.entry_id for one in best])
    zone, own = plan.time.zone, context.facility.incidents
    for thing in card_things.find_card_things(plan, context.facility, named):
        if not end.left_ms:
            return
        end.limit_time(conn, one_plan=True)
        entries = card_rows.load_thing_entries(conn, plan.scope, thing, zone)
        if not any(one.is_naming for one in entries):
            continue
        values = []
        if thing.kind == DEVICE:
            key = make_key(DEVICE, thing.canonical)
            end.limit_time(conn, one_plan=True)
            values = card_rows.load_values(conn, plan.scope, [key])
        hit = _best_of(
            one
            for one in page
            if card_things.names_thing(thing, named.get(one.row.entry_id, ()))
        )
        yield make_thing_card(thing, entries, values, hit, zone, own)
    threads = card_things.find_card_threads(plan, [one.thread_id for one in best])
    for thread, why in threads.items():
        if not end.left_ms:
            return
        end.limit_time(conn, one_plan=True)
        entries = card_rows.load_thread_entries(conn, plan.scope, thread)
        if entries:
            hit = _best_of(one for one in page if one.row.thread_id == thread)
            yield make_thread_card(thread, entries, why, hit, zone, own)


def _best_of(hits: Iterator[Shown]) -> BestHit:
    best = next(hits, None)
    if best is None:
        return BestHit(None, 0.0)
    return BestHit(best.item.entry_id, best.item.relevance_score)
