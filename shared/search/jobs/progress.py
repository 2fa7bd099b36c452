"""The events of a submitted job in a stream, which late watchers read from its start.

An event's number is its place in the stream, so that a watcher who resumes need not
read the stream from its start.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import redis
from redis.commands.core import Script

from shared.messaging.broker_errors import translate_broker_errors
from shared.search.jobs import redis_keys

# The last event of a job's stream; it says whether the answer was among the events.
ENDED = "ended"

# Adds one entry of some events; its id is the number of the last of them.
ADD_EVENTS = """
local function add_events(key, name, told, count, expires)
  local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)
  local number = 0
  if last[1] then number = tonumber(string.match(last[1][1], '^%d+')) end
  local id = string.format('%.0f-0', number + count)
  redis.call('XADD', key, id, name, told)
  redis.call('EXPIREAT', key, expires)
end
"""
_TELL = f"{ADD_EVENTS}\nadd_events(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])"


class ProgressEvent(NamedTuple):
    """An event of a job: its name, its fields, and its number in the stream."""

    name: str
    says: dict[str, Any]
    number: int = 0


class Progress(NamedTuple):
    """The events of a job that follow some number, and the number of the last one."""

    last: int
    events: Sequence[ProgressEvent]


def tell_event(
    client: redis.Redis, job_id: UUID, name: str, says: Mapping[str, Any], *, until: int
) -> None:
    """Add one event to a job's stream, for its watchers and for whoever asks later."""
    with translate_broker_errors():
        _script(client)(
            keys=[redis_keys.events(job_id)], args=[name, json.dumps([says]), 1, until]
        )


def branch_started(
    client: redis.Redis, job_id: UUID, branch: str, part: int, *, until: int
) -> None:
    """Tell that a branch is carried out from now on."""
    says = {"name": branch, "part": part}
    tell_event(client, job_id, "branch_started", says, until=until)


def read_progress(client: redis.Redis, job_id: UUID, after: int = 0) -> Progress:
    """Return the events of a job that follow the given number, in their order."""
    name = redis_keys.events(job_id)
    pipe = client.pipeline(transaction=False)
    pipe.xrevrange(name, count=1)
    pipe.xrange(name, min=f"{after + 1}-0")
    with translate_broker_errors():
        newest, found = pipe.execute()
    last = int(newest[0][0].partition("-")[0]) if newest else 0
    return Progress(last, [one for one in read_events(found) if one.number > after])


def read_events(entries: Sequence[Any]) -> Iterator[ProgressEvent]:
    """Yield the events of a stream's entries."""
    for entry_id, fields in entries:
        last = int(entry_id.partition("-")[0])
        for name, text in fields.items():
            told = json.loads(text)
            for place, says in enumerate(told, 1 - len(told)):
                yield ProgressEvent(name, says, last + place)


@lru_cache(maxsize=4)
def _script(client: redis.Redis) -> Script:
    return client.register_script(_TELL)
