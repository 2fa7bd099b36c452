"""Streams and lists of the client: taken up where they broke, and never held whole."""

import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from api.client import Client, models
from api.client.synchronous import jobs, link
from shared import errors
from tests.support.least_model import least

# Few and long, for whatever counts memory counts each object.
PAGES, OF_A_PAGE = 60, 5
LINES = 20_000
MOST_BYTES = 1_500_000
TEXT = "RF cavity 2 tripped on arc. " * 1200


class Clock:
    """A time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now, self.waited = 0.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    told = SimpleNamespace(monotonic=made.monotonic, sleep=made.sleep)
    monkeypatch.setattr(link, "time", told)
    monkeypatch.setattr(jobs, "time", told)
    return made


def client_of(answer: Callable[[httpx2.Request], httpx2.Response]) -> Client:
    return Client("http://there", "key", transport=httpx2.MockTransport(answer))


def turned_away(seconds: int) -> httpx2.Response:
    """Answer as a server does that has too much to do."""
    error = errors.CapacityError(retry_after_seconds=seconds)
    headers = {"Retry-After": str(seconds)}
    return httpx2.Response(error.status, json=error.body(), headers=headers)


ASKED: dict[str, tuple[Callable[[Client], Any], httpx2.Response]] = {
    "an answer": (
        lambda client: client.lag(),
        httpx2.Response(200, json=least(models.LagOut)),
    ),
    "a stream": (
        lambda client: list(client.export("rf")),
        httpx2.Response(200, text='{"complete": true}\n'),
    ),
}


@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize(
    ("seconds", "answers", "waited"),
    [
        (7, 2, [7, 7]),
        # What ends after the 30 s of the client is not waited for.
        (16, 3, [16]),
        (31, 3, []),
        (2, 3, [2, 2]),
    ],
)
def test_retry_after_is_waited_for_three_times_and_within_the_time_there_is(
    clock: Clock, what: str, seconds: int, answers: int, waited: list[int]
):
    ask, good = ASKED[what]
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return turned_away(seconds) if len(asked) <= answers else good

    with client_of(answer) as client:
        if answers < 3:
            ask(client)
        else:
            with pytest.raises(errors.CapacityError) as caught:
                ask(client)
            assert caught.value.retry_after_seconds == seconds
    assert clock.waited == waited
    assert len(asked) == len(waited) + 1


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({}, {"synthesize": "deterministic"}),
        ({"mode": "keyword"}, {"mode": "keyword", "synthesize": "deterministic"}),
        ({"synthesize": "llm"}, {"synthesize": "llm"}),
        # What a model words is not asked to be worded without one.
        ({"mode": "rag"}, {"mode": "rag"}),
        ({"mode": "agent"}, {"mode": "agent"}),
    ],
)
def test_a_question_is_answered_in_sentences(fields, sent):
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            asked.append(json.loads(request.content))
            accepted = {**least(models.JobAccepted), "job_id": "j"}
            return httpx2.Response(202, json=accepted)
        return httpx2.Response(200, content=event(1, "done", ""))

    with client_of(answer) as client:
        assert [one.name for one in client.ask("why?", **fields)] == ["done"]
    assert asked == [{"query": "why?", **sent}]


def event(number: int, name: str, text: str) -> bytes:
    return (
        f"id: {number}\nevent: {name}\ndata: {json.dumps({'text': text})}\n\n".encode()
    )


def broken(*parts: bytes) -> Iterable[bytes]:
    """Give the parts of a body whose connection is then lost."""
    yield from parts
    message = "peer closed connection without sending complete message body"
    raise httpx2.RemoteProtocolError(message)


def test_a_stream_of_a_model_goes_on_behind_the_last_whole_event(clock: Clock):
    """The server dies within an event, is away, is not ready, and goes on."""
    asked: list[str | None] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            accepted = {**least(models.JobAccepted), "job_id": "j"}
            return httpx2.Response(202, json=accepted)
        asked.append(request.headers.get("Last-Event-ID"))
        match len(asked):
            case 1:
                cut = event(3, "llm_chunk", "cavity")[:-9]
                parts = (event(1, "results", ""), event(2, "llm_chunk", "RF "), cut)
                return httpx2.Response(200, content=broken(*parts))
            case 2:
                message = "refused"
                raise httpx2.ConnectError(message)
            case 3:
                return turned_away(5)
            case _:
                last = (event(3, "llm_chunk", "cavity"), event(4, "done", ""))
                return httpx2.Response(200, content=b"".join(last))

    with client_of(answer) as client:
        told = list(client.ask("Why did it trip?"))
    assert [(one.id, one.name) for one in told] == [
        *(("1", "results"), ("2", "llm_chunk"), ("3", "llm_chunk"), ("4", "done"))
    ]
    said = [one.data["text"] for one in told if one.name == "llm_chunk"]
    assert "".join(said) == "RF cavity"
    assert asked == [None, "2", "2", "2"]
    assert clock.waited == [1, 1, 5]


def test_a_server_that_stays_full_is_asked_for_a_stream_until_it_is_not(clock: Clock):
    """A job ends by itself: three tries are too few for a server that is restarted."""
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        if len(asked) <= 10:
            return turned_away(20)
        return httpx2.Response(200, content=event(1, "done", ""))

    with client_of(answer) as client:
        assert [one.name for one in client.job("j").events()] == ["done"]
    assert len(asked) == 11
    assert set(clock.waited) == {20}

    def refuse(_: httpx2.Request) -> httpx2.Response:
        error = errors.NotFoundError()
        return httpx2.Response(error.status, json=error.body())

    with client_of(refuse) as client, pytest.raises(errors.NotFoundError):
        list(client.job("j").events())


ENTRY = {**least(models.EntryOut), "text": TEXT}
CHANGE = {**least(models.ChangeOut), "entry": ENTRY}


def entries_page(number: int) -> dict[str, Any]:
    cursor = str(number + 1) if number + 1 < PAGES else None
    page = {"items": [ENTRY] * OF_A_PAGE, "next_cursor": cursor}
    return {**least(models.EntryPage), **page}


def changes_page(number: int) -> dict[str, Any]:
    items = [CHANGE] * OF_A_PAGE if number < PAGES else []
    page = {"items": items, "next_after": str(number + 1)}
    return {**least(models.ChangePage), **page}


def lines() -> Iterator[bytes]:
    line = json.dumps({"text": TEXT[:500]}).encode() + b"\n"
    for _ in range(LINES // 100):
        yield line * 100
    yield b'{"complete": true}\n'


LISTS: dict[str, tuple[Callable[[Client], Iterator[Any]], int, int]] = {
    "entries": (lambda client: client.entries(), PAGES * OF_A_PAGE, len(TEXT)),
    "changes": (lambda client: client.changes(), PAGES * OF_A_PAGE, len(TEXT)),
    "export": (lambda client: client.export("rf"), LINES, 500),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_long_list_is_read_in_constant_memory(name: str):
    ask, many, size = LISTS[name]
    assert many * size > 5 * MOST_BYTES, "held whole, it would be seen"

    def answer(request: httpx2.Request) -> httpx2.Response:
        if name == "export":
            return httpx2.Response(200, content=lines())
        params = request.url.params
        number = int(params.get("cursor") or params.get("after") or 0)
        page = entries_page if name == "entries" else changes_page
        return httpx2.Response(200, json=page(number))

    with client_of(answer) as client:
        # What is made once, such as validators, is no part of the list.
        next(ask(client))
        tracemalloc.start()
        try:
            read = sum(1 for _ in ask(client))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert read == many
    assert peak <= MOST_BYTES, f"{peak / 1e6:.1f} MB"
