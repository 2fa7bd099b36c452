"""Two hundred texts that mean something to a database, and where they may be given."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx2

_ORDERS = (
    *("OR 1=1", "OR 'a'='a'", "AND 1=(SELECT 1)", "HAVING 1=1", "ORDER BY 99"),
    *("UNION SELECT NULL,NULL", "UNION ALL SELECT token_hash FROM api_key"),
    *("DROP TABLE entry", "DELETE FROM entry", "UPDATE entry SET tenant = 'x'"),
    *("SELECT pg_sleep(9)", "SELECT version()", "COPY entry TO PROGRAM 'id'"),
    *("WAITFOR DELAY '0:0:9'", "LIMIT 0 OFFSET 0", "SHUTDOWN IMMEDIATE"),
    *("CAST(1 AS int)/0", "1::int::text", "$1 = $2", "%s AND %(tenant)s"),
    *("E'\\x27' IS NULL", "U&'\\0027' IS NULL", "to_tsquery('a & ')"),
    *("lo_import('/etc/passwd')", "ALTER SYSTEM SET jit = off"),
)
_FRAMES = (
    *("{}", "' {} --", '" {} --', "') {} --", "'; {}; --", "\\' {} #"),
    *("/* {} */ '", "x' {} $$"),
)
STRINGS = tuple(frame.format(order) for order in _ORDERS for frame in _FRAMES)
# Letters alone: a number of theirs would be found by many an attack.
QUIET = tuple(f"quiet{letter * 3}" for letter in "bdfghjklmn")

QUERY = "/v1/search/query"
FILTERS = ("logbook", "level", "category", "tag", "metadata.note", "author")
# What makes a search go by Postgres alone.
BY_POSTGRES = {"X-Logchord-Fault": "branch=os_bm25;error=opensearch_unavailable"}
SCOPES = ("read", "search", "ingest", "admin")


def entry(said: str, text: str) -> dict[str, Any]:
    """Return an entry that has a text wherever an entry has one."""
    return {
        "external_id": said,
        "text": f"reported {text}",
        "entry_time": "2026-03-02T10:00:00Z",
        "author": said,
        "logbook": said,
        "level": said,
        "category": said,
        "tags": [said],
        "metadata": {"note": said},
    }


def push(client: httpx2.Client, strings: Sequence[str]) -> int:
    """Write what says these, and what says nothing; return how many there are."""
    plain = [entry(name, f"{name} magnet valve pump") for name in QUIET]
    sent = [*plain, *(entry(said, said) for said in strings)]
    path = "/v1/entries?wait_for=index&wait_ms=30000"
    ok(client.post(path, json={"entries": sent}))
    return len(sent)


def is_indexed(client: httpx2.Client) -> bool:
    """Tell whether what says nothing is found, all of it."""
    return len(found(client, query="reported magnet")) == len(QUIET)


def ok(answer: httpx2.Response) -> Any:
    """Return what was answered, if it was."""
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


def found(client: httpx2.Client, **fields: Any) -> set[str]:
    """Return who is found; nothing may be missing in the answer."""
    headers = fields.pop("headers", None)
    body = {"mode": "keyword", "limit": 100, "deadline_ms": 4000, **fields}
    answer = ok(client.post(QUERY, json=body, headers=headers))
    assert not answer["degraded"] or headers, answer["branches"]
    return {one["external_id"] for one in answer["results"]}


def ask(client: httpx2.Client, said: str) -> None:
    """Give a text as words and as filters; each must take it for a text."""
    # All words of it as one phrase, by either engine.
    phrase = '"' + re.sub(r'["*?]', " ", said) + '"'
    asked = {"query": phrase, "filters": dict.fromkeys(FILTERS, said)}
    for headers in (None, BY_POSTGRES):
        assert found(client, headers=headers, **asked) == {said}, headers


def ask_everywhere(client: httpx2.Client, said: str, strings: Sequence[str]) -> None:
    """Give it wherever else an address, a list or a search takes one."""
    quoted = quote(said, safe="")
    own = {"external_id": said}
    # As it stands it may exclude itself; what it does not name it never finds.
    assert all(name in strings for name in found(client, query=said))

    listed = ok(client.get("/v1/entries", params=own))
    assert [one["external_id"] for one in listed["items"]] == [said]
    listed = ok(client.get("/v1/entries", params={"logbook": said}))
    assert [one["external_id"] for one in listed["items"]] == [said]
    assert ok(client.get("/v1/entries", params={"source": said}))["total"] == 0
    assert ok(client.get(f"/e/api/{quoted}"))["external_id"] == said
    options = ok(client.get("/v1/filter-options/logbook", params={"prefix": said}))
    assert {one["value"] for one in options["options"]} == {
        one for one in strings if one.casefold().startswith(said.casefold())
    }
    refused: tuple[tuple[str, Mapping[str, Any] | None], ...] = (
        (f"/v1/entries?cursor={quoted}", None),
        (f"/v1/entries?sort={quoted}", None),
        (f"/v1/entries?limit={quoted}", None),
        (f"/v1/entries/{quoted}", None),
        (f"/v1/entries/{quoted}/similar", None),
        (f"/v1/threads/{quoted}", None),
        (f"/v1/filter-options/{quoted}", None),
        (f"/v1/search/jobs/{quoted}", None),
        (f"/v1/search/jobs?cursor={quoted}", None),
        (f"/v1/changes?after={quoted}", None),
        (f"/e/{quoted}/quietbbb", None),
        (QUERY, {"query": "magnet", "sort": said}),
        (QUERY, {"query": "magnet", "mode": said}),
        (QUERY, {"query": "magnet", "facets": [said]}),
        (QUERY, {"query": "magnet", "modules": [said]}),
        (QUERY, {"query": "magnet", "filters": {said: "x"}}),
        (QUERY, {"query": "magnet", "filters": {"date_from": said}}),
    )
    for path, body in refused:
        answer = client.get(path) if body is None else client.post(path, json=body)
        assert 400 <= answer.status_code < 500, (path, body, answer.text)
