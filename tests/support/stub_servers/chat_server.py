"""A scripted endpoint of a language model, as OpenAI's and llama.cpp's answer.

Parts, the last one with usage, and error bodies have the shape that OpenAI documents
and llama.cpp's server sends; what is wrong on purpose is named by the test.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.stub_servers.json_server import ScriptedServer, send

Reply = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


@dataclass
class ChatScript(ScriptedServer):
    """What the endpoint does with each call, the last reply for ever; what it saw."""

    replies: list[Reply] = field(default_factory=list)
    # Set when a client hung up on an answer that was still coming.
    hung_up: threading.Event = field(default_factory=threading.Event)

    @property
    def prompts(self) -> list[str]:
        """The whole text of each call."""
        return [
            "\n".join(str(m.get("content") or "") for m in one["messages"])
            for one in self.asked
        ]


@contextmanager
def chatting(*replies: Reply) -> Iterator[ChatScript]:
    """Serve until the end of the block."""
    script = ChatScript(list(replies))
    lock = threading.Lock()

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        with lock:
            many = len(script.replies) > 1
            reply = script.replies.pop(0) if many else script.replies[0]
        handler.close_connection = True
        try:
            reply(handler, body)
        except OSError:
            script.hung_up.set()

    with script.serving(answer):
        yield script


def part(
    content: str | None = None, finish: str | None = None, **delta: Any
) -> dict[str, Any]:
    """Return one part of a streamed answer."""
    return {
        "object": "chat.completion.chunk",
        "choices": [
            {
                "index": 0,
                "delta": {"content": content, **delta},
                "finish_reason": finish,
            }
        ],
    }


def usage(tokens_in: int, tokens_out: int) -> dict[str, Any]:
    """Return the part that counts, which follows the last one."""
    counted = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
    return {"object": "chat.completion.chunk", "choices": [], "usage": counted}


def streams(*parts: Any, done: bool = True) -> Reply:
    """Return a reply of these parts; a text among them goes as it is written."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        begin_stream(handler)
        for one in parts:
            send_part(handler, one)
        if done:
            write(handler, b"data: [DONE]\n\n")

    return reply


def says(text: str, *, tokens: tuple[int, int] = (20, 10)) -> Reply:
    """Return a reply that streams a text word by word."""
    words = text.split(" ")
    pieces = [word if not n else f" {word}" for n, word in enumerate(words)]
    return streams(*map(part, pieces), part(finish="stop"), usage(*tokens))


def answers(status: int, body: Any, media_type: str, **headers: str) -> Reply:
    """Return a reply that comes whole."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        send(handler, status, data, {"Content-Type": media_type, **named})

    return reply


def goes_on(script_until: threading.Event, word: str = " on") -> Reply:
    """Return a reply without an end, until the event or until nobody listens."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        begin_stream(handler)
        while not script_until.wait(0.005):
            send_part(handler, part(word))

    return reply


def begin_stream(handler: BaseHTTPRequestHandler) -> None:
    """Send the head of a stream."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
    handler.send_header("Connection", "close")
    handler.end_headers()


def send_part(handler: BaseHTTPRequestHandler, one: Any) -> None:
    text = one if isinstance(one, str) else f"data: {json.dumps(one)}\n\n"
    write(handler, text.encode())


def write(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    """Send bytes at once."""
    handler.wfile.write(data)
    handler.wfile.flush()
