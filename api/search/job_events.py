"""The progress of a job as server-sent events, resumable from any of them."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi.sse import format_sse_event

from api.search.event_watch import JobWatch
from api.server import thread_pool
from shared.errors import LogchordError
from shared.log import get_logger
from shared.search.jobs.job import StoredJob
from shared.search.jobs.progress import ENDED, Progress, ProgressEvent
from shared.search.query.modes import AGENT
from shared.search.query.sub_queries import sub_queries_of
from shared.search.response import answer_events
from shared.times.rfc3339 import timestamp

log = get_logger()

HEARTBEAT_SECONDS = 15.0
POLL_SECONDS = (0.02, 0.05, 0.1, 0.25)
# Who watches is told at once; that a job has ended otherwise is seen by looking.
LOOK_SECONDS = 1.0
# Ids rise, and are the same whoever asks and whenever: what workers tell comes after
# the first two in its order, and what the end is made of far behind.
_ACCEPTED, _PLANNED, _SNAPSHOT, _RESULTS, _DONE = 1, 2, 1_000_000, 1_000_001, 1_000_009
_OF_TEXT = frozenset(("results", "deterministic", "llm_chunk", "llm_status", "actions"))


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """A job as it stands, and its events; None: they are lost."""

    stored: StoredJob
    told: Progress | None
    # Reads the job's page, so only where it is sent.
    body: Callable[[], dict[str, Any]]
    # How many come before it, while it waits for a worker.
    position: Callable[[], int | None] = lambda: None


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One event of a stream."""

    number: int
    name: str
    data: dict[str, Any]

    def wire(self) -> bytes:
        """Return the event in the format of server-sent events."""
        text = json.dumps(self.data, separators=(",", ":"))
        return format_sse_event(data_str=text, event=self.name, id=str(self.number))


def told_before(after: int) -> int:
    """Return how much of what workers told was sent up to an event."""
    return after - _PLANNED if _PLANNED < after < _SNAPSHOT else 0


async def stream(
    look: Callable[[int], JobSnapshot], watch: JobWatch, after: int
) -> AsyncIterator[bytes]:
    """Yield what happened after an event, then what happens, until the job has ended.

    A look that fails ends the stream; the client comes again with its last event.
    """
    sent_at = time.monotonic()
    is_live = False
    while True:
        try:
            seen = await thread_pool.run_step(look, told_before(after))
            if not is_live:
                seen = _as_of_now(seen)
            is_live = True
            events = await asyncio.to_thread(events_after, seen, after)
        except LogchordError as exc:
            log.warning("events_cut", code=exc.error_code)
            return
        for event in events:
            yield event.wire()
            after, sent_at = event.number, time.monotonic()
        if seen.stored.ended_at is not None:
            return
        until = time.monotonic() + LOOK_SECONDS
        while told := await watch.next(until - time.monotonic()):
            if told.name == ENDED:
                break
            if _PLANNED + told.number > after:
                event = _as_event(seen.stored, told)
                yield event.wire()
                after, sent_at = event.number, time.monotonic()
        if time.monotonic() - sent_at > HEARTBEAT_SECONDS:
            yield format_sse_event(comment="still there")
            sent_at = time.monotonic()


def _as_of_now(seen: JobSnapshot) -> JobSnapshot:
    """Return a job whose text, if it has ended, is read with the rights of now.

    Whoever watched it to its end was told it as it came. Events are kept for an hour,
    and an entry may have been closed or deleted since.
    """
    if seen.told is None or seen.stored.ended_at is None:
        return seen
    kept = [one for one in seen.told.events if one.name not in _OF_TEXT]
    if len(kept) == len(seen.told.events):
        return seen
    events = [one._replace(says={}) if one.name == ENDED else one for one in kept]
    return replace(seen, told=seen.told._replace(events=events))


def events_after(seen: JobSnapshot, after: int) -> list[JobEvent]:
    """Return every event of a job that is known now and comes behind another."""
    if after >= _DONE:
        return []
    told = seen.told
    is_lost = told is None or told.last < _heard_until(seen.stored, after)
    position = seen.position() if after < _ACCEPTED else None
    begun = _begun(seen.stored, position)
    events = [] if is_lost or told is None else [*begun, *_told(seen.stored, told)]
    job_id = str(seen.stored.id)
    if is_lost and after < _SNAPSHOT:
        events.append(JobEvent(_SNAPSHOT, "snapshot", seen.body()))
    if seen.stored.ended_at is not None:
        response = seen.body()["response"]
        if response and not _is_answered(told):
            events += [
                JobEvent(_RESULTS + place, name, says)
                for place, (name, says) in enumerate(answer_events.of_body(response))
            ]
        degraded = bool(response and response["degraded"])
        ended = {
            "state": seen.stored.state,
            "degraded": degraded,
            "stability_hash": response["stability_hash"] if response else None,
            "error": seen.stored.error,
        }
        events.append(JobEvent(_DONE, "done", ended))
    return [
        JobEvent(one.number, one.name, {"job_id": job_id, **one.data})
        for one in events
        if one.number > after
    ]


def _heard_until(stored: StoredJob, after: int) -> int:
    """Return how many events workers must have told, given the ones sent before."""
    branches = 1 if stored.plan["method"] == AGENT else len(stored.plan["branches"])
    return max(told_before(after), branches if stored.ended_at else 0)


def _is_answered(told: Progress | None) -> bool:
    """Tell whether a worker told of hits and answer before it ended the job."""
    last = told.events[-1] if told and told.events else None
    return last is not None and last.name == ENDED and bool(last.says.get("answered"))


def _begun(stored: StoredJob, position: int | None) -> list[JobEvent]:
    plan = stored.plan
    planned = {
        "method_used": plan["method"],
        "reasoning": plan["reasoning"],
        "branches": plan["branches"],
        "sub_queries": sub_queries_of(plan),
    }
    until = timestamp(stored.deadline_at)
    accepted = {"deadline_at": until, "queue_position": position}
    return [
        JobEvent(_ACCEPTED, "accepted", accepted),
        JobEvent(_PLANNED, "planned", planned),
    ]


def _told(stored: StoredJob, told: Progress) -> list[JobEvent]:
    """Return the workers' events; those of a branch with its sub-question."""
    return [_as_event(stored, one) for one in told.events if one.name != ENDED]


def _as_event(stored: StoredJob, one: ProgressEvent) -> JobEvent:
    says = one.says
    if one.name.startswith("branch_"):
        says = _with_question(says, sub_queries_of(stored.plan))
    data = {"job_id": str(stored.id), **says}
    return JobEvent(_PLANNED + one.number, one.name, data)


def _with_question(says: Mapping[str, Any], asked: Sequence[str]) -> dict[str, Any]:
    if "turn" in says:
        # A turn has no sub-question: it asks several branches.
        return dict(says)
    part = says.get("part", 0)
    told = {name: value for name, value in says.items() if name != "part"}
    return {**told, "sub_query": asked[part if part < len(asked) else 0]}
