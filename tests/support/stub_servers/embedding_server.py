"""A small server of vectors, with the faults that real ones have."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from shared.embedding.models.hashing_encoder import HashingEncoder
from tests.support.stub_servers.json_server import ScriptedServer, send


@dataclass
class Script(ScriptedServer):
    """What the server does, and what it was asked."""

    dimension: int = 32
    # What it does with a text that holds the word; with "", of every text.
    word: str = ""
    does: str = "answers"
    # How often, until it only answers; None: always.
    times: int | None = None
    late_seconds: float = 0.0


@contextmanager
def serving() -> Iterator[Script]:
    """Serve until the end of the block."""
    script = Script()

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        met = any(script.word in text for text in body["input"])
        if script.times is not None:
            met, script.times = met and script.times > 0, script.times - met
        _answer(handler, script, body["input"], script.does if met else "answers")

    with script.serving(answer):
        yield script


def _answer(
    handler: BaseHTTPRequestHandler, script: Script, texts: list[str], does: str
) -> None:
    if does.isdigit():
        status = int(does)
        send(handler, status, b'{"error": "no"}', _headers(status))
        return
    if does == "hangs":
        script.released.wait(20)
    if does == "late":
        script.released.wait(script.late_seconds)
    if does in {"hangs", "resets"}:
        handler.close_connection = True
        return
    encoder = HashingEncoder(script.dimension + (does == "other length"))
    found = [
        # Of any length: the norm is ours to make.
        {"index": place, "embedding": (3.0 * row).tolist()}
        for place, row in enumerate(encoder.encode(texts))
    ]
    if does == "NaN":
        found[0]["embedding"][0] = float("nan")
    if does == "Inf":
        found[0]["embedding"][0] = float("inf")
    if does == "nothing":
        found[0]["embedding"] = [0.0] * script.dimension
    if does == "too few":
        found.pop()
    if does == "one twice":
        found[-1]["index"] = found[0]["index"]
    told = json.dumps({"data": found[::-1]}).encode()
    send(handler, 200, b"<html>" if does == "a page" else told)


def _headers(status: int) -> dict[str, str]:
    if status in {429, 503}:
        return {"Retry-After": "7"}
    if status in {301, 307}:
        return {"Location": "http://192.0.2.1/v1/embeddings"}
    return {}
