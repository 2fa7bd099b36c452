"""An Olog that says by itself when a log is new, over a real web socket."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from shared.adapter_contract.contract import Source
from shared.errors import IngestionError, SourceUnreachableError
from shared.http import websocket
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.olog import OlogStub, make_stub
from tests.contract.stubs.serving import StubAnswer, StubServer
from tests.contract.stubs.web_socket import (
    CLOSE,
    CONTINUED,
    PING,
    TEXT,
    ServerSocket,
    accept,
)
from tests.support.waiting import until
from workers.adapters.kit.stub import StubEntry
from workers.adapters.olog.olog import Olog, OlogArgs

NOON = datetime(2024, 6, 10, 12, tzinfo=UTC)


@pytest.fixture
def stub() -> Iterator[OlogStub]:
    made = make_stub()
    yield made
    made.close()


@pytest.fixture
def io() -> Iterator[PlainIO]:
    with PlainIO() as made:
        yield made


def adapter(stub: OlogStub, io: PlainIO, *, listen: bool = True) -> Olog:
    source = Source(
        "ring", str(stub.settings()["base_url"]), args=OlogArgs(listen=listen)
    )
    return Olog(source, io)


def test_a_new_log_and_an_edit_are_heard_and_a_banner_is_not(stub, io):
    words = adapter(stub, io).listen()
    # What came before anybody listened is asked for at once.
    next(words)
    until(lambda: stub.listeners, within_seconds=10)
    stub.tell("SHOW_BANNER", "Maintenance at noon")
    stub.add(StubEntry(number=1, time=NOON))
    stub.tell("LOG_ENTRY_UPDATED", "1")

    next(words)
    next(words)
    stub.drop()
    with pytest.raises(SourceUnreachableError):
        next(words)


def test_a_server_without_a_web_socket_is_not_heard(stub, io):
    stub.has_socket = False
    with pytest.raises(IngestionError) as caught:
        next(adapter(stub, io).listen())
    assert caught.value.source == "test"


def test_a_source_speaks_up_only_where_it_is_listened_to(stub, io):
    assert adapter(stub, io).capabilities.push == "websocket"
    assert adapter(stub, io, listen=False).capabilities.push == "none"


@pytest.fixture
def talk(io) -> Iterator[tuple[websocket.WebSocket, ServerSocket]]:
    """A web socket, from both of its ends."""
    ends: list[ServerSocket] = []

    def hear(end: ServerSocket, text: str) -> None:
        ends.append(end)
        end.say(f"heard {len(text)}")

    server = StubServer(
        lambda _: StubAnswer(b"", takes_over=lambda one: accept(one, hear))
    )
    with io.http.talk(f"{server.base_url}/socket") as client:
        client.send("x" * 70_000)
        assert client.receive() == "heard 70000"
        yield client, ends[0]
    server.close()


def test_a_text_in_parts_with_a_question_between_is_one_text(talk):
    client, server = talk
    server.frame(TEXT, b"RF trip ", final=False)
    server.frame(PING, b"there?")
    server.frame(CONTINUED, "\u00fc".encode() * 40_000)

    assert client.receive() == "RF trip " + "\u00fc" * 40_000
    until(lambda: server.pongs == 1, within_seconds=10)


def test_who_closes_or_sends_too_much_is_left(talk):
    client, server = talk
    server.frame(CLOSE, b"")
    with pytest.raises(SourceUnreachableError) as caught:
        client.receive()
    assert caught.value.reason == "no_connection"

    for _ in range(3):
        server.frame(TEXT, b"x" * 400_000, final=False)
    with pytest.raises(IngestionError) as too_much:
        client.receive()
    assert too_much.value.reason == "too_large"


def test_who_is_silent_is_asked_and_who_does_not_answer_is_gone(io, monkeypatch):
    monkeypatch.setattr(websocket, "IDLE_SECONDS", 0.3)
    asked: list[int] = []

    class Deaf(ServerSocket):
        def frame(self, opcode: int, *_: object, **__: object) -> None:
            asked.append(opcode)

    def take(handler) -> None:
        accept(handler, lambda *_: None, kind=Deaf)

    server = StubServer(lambda _: StubAnswer(b"", takes_over=take))
    with (
        pytest.raises(SourceUnreachableError) as caught,
        io.http.talk(f"{server.base_url}/socket") as client,
    ):
        client.receive()
    server.close()
    assert caught.value.reason == "timeout"
    assert len(asked) == 1
