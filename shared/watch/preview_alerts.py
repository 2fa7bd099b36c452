"""A dry run over history: the alerts that a saved search would have given rise to."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import LiteralString
from uuid import UUID

from shared.errors import LogchordError, SearchTimeoutError
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.statement_deadline import timed_connection
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.search_context import SearchContext
from shared.watch import match_entries
from shared.watch.saved_plans import SavedPlans

SECONDS = 20.0
MOST_SAMPLES = 20
ENTRIES_AT_ONCE = 2000

_WRITTEN_SINCE: LiteralString = """
    SELECT e.id, e.thread_id, e.source, e.external_id, e.entry_time, r.title
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
     WHERE e.tenant = %(tenant)s AND r.tenant = %(tenant)s AND e.deleted_at IS NULL
       AND (e.entry_time, e.id) > (%(since)s, %(after)s::uuid)
     ORDER BY e.entry_time, e.id
     LIMIT %(limit)s"""


@dataclass(frozen=True, slots=True)
class WrittenEntry:
    """An entry of the past, as far as an alert would tell of it."""

    id: UUID
    thread_id: UUID | None
    source: str
    external_id: str
    entry_time: datetime
    title: str


@dataclass(frozen=True, slots=True)
class Preview:
    """How many alerts there would have been, and the newest, with what found them."""

    would_have_fired: int
    samples: list[tuple[WrittenEntry, list[str]]]


def preview_alerts(
    context: SearchContext,
    plans: SavedPlans,
    vector: str | None,
    *,
    days: int,
    by_thread: bool,
) -> Preview:
    """Match all entries of the last days, page by page, as if they came now."""
    ask = Ask.lasting(plans.by_words, SECONDS)
    count = 0
    # No more is kept than is shown, and the threads that were told of.
    samples: deque[tuple[WrittenEntry, list[str]]] = deque(maxlen=MOST_SAMPLES)
    threads: set[UUID | None] = set()
    try:
        for entries in _pages(context, ask, datetime.now(UTC) - timedelta(days=days)):
            ids = [one.id for one in entries]
            seconds = ask.budget_seconds
            matches = match_entries.match(context, plans, vector, ids, seconds)
            for one in entries:
                if one.id not in matches or one.thread_id in threads:
                    continue
                count += 1
                samples.append((one, matches[one.id]))
                if by_thread and one.thread_id is not None:
                    threads.add(one.thread_id)
    except LogchordError as exc:
        if exc.error_code != "branch_timeout":
            raise
        raise SearchTimeoutError(timeout_seconds=SECONDS, operation="preview") from exc
    return Preview(count, [*reversed(samples)])


def _pages(
    context: SearchContext, ask: Ask, since: datetime
) -> Iterator[list[WrittenEntry]]:
    """Yield the entries since then by the time at which they were written."""
    given = {"tenant": ask.plan.scope.tenant, "limit": ENTRIES_AT_ONCE}
    place = {"since": since, "after": UUID(int=0)}
    while True:
        with timed_connection(context.pool, ask.budget_ms) as conn:
            page = fetch_all(conn, WrittenEntry, _WRITTEN_SINCE, {**given, **place})
        if page:
            yield page
        if len(page) < ENTRIES_AT_ONCE:
            return
        place = {"since": page[-1].entry_time, "after": page[-1].id}
