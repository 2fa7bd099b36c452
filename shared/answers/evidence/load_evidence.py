"""Read the threads of the best hits: a reply often tells what an entry asks."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from shared.answers.evidence.evidence import EvidenceEntry
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import Pool, pipelined_connection
from shared.search.query.plan import Plan
from shared.search.response.end_search import EVIDENCE_HITS
from shared.search.results.hydrate import HitRow, hydrate_threads
from shared.search.results.result_page import Shown
from shared.text.facility.facility import Facility

log = get_logger()

THREADS_READ = 3


def load_evidence(
    pool: Pool, plan: Plan, facility: Facility, page: Sequence[Shown], timeout_ms: int
) -> list[EvidenceEntry]:
    """Return the best hits, and what else was written in the threads of the first.

    Without the threads there is less evidence; the hits are there in any case.
    """
    best = list(page[:EVIDENCE_HITS])
    threads = [one.row.thread_id for one in best[:THREADS_READ] if one.row.thread_id]
    others: list[HitRow] = []
    # What a filter excludes is not brought back by its thread.
    if threads and timeout_ms > 0 and not _is_narrowed(plan):
        try:
            with pipelined_connection(pool) as conn:
                others = hydrate_threads(
                    conn, list(dict.fromkeys(threads)), plan.scope, timeout_ms
                )
        except (DatabaseConnectionError, DatabaseQueryError) as exc:
            log.warning("threads_not_read", code=exc.error_code)
    return join_evidence(best, others, facility)


def add_newest(
    entries: Sequence[EvidenceEntry], newest: Sequence[HitRow], facility: Facility
) -> list[EvidenceEntry]:
    """Return entries with the newest that have all words, each as good as a best hit.

    One that is at hand already is marked as such.
    """
    ids = {one.entry_id for one in newest}
    known = {one.row.entry_id for one in entries}
    best = max((one.score for one in entries), default=0.0)
    marked = [
        replace(one, is_newest=True) if one.row.entry_id in ids else one
        for one in entries
    ]
    last = max((one.rank for one in entries), default=0)
    return marked + [
        EvidenceEntry(
            *(row, best, last + place),
            is_hit=False,
            facility=facility,
            is_newest=True,
        )
        for place, row in enumerate(newest, 1)
        if row.entry_id not in known
    ]


def join_evidence(
    page: Sequence[Shown], others: Sequence[HitRow], facility: Facility
) -> list[EvidenceEntry]:
    """Return the hits and their threads' entries, each with its score."""
    scores: dict[UUID, tuple[float, int]] = {}
    firsts: dict[UUID, HitRow] = {}
    for rank, one in enumerate(page, 1):
        thread = one.row.thread_id
        if thread is not None and thread not in scores:
            scores[thread] = (one.item.relevance_score, rank)
    for row in (*(one.row for one in page), *others):
        if row.thread_id is not None:
            first = firsts.get(row.thread_id)
            if first is None or _moment(row) < _moment(first):
                firsts[row.thread_id] = row
    known = {one.row.entry_id for one in page}
    found = [(one.row, one.item.relevance_score, n) for n, one in enumerate(page, 1)]
    found += [
        (row, *scores[row.thread_id])
        for row in others
        if row.entry_id not in known and row.thread_id in scores
    ]
    return [
        EvidenceEntry(
            *one,
            is_hit=one[0].entry_id in known,
            is_reply=_is_reply(one[0], firsts),
            facility=facility,
        )
        for one in found
    ]


def _moment(row: HitRow) -> tuple[object, str]:
    return row.entry_time, str(row.entry_id)


def _is_reply(row: HitRow, firsts: dict[UUID, HitRow]) -> bool:
    first = None if row.thread_id is None else firsts.get(row.thread_id)
    return first is not None and first.entry_id != row.entry_id


def _is_narrowed(plan: Plan) -> bool:
    """Tell whether more than a time was asked for, which a reply need not keep to."""
    timeless = replace(
        plan.filters, since=None, until=None, happened_since=None, happened_until=None
    )
    return bool(timeless)
