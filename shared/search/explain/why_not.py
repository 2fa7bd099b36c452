"""Why a search did not return an entry: the first gate that kept it out.

An entry that the caller may not see is answered for as one that does not exist.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from math import ceil
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.entries import refs, tombstones
from shared.errors import InvalidRequestError
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.postgres.pool import connection
from shared.search.absence import failed_filter, gates
from shared.search.absence.absence import say_unasked
from shared.search.explain import explain_branch
from shared.search.explain.explain_branch import Asking, BranchReason
from shared.search.jobs.job import StoredJob
from shared.search.jobs.outcome import FACETS, Outcome
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.ranking.fold import Run
from shared.search.ranking.rank import LIKENESS, LOGIT
from shared.search.ranking.ranked_hits import Beyond, Ranked, RankedHits
from shared.search.response import job_answer
from shared.search.retrieval.search_context import SearchContext

SECONDS = 2.0
# Gates that pass by themselves are told before gates that stay.
_PASSING = ("not_indexed", "not_embedded", "branch_failed")
_FURTHEST = ("below_limit", "outside_candidates", gates.BELOW_SIMILARITY, "no_match")
# The units of scores that a model gives to hits that it has read.
_READ = frozenset({LOGIT, LIKENESS})

_SEEN: LiteralString = f"""
    SELECT e.id, e.source, e.external_id, e.modified_at, e.entry_time, e.deleted_at,
           e.delete_reason
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.id = ANY (%(ids)s){rights.SEEN}
     ORDER BY e.source, e.external_id
     LIMIT 5000"""

_ARE_THERE: LiteralString = """
    SELECT EXISTS (
        SELECT FROM entry
         WHERE tenant = %(tenant)s AND id = ANY (%(ids)s) AND deleted_at IS NULL)"""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The gate that an entry did not pass, and what it would have needed."""

    gate: str
    explanation: str
    entry_id: str | None = None
    rank: int | None = None
    value: float | str | None = None
    limit: float | str | None = None
    # Why each branch did not find the entry.
    branches: tuple[BranchReason, ...] = ()

    def body(self) -> dict[str, Any]:
        """Return the explanation as answers show it."""
        return {**asdict(self), "returned": self.gate == "returned"}


NOT_FOUND = WhyNot("not_found", "There is no such entry that you may see.")
# Told only where `search.acl_honesty` allows it; it says nothing else of the entry.
NOT_VISIBLE = WhyNot("not_visible", "There is such an entry; you may not see it.")


@dataclass(frozen=True, slots=True)
class _MissedEntry:
    """An entry that the caller may see, or that was deleted."""

    id: UUID
    source: str
    external_id: str
    modified_at: datetime
    entry_time: datetime
    deleted_at: datetime | None
    delete_reason: str | None


def explain(reader: job_answer.JobReader, job: StoredJob, ref: str) -> WhyNot:
    """Return why an ended search did not return an entry, or at which place it did."""
    if job.ended_at is None:
        message = "This search has not ended yet: ask again when it has."
        raise InvalidRequestError.field("job_id", "not_ended", message)
    plan, context = reader.plan_of(job), reader.context
    with connection(context.pool) as conn:
        entry = _meant(conn, reader.scope, ref)
        if entry is None:
            is_told = reader.acl_honesty and _is_there(conn, reader.scope.tenant, ref)
            return NOT_VISIBLE if is_told else NOT_FOUND
        said = _of_filters(conn, plan, entry)
        if said is not None:
            return said
    branches = job_answer.branches_of(job)
    order = job_answer.order_of(reader, job, plan, branches)
    said = _of_window(context, plan, entry, order)
    if said is not None:
        return said
    found = (one for one in order.beyond if one.entry_id == str(entry.id))
    cut = next((_of_beyond(plan, order, one) for one in found), None)
    if not plan.branches:
        return WhyNot("no_match", say_unasked(plan), str(entry.id))
    kept = tuple(_of_each(plan, context, entry.id, branches))
    if cut is not None:
        # The stored ranking says how it was cut, whatever a branch would find now.
        said = cut
    elif any(one.gate is None for one in kept):
        said = _of_now(entry, job)
    else:
        said = _of_branches(kept)
    return replace(said, entry_id=str(entry.id), branches=kept)


def _meant(conn: Connection, scope: Scope, ref: str) -> _MissedEntry | None:
    ids = [one.entry_id for one in refs.find(conn, scope.tenant, ref)]
    found = fetch_all(conn, _MissedEntry, _SEEN, {**scope.params, "ids": ids})
    if len(found) > 1:
        several = ", ".join(f"{one.source}/{one.external_id}" for one in found)
        message = f"It may be any of: {several}."
        raise InvalidRequestError.field("entry", "ambiguous", message)
    return found[0] if found else None


def _is_there(conn: Connection, tenant: str, ref: str) -> bool:
    """Tell whether the reference names an entry that exists, whoever may see it."""
    ids = [one.entry_id for one in refs.find(conn, tenant, ref)]
    return bool(fetch_value(conn, _ARE_THERE, {"tenant": tenant, "ids": ids}))


def _of_filters(conn: Connection, plan: Plan, entry: _MissedEntry) -> WhyNot | None:
    """Return why the entry is out whatever its text says: deleted, or by a filter."""
    entry_id = str(entry.id)
    if entry.deleted_at is not None:
        said = f"It was {tombstones.describe_deletion(entry.delete_reason)}."
        return WhyNot("deleted", said, entry_id)
    gate = failed_filter.gate(conn, plan.scope, plan.filters, entry.id)
    if gate is None:
        return None
    if gate != gates.OUTSIDE_WINDOW:
        name = gate.partition(":")[2]
        return WhyNot(gate, f"It does not pass the filter {name!r}.", entry_id)
    since, until = plan.filters.since, plan.filters.until
    written = entry.entry_time.isoformat()
    said = (
        f"It was written at {written}: not within {since or '...'}, {until or '...'}."
    )
    return WhyNot(gate, said, entry_id, None, written, f"{since or ''}/{until or ''}")


def _of_window(
    context: SearchContext, plan: Plan, entry: _MissedEntry, order: RankedHits
) -> WhyNot | None:
    """Return the entry's place in the order; None: it is not in the order."""
    runs = fold.group_runs(order.items)
    entry_id = str(entry.id)
    holding = (
        n for n, run in enumerate(runs) for item in run if item.entry_id == entry_id
    )
    at = next(holding, None)
    if at is None:
        return None
    ids = [UUID(item.entry_id) for run in runs[: at + 1] for item in run]
    with connection(context.pool) as conn:
        rows = fetch_all(conn, _MissedEntry, _SEEN, {**plan.scope.params, "ids": ids})
    seen = {str(row.id) for row in rows if row.deleted_at is None}
    if entry_id not in seen:
        # The entry was deleted or closed to the caller in the meantime.
        return NOT_FOUND
    first = next(item for item in runs[at] if item.entry_id in seen)
    place = 1 + sum(any(i.entry_id in seen for i in run) for run in runs[:at])
    if first.entry_id != entry_id:
        said = f"It stands behind {first.entry_id}, which says nearly the same."
        return WhyNot("collapsed_into", said, entry_id, value=first.entry_id)
    if place <= plan.limit:
        said = f"It is in the answer, at place {place}."
        return WhyNot("returned", said, entry_id, place)
    if _has_read(order) and not _READ & first.scores.keys():
        return replace(_unread(plan, place), entry_id=entry_id, rank=place)
    # A list by time postpones no source's entries, and all of them score alike.
    by_score = place if plan.is_listing else _place_by_score(runs, first)
    if by_score <= plan.limit:
        most = ceil(plan.ordering.source_share * plan.limit)
        said = (
            f"By its score it is number {by_score}, but its source {first.source} has"
            f" {most} places of a page while others have hits; it is at place {place}."
        )
        return WhyNot("source_cap", said, entry_id, place, by_score, most)
    said = f"It is at place {place}, behind the {plan.limit} that were asked for."
    return WhyNot("below_limit", said, entry_id, place, place, plan.limit)


def _place_by_score(runs: Sequence[Run], item: Ranked) -> int:
    key = (-item.relevance_score, item.kind, item.chunk_id)
    firsts = [run[0] for run in runs]
    better = [o for o in firsts if (-o.relevance_score, o.kind, o.chunk_id) < key]
    return len(better) + 1


def _of_each(
    plan: Plan, context: SearchContext, entry_id: UUID, told: Sequence[Outcome]
) -> Iterator[BranchReason]:
    """Explain for each branch why it did not find an entry, by its question of then."""
    for number, name in enumerate(plan.branches):
        if name == FACETS:
            continue
        part = plan.part_of(number)
        asking = Asking(plan.of_branch(number), context, entry_id, SECONDS)
        own = [one for one in told if one.part == part]
        yield explain_branch.of_branch(asking, name, own)


def _of_branches(kept: Sequence[BranchReason]) -> WhyNot:
    """Return, of the gates that kept an entry out, the one nearest to success."""
    wanted = [*_PASSING, *_FURTHEST]
    first = min(kept, key=lambda one: wanted.index((one.gate or "").partition(":")[0]))
    told = " ".join(dict.fromkeys(one.explanation for one in kept))
    said = WhyNot(first.gate or "", told, value=first.value, limit=first.limit)
    if said.gate != "below_limit" or first.value is None:
        return said
    return replace(said, rank=int(first.value))


def _of_beyond(plan: Plan, order: RankedHits, found: Beyond) -> WhyNot:
    """Return why an entry that a branch found was cut: its score, or better entries."""
    ordering, score = plan.ordering, found.relevance_score
    cosine, threshold = found.validation_score, plan.fan_out.threshold
    if cosine is not None and threshold is not None:
        said = (
            f"A part of the question found it; its cosine to the whole is {cosine:.4f},"
            f" and {threshold:.4f} is needed."
        )
        return WhyNot("validation", said, value=cosine, limit=threshold)
    if found.unread:
        return _unread(plan, found.place)
    least = ordering.min_relevance_score
    if least is None and _has_read(order, LOGIT):
        least = ordering.least_by_model
    if least is not None and score < least:
        said = f"It scored {score:.4f}; {least:.4f} is needed."
        return WhyNot(gates.BELOW_MIN_RELEVANCE, said, value=score, limit=least)
    if ordering.strict and found.confidence in {"low", "none"}:
        said = (
            f"It scored {score:.4f}; what is doubtful, below {ordering.medium}, is out."
        )
        return WhyNot(gates.BELOW_CONFIDENCE, said, value=score, limit=ordering.medium)
    if found.place is None:
        said = "It stands behind others that say nearly the same, or are of its thread."
        return WhyNot("collapsed_into", said)
    place = found.place
    if plan.fan_out.sub_queries:
        said = (
            f"It was found at place {place} of a part of the question, of which the"
            f" best {plan.limit} are taken."
        )
        return WhyNot("outside_candidates", said, value=place, limit=plan.limit)
    said = f"It was found at place {place}, behind the window of {plan.window}."
    return WhyNot("outside_candidates", said, value=place, limit=plan.window)


def _unread(plan: Plan, place: int | None) -> WhyNot:
    most = plan.ordering.model_window
    said = f"A model has read the best {most} and put them first: it is not of these."
    return WhyNot("outside_rerank_window", said, value=place, limit=most)


def _has_read(order: RankedHits, *units: str) -> bool:
    """Tell whether a model has read any of the hits, by the units of their scores."""
    wanted = frozenset(units) or _READ
    found = (*order.items, *order.missed)
    return any(wanted & item.scores.keys() for item in found)


def _of_now(entry: _MissedEntry, job: StoredJob) -> WhyNot:
    """Explain why no branch found an entry then that one of them finds now."""
    if entry.modified_at >= job.created_at:
        said = "It was written or changed after this search; it can be found now."
        return WhyNot("not_indexed", said)
    said = "It was not among what was found then, and is now: the index has changed."
    return WhyNot("outside_candidates", said)
