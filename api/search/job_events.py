"""The progress of a job as server-sent events, resumable from any of them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.server import thread_pool
from shared.errors import LogchordError
from shared.log import get_logger
from shared.search.jobs.job import StoredJob
from shared.search.jobs.progress import ProgressEvent
from shared.search.query.modes import AGENT
from shared.search.query.sub_queries import sub_queries_of
from shared.times.rfc3339 import timestamp

log = get_logger()

HEARTBEAT_SECONDS = 15.0
POLL_SECONDS = (0.02, 0.05, 0.1, 0.25)
# Ids rise, and are the same whoever asks and whenever: what workers tell comes after
# the first two in its order, and what the end is made of far behind.
_ACCEPTED, _PLANNED, _SNAPSHOT, _RESULTS, _DONE = 1, 2, 1_000_000, 1_000_001, 1_000_002


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """A job as it stands, and what was told of it; None: that is lost."""

    stored: StoredJob
    told: Sequence[ProgressEvent] | None
    # Reads the job's page, so only where it is sent.
    body: Callable[[], dict[str, Any]]
    # How many come before it, while it waits for a worker.
    position: Callable[[], int | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream."""

    number: int
    name: str
    data: dict[str, Any]

    def wire(self) -> str:
        """Return it as it is sent."""
        text = json.dumps(self.data, separators=(",", ":"))
        return f"id: {self.number}\nevent: {self.name}\ndata: {text}\n\n"


async def stream(look: Callable[[], JobSnapshot], after: int) -> AsyncIterator[str]:
    """Yield what happened after an event, then what happens, until the job has ended.

    A look that fails ends the stream; the client comes again with its last event.
    """
    sent_at, turn = time.monotonic(), 0
    while True:
        try:
            seen = await thread_pool.run_step(look)
            events = await asyncio.to_thread(events_after, seen, after)
        except LogchordError as exc:
            log.warning("events_cut", code=exc.error_code)
            return
        for event in events:
            yield event.wire()
            after, sent_at, turn = event.number, time.monotonic(), 0
        if seen.stored.ended_at is not None:
            return
        if time.monotonic() - sent_at > HEARTBEAT_SECONDS:
            yield ": still there\n\n"
            sent_at = time.monotonic()
        await asyncio.sleep(POLL_SECONDS[min(turn, len(POLL_SECONDS) - 1)])
        turn += 1


def events_after(seen: JobSnapshot, after: int) -> list[Event]:
    """Return every event of a job that is known now and comes behind another."""
    if after >= _DONE:
        return []
    is_lost = seen.told is None or len(seen.told) < _heard_until(seen.stored, after)
    position = seen.position() if after < _ACCEPTED else None
    begun = _begun(seen.stored, position)
    events = [] if is_lost else [*begun, *_told(seen.stored, seen.told or ())]
    job_id = str(seen.stored.id)
    if is_lost and after < _SNAPSHOT:
        events.append(Event(_SNAPSHOT, "snapshot", seen.body()))
    if seen.stored.ended_at is not None:
        response = seen.body()["response"]
        if response:
            events.append(Event(_RESULTS, "results", response))
        degraded = bool(response and response["degraded"])
        ended = {
            "state": seen.stored.state,
            "degraded": degraded,
            "stability_hash": response["stability_hash"] if response else None,
            "error": seen.stored.error,
        }
        events.append(Event(_DONE, "done", ended))
    return [
        Event(one.number, one.name, {"job_id": job_id, **one.data})
        for one in events
        if one.number > after
    ]


def _heard_until(stored: StoredJob, after: int) -> int:
    """Return how much workers must have told: what was sent, and each branch's end."""
    sent = after - _PLANNED if _PLANNED < after < _SNAPSHOT else 0
    branches = 1 if stored.plan["method"] == AGENT else len(stored.plan["branches"])
    return max(sent, branches if stored.ended_at else 0)


def _begun(stored: StoredJob, position: int | None) -> list[Event]:
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
        Event(_ACCEPTED, "accepted", accepted),
        Event(_PLANNED, "planned", planned),
    ]


def _told(stored: StoredJob, told: Sequence[ProgressEvent]) -> list[Event]:
    """Return what workers told, which is all of branches, each with its question."""
    asked = sub_queries_of(stored.plan)
    return [
        Event(_PLANNED + 1 + number, one.name, _with_question(one.says, asked))
        for number, one in enumerate(told)
    ]


def _with_question(says: Mapping[str, Any], asked: Sequence[str]) -> dict[str, Any]:
    if "turn" in says:
        # Of no branch: a turn asks several.
        return dict(says)
    part = says.get("part", 0)
    told = {name: value for name, value in says.items() if name != "part"}
    return {**told, "sub_query": asked[part if part < len(asked) else 0]}
