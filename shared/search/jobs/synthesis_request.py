"""What a watched answer is to be made of: the hits of a job, or some entries."""

import json
from dataclasses import asdict, dataclass
from uuid import UUID

import redis

from shared.messaging.broker_errors import translate_broker_errors
from shared.search.jobs import redis_keys

_FIELD = "synthesis"


@dataclass(frozen=True, slots=True)
class SynthesisRequest:
    """The job whose hits are meant, or the entries in their order; ids alone."""

    of_job: UUID | None = None
    entry_ids: tuple[UUID, ...] = ()


def store_request(client: redis.Redis, job_id: UUID, asked: SynthesisRequest) -> None:
    """Store with an open job the hits or entries that its answer is made of."""
    text = json.dumps(asdict(asked), default=str)
    with translate_broker_errors():
        client.hset(redis_keys.job(job_id), _FIELD, text)


def load_request(client: redis.Redis, job_id: UUID) -> SynthesisRequest | None:
    """Return the hits or entries to make an answer of; None: Redis has lost them."""
    with translate_broker_errors():
        text = client.hget(redis_keys.job(job_id), _FIELD)
    if text is None:
        return None
    values = json.loads(str(text))
    of_job = values["of_job"] and UUID(values["of_job"])
    return SynthesisRequest(of_job, tuple(map(UUID, values["entry_ids"])))
