"""One entry of many fields, and how its writes are read in tests."""

from collections.abc import Sequence
from typing import Any

import httpx2

ENTRY = {
    "source": "api",
    "external_id": "OPS-77",
    "title": "RF trip",
    "text": "SR RF cavity 2 tripped on arc.",
    "authors": ["J. Ruiz"],
    "logbook": "Operations",
    "entry_time": "2026-03-02T05:10:00+01:00",
    "tags": ["rf"],
    "metadata": {"run": 7, "beam": {"current_mA": 400, "mode": "top-up"}},
}


def ok(answer: httpx2.Response, status: int = 200) -> Any:
    """Return what was answered, which has this status."""
    assert answer.status_code == status, answer.text
    return answer.json()


def push(client: httpx2.Client, **fields: Any) -> dict[str, Any]:
    """Push one entry, which is taken in."""
    answer = client.post("/v1/entries", json={"text": "x", **fields})
    assert answer.is_success, answer.text
    return answer.json()


def push_found(client: httpx2.Client, entries: Sequence[dict[str, Any]]) -> list[Any]:
    """Push entries and return once every one of them can be found."""
    answer = client.post(
        "/v1/entries?wait_for=index&wait_ms=30000", json={"entries": [*entries]}
    )
    body = answer.json()
    assert body["indexed"], body
    items: list[Any] = body["items"]
    return items


def code_of(answer: httpx2.Response) -> str:
    """Return what went wrong."""
    return str(answer.json()["error"]["code"])


def refusal(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, code_of(answer)


def field_of(answer: httpx2.Response) -> tuple[str, str]:
    """Return which one field is wrong, and why."""
    assert answer.status_code == 422, answer.text
    (field,) = answer.json()["error"]["details"]["fields"]
    return field["path"], field["code"]


def verdict(answer: httpx2.Response) -> tuple[int, str, int]:
    """Return what became of an entry; its ETag says the same."""
    body = answer.json()
    assert answer.is_success, answer.text
    assert answer.headers["ETag"] == f'"r{body["revision"]}"'
    return answer.status_code, body["status"], body["revision"]


def read(client: httpx2.Client, address: str) -> dict[str, Any]:
    """Return an entry, or whatever stands there."""
    return ok(client.get(address))
