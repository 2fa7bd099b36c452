"""What the branches of a job came to, stored and counted in Redis."""

import json
from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

import redis
from redis.commands.core import Script

from shared.messaging.broker_errors import translate_broker_errors
from shared.search.jobs import outcome, redis_keys
from shared.search.jobs.outcome import Outcome
from shared.search.jobs.progress import ADD_EVENTS

# A mailbox that nobody has read for so long belongs to a process that is gone.
MAILBOX_SECONDS = 60


# One round trip: store, look for the other branches, renew, tell the waiting API, add
# the event. A branch delivered twice stores and counts once.
_KEEP = f"""{ADD_EVENTS}
redis.call('HSETNX', KEYS[1], 'outcome:' .. ARGV[1], ARGV[2])
redis.call('EXPIREAT', KEYS[1], ARGV[4])
if KEYS[2] ~= '' then
  redis.call('RPUSH', KEYS[2], ARGV[5])
  redis.call('EXPIRE', KEYS[2], ARGV[6])
end
if KEYS[3] ~= '' then
  add_events(KEYS[3], 'branch_done', ARGV[7], ARGV[9], ARGV[8])
end
local fields = {{}}
for number = 1, tonumber(ARGV[3]) do
  fields[number] = 'outcome:' .. number - 1
  if redis.call('HEXISTS', KEYS[1], fields[number]) == 0 then return {{}} end
end
return #fields > 0 and redis.call('HMGET', KEYS[1], unpack(fields)) or {{}}
"""


def store_outcomes(
    client: redis.Redis,
    job_id: UUID,
    number: int,
    outcomes: Sequence[Outcome],
    *,
    awaited: int,
    deadline: float,
    mailbox: str | None,
    events_until: int | None = None,
) -> dict[int, list[Outcome]] | None:
    """Store the outcomes of a branch; a second delivery changes nothing.

    Returned are the outcomes of so many branches as are awaited, once all have any;
    None: some have none, or nobody awaits them. With `events_until`, in epoch seconds,
    an event is added for the job's watchers.
    """
    text = outcome.to_json(outcomes)
    told, events = "", ""
    if events_until is not None:
        told = json.dumps([{**one.summary(), "part": one.part} for one in outcomes])
        events = redis_keys.events(job_id)
    with translate_broker_errors():
        answer = _script(client)(
            keys=[redis_keys.job(job_id), mailbox or "", events],
            args=[
                number,
                text,
                awaited,
                redis_keys.expires_at(deadline),
                f"{job_id} outcome {number} {text}",
                MAILBOX_SECONDS,
                told,
                events_until or 0,
                len(outcomes),
            ],
        )
    return {
        # Its own need not be read back, unless one delivered before it was kept.
        n: list(outcomes) if item == text else outcome.from_json(item)
        for n, item in enumerate(answer)
    } or None


@lru_cache(maxsize=4)
def _script(client: redis.Redis) -> Script:
    return client.register_script(_KEEP)
