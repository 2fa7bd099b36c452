"""How far a submitted job is, event by event; whoever comes late reads them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

import redis

from shared.messaging.broker_errors import translate_broker_errors
from shared.search.jobs import redis_keys


class ProgressEvent(NamedTuple):
    """One thing that workers told of a job: its name, and what it says."""

    name: str
    says: dict[str, Any]


def branch_started(
    client: redis.Redis, job_id: UUID, branch: str, part: int, *, until: int
) -> None:
    """Tell that a branch is carried out from now on."""
    name = redis_keys.events(job_id)
    pipe = client.pipeline(transaction=False)
    told = json.dumps([{"name": branch, "part": part}])
    pipe.xadd(name, {"branch_started": told})
    pipe.expireat(name, until)
    with translate_broker_errors():
        pipe.execute()


def agent_turn(
    client: redis.Redis, job_id: UUID, turn: Mapping[str, Any], *, until: int
) -> None:
    """Tell how a turn of an agent has fared."""
    name = redis_keys.events(job_id)
    pipe = client.pipeline(transaction=False)
    pipe.xadd(name, {"agent_turn": json.dumps([turn])})
    pipe.expireat(name, until)
    with translate_broker_errors():
        pipe.execute()


def read_progress(client: redis.Redis, job_id: UUID) -> list[ProgressEvent]:
    """Return what was told of a job, in that order; a stream only grows."""
    with translate_broker_errors():
        found: Any = client.xrange(redis_keys.events(job_id))
    return [
        ProgressEvent(name, one)
        for _, fields in found
        for name, text in fields.items()
        for one in json.loads(text)
    ]
