"""Entries pushed as lines, of any number: each is judged alone, and told at once."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from api.entries.schemas.entries import EntryIn
from api.entries.schemas.pushed import PushedItem
from shared.ids import uuid7

LINES = {"Content-Type": "application/x-ndjson"}


def entry(number: int, **fields: Any) -> bytes:
    whole = {"external_id": f"{RUN}-{number}", "text": f"Text {number}", **fields}
    return json.dumps(whole).encode() + b"\n"


RUN = str(uuid7())


def push(caller: httpx2.Client, body: Any, **headers: str) -> list[dict[str, Any]]:
    answer = caller.post("/v1/entries", content=body, headers={**LINES, **headers})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_every_line_gets_its_verdict_in_order_and_counts_come_last(caller):
    body = entry(1) + b"\n" + b"{not json}\n" + entry(2) + b'{"text": 5}\n[]\n'
    body += entry(1)

    *verdicts, last = push(caller, body.rstrip(b"\n"))

    assert [one["index"] for one in verdicts] == list(range(6))
    assert [one["status"] for one in verdicts] == [
        *("created", "rejected", "created", "rejected", "rejected", "unchanged")
    ]
    assert verdicts[1]["error"]["code"] == "invalid_json"
    assert last == {
        "counts": {"created": 2, "updated": 0, "unchanged": 1, "rejected": 3}
    }


@pytest.mark.requirement("C17")
@pytest.mark.parametrize("by_lines", [True, False], ids=["lines", "batch"])
def test_why_a_part_was_refused_is_found_in_the_log(api, caller, *, by_lines: bool):
    name = {"X-Request-ID": f"part-{RUN}-{by_lines}"}
    if by_lines:
        refused, unread, _ = push(caller, b'{"text": 5}\nno json\n', **name)
        errors = [refused["error"], unread["error"]]
    else:
        body = {"entries": [{"text": "x", "external_id": f"{RUN}-b"}, {"text": 5}]}
        told = caller.post("/v1/entries", json=body, headers=name).json()
        errors = [told["items"][1]["error"]]
    log = (api.logs / "api.log").read_text("utf-8")
    lines = [json.loads(one) for one in log.splitlines() if "part_refused" in one]
    known = {one["error_id"]: one["request_id"] for one in lines}
    for error in errors:
        assert error["request_id"] == known[error["id"]] == name["X-Request-ID"]


def test_thousands_come_in_one_request_and_a_second_time_change_nothing(caller):
    count = 2_300
    body = b"".join(entry(n) for n in range(10, 10 + count))

    first, second = push(caller, body)[-1], push(caller, body)[-1]

    assert first["counts"]["created"] == count
    assert second["counts"]["unchanged"] == count


def test_a_line_that_is_too_long_costs_itself_and_no_memory(caller):
    longest = 8_000_000

    def body() -> Iterator[bytes]:
        yield entry(5_001)
        yield b'{"text": "'
        for _ in range(3 * longest // 65_536):
            yield b"x" * 65_536
        yield b'"}\n'
        yield entry(5_002)

    verdicts = push(caller, body())

    assert [one.get("status") for one in verdicts] == [
        *("created", "rejected", "created"),
        None,
    ]
    assert verdicts[1]["error"]["code"] == "body_too_large"


def test_what_was_answered_stays_when_the_line_is_cut(api, tenant):
    key = api.key(tenant=tenant)
    address = httpx2.URL(api.url)
    lines = b"".join(entry(n) for n in range(6_000, 6_600))
    head = (
        "POST /v1/entries HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: application/x-ndjson\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    answered = b""
    place = (address.host, address.port or 80)
    with socket.create_connection(place, timeout=60) as link:
        link.sendall(head.encode() + f"{len(lines):x}\r\n".encode() + lines + b"\r\n")
        while b'"index": 499' not in answered:
            answered += link.recv(65_536)

    assert b"200 OK" in answered
    with api.client(key) as client:
        for number in (6_000, 6_499):
            params = {"external_id": f"{RUN}-{number}"}
            assert client.get("/v1/entries", params=params).json()["total"] == 1


@pytest.mark.parametrize(
    ("query", "headers", "code"),
    [
        ("?atomic=true", {}, "unknown_filter"),
        ("?wait_for=index", {}, "unknown_filter"),
        ("", {"Idempotency-Key": "one"}, "validation_failed"),
        (
            "",
            {"Content-Type": "application/x-ndjson; charset=latin-1"},
            "unsupported_media_type",
        ),
    ],
)
def test_what_lines_cannot_have_is_refused(caller, query, headers, code):
    answer = caller.post(
        f"/v1/entries{query}", content=entry(1), headers={**LINES, **headers}
    )
    assert answer.json()["error"]["code"] == code


def test_whoever_may_not_write_sends_no_line(api, tenant):
    with api.client(api.key(tenant=tenant, scopes=("read",))) as reader:
        answer = reader.post("/v1/entries", content=entry(1), headers=LINES)
    assert answer.status_code == 403
    with api.client("") as nobody:
        assert nobody.post("/v1/entries", content=b"", headers=LINES).status_code == 401


def test_the_description_names_lines_and_its_example_is_answered_as_it_says(caller):
    document = caller.get("/openapi.json").json()
    described = document["paths"]["/v1/entries"]["post"]
    body = described["requestBody"]["content"][LINES["Content-Type"]]
    answer = described["responses"]["200"]["content"][LINES["Content-Type"]]
    schemas = document["components"]["schemas"]

    *items, last = push(caller, body["example"])

    assert name_of(body["schema"]["contentSchema"]) == "EntryIn"
    for line in body["example"].splitlines():
        EntryIn.model_validate_json(line)
    assert [one["status"] for one in items] == ["created", "created"]
    *_, told_last = map(json.loads, answer["example"].splitlines())
    assert last.keys() == told_last.keys() == {"counts"}
    assert last["counts"].keys() == told_last["counts"].keys()
    told, counts, refused = answer["schema"]["contentSchema"]["anyOf"]
    assert counts["required"] == ["counts"]
    assert [name_of(told), name_of(refused)] == ["PushedItem", "ErrorBody"]
    for item in items:
        PushedItem.model_validate(item)
    assert {"EntryIn", "PushedItem", "ErrorBody"} <= schemas.keys()


def name_of(schema: dict[str, str]) -> str:
    return schema["$ref"].removeprefix("#/components/schemas/")
