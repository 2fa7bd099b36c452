"""The gate answers what nobody foresaw, and tells nobody what it was."""

import asyncio
import io
import json
from typing import Any

import pytest
from fastapi import Request

from api.server import errors
from api.server.request_limits import Gate
from shared import log
from shared.settings.settings import Settings

SECRET = "postgresql://u:planted-word@db/x"


async def _explode(_scope: Any, _receive: Any, _send: Any) -> None:
    raise RuntimeError(SECRET)


async def _explode_for_an_admin(scope: Any, _receive: Any, _send: Any) -> None:
    # As is done once it is known whose key it is.
    Request(scope).state.is_admin = True
    raise RuntimeError(SECRET)


def ask(app: Any) -> tuple[int, dict[bytes, bytes], Any]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/me",
        "headers": [(b"x-request-id", b"mine")],
        "query_string": b"",
    }
    gate = Gate(app, settings=Settings())
    asyncio.run(gate(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), json.loads(sent[1]["body"])


@pytest.mark.requirement("S2-56")
def test_what_nobody_foresaw_is_a_500_of_the_one_shape_without_a_word_of_it(
    monkeypatch: pytest.MonkeyPatch,
):
    written = io.StringIO()
    log.configure("test", "info", stream=written)
    # One that was used before writes where it wrote then.
    monkeypatch.setattr(errors, "log", log.get_logger())

    status, headers, body = ask(_explode)

    assert status == 500
    assert headers[b"x-request-id"] == b"mine"
    assert body["error"]["code"] == "internal_error"
    assert body["error"]["request_id"] == "mine"
    assert "planted-word" not in json.dumps(body)
    assert "RuntimeError" not in json.dumps(body)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    (told,) = [line for line in lines if line["event"] == "unexpected_error"]
    assert told["error_id"] == body["error"]["id"]
    assert "RuntimeError" in told["exception"]
    assert "planted-word" not in written.getvalue()


@pytest.mark.requirement("S2-56")
def test_an_admin_is_told_what_it_was_without_its_password():
    status, _, body = ask(_explode_for_an_admin)

    error = body["error"]
    assert (status, error["code"], error["severity"]) == (
        500,
        "internal_error",
        "CRITICAL",
    )
    assert error["details"] == {"technical": "RuntimeError: postgresql://u:***@db/x"}
