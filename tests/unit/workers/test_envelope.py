"""What a message of ours looks like; anything else is refused, whatever it is."""

import base64
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import MessageRejectedError
from tests.support.faults.injected.bad_messages import Writer
from workers.runtime import envelope

QUEUE = "enhance.metadata"


def check(item: bytes) -> None:
    payload = envelope.decode_envelope(item, QUEUE)
    envelope.check_headers(payload["headers"])
    body = base64.b64decode(payload["body"])
    envelope.check_body(payload["content-type"], payload["content-encoding"], body)


def test_an_item_says_nothing_of_its_own_delivery():
    payload = envelope.decode_envelope(Writer("embed").item(), QUEUE)

    assert payload["properties"]["delivery_info"]["routing_key"] == QUEUE


@pytest.mark.parametrize("hours", [-10_000, 0, 23])
def test_an_expiry_by_a_clock_that_is_hours_off_is_taken(hours):
    when = datetime.now(UTC) + timedelta(hours=hours)
    check(Writer("enhance").item(expires=when.isoformat()))


def test_an_expiry_later_than_a_day_is_refused():
    when = datetime.now(UTC) + envelope.MAX_EXPIRES + timedelta(minutes=1)
    with pytest.raises(MessageRejectedError):
        check(Writer("enhance").item(expires=when.isoformat()))


def test_the_limits_of_any_worker_are_taken_and_those_of_none_are_not():
    item = Writer("enhance").item
    # As a worker writes them whose settings are not those shipped.
    check(item(timelimit=[29.5, 27]))
    check(item(timelimit=[envelope.MAX_LIMIT_SECONDS, None]))
    for limits in ([0, 0], [envelope.MAX_LIMIT_SECONDS + 1, 50], ["5", 5], 5):
        with pytest.raises(MessageRejectedError):
            check(item(timelimit=limits))


@pytest.mark.parametrize("over", [0, 1])
def test_a_body_is_refused_from_one_byte_beyond_the_limit(over):
    room = envelope.MAX_BODY_BYTES - len(b"[[], {}, {}]") + over
    item = Writer("enhance").item(b" " * room + b"[[], {}, {}]")
    if over:
        with pytest.raises(MessageRejectedError):
            check(item)
    else:
        check(item)


@given(st.binary(max_size=2000))
def test_any_bytes_are_a_message_or_refused(item):
    with pytest.raises(MessageRejectedError):
        check(item)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=40)
@given(header=st.text(), value=JSON, arguments=JSON)
def test_any_header_and_arguments_are_taken_or_refused(header, value, arguments):
    item = Writer("enhance").item(json.dumps([arguments, {}, {}]).encode())
    message = json.loads(item)
    message["headers"][header] = value
    # Whatever else it raised would end the worker.
    with suppress(MessageRejectedError):
        check(json.dumps(message).encode())


def with_chord(chord: object) -> bytes:
    embedded = {"callbacks": None, "errbacks": None, "chain": None, "chord": chord}
    body = json.dumps([["0190d3f0-0000-7000-8000-000000000001", 0], {}, embedded])
    return Writer("embed").item(body.encode())


ENDS_SEARCH: dict[str, Any] = {
    "task": "answer.end_search",
    "args": ["0190d3f0-0000-7000-8000-000000000001"],
    "kwargs": {},
    "options": {
        "queue": "answer",
        "ignore_result": True,
        "headers": {"deadline": 1.5, "mailbox": "m"},
        "task_id": "9d3a0421-1b98-466e-b56a-018edbb9b062",
        "reply_to": "bafddc98-5cee-3d44-86f4-eef81b6c31e4",
        "group_id": "4966dd33-5cdf-41e7-bd33-26bca7d42e1b",
    },
    "subtask_type": None,
    "immutable": True,
}


def test_the_header_of_a_chord_may_have_the_end_of_its_search_called():
    check(with_chord(ENDS_SEARCH))


JOB = ENDS_SEARCH["args"][0]
TAKES_TURN = {**ENDS_SEARCH, "task": "answer.take_agent_turn", "args": [JOB, 2]}


def test_the_header_of_a_chord_may_have_the_next_turn_of_its_agent_taken():
    check(with_chord(TAKES_TURN))


@pytest.mark.parametrize("args", [[JOB], [JOB, "2"], [JOB, True], [JOB, 2, 3], [2, 2]])
def test_a_turn_that_no_number_names_is_refused(args):
    with pytest.raises(MessageRejectedError):
        check(with_chord({**TAKES_TURN, "args": args}))


@pytest.mark.parametrize(
    "change",
    [
        {"task": "chores.expire"},
        {"args": ["one", "two"]},
        {"args": [{"task": "chores.expire"}]},
        {"kwargs": {"job_id": "x"}},
        {"immutable": False},
        {"options": {"queue": "chores"}},
        {"options": {"queue": "answer", "link": [{"task": "chores.expire"}]}},
        {"options": {"queue": "answer", "headers": {"deadline": [1]}}},
        {"options": {"queue": "answer", "headers": "deadline"}},
    ],
)
def test_a_chord_that_calls_anything_else_is_refused(change):
    with pytest.raises(MessageRejectedError):
        check(with_chord(ENDS_SEARCH | change))
