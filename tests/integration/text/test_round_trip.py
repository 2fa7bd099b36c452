"""A text that is taken comes back as it came: read, indexed, and shown in parts."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opensearchpy import OpenSearch

from local.server import Server
from shared.opensearch import mapping
from shared.text.analysis.analyser import Sections, analyse
from tests.support.faults.measures.size import times
from tests.support.fixtures.system import System

CASES = times(250, 1000)
WORD = "klystron"
JSON = {"Content-Type": "application/json"}
TAGS = re.compile(r"</?b>")
# Half of any characters there are, half of what texts, tags and queries are made of.
ANY = st.text(max_size=120)
PARTS = (
    *("<b>", "</b>", "<script>", "&amp;", "&#x41;", "\u0301", "\u202e", "\u6c34"),
    *"<>&\"'/\\%*?:;(){}[]-_.,=#@+|~ \t\n abK3\u00fc\u05d0",
)
ODD = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)
HALVES = st.sampled_from([*map(chr, range(0xD800, 0xE000, 97))])


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """So many texts, the same at each run, each with a word to find it by."""
    found: list[str] = []

    @settings(
        max_examples=CASES,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(ANY | ODD, ANY | ODD)
    def gather(before: str, after: str) -> None:
        found.append(f"{before} {WORD} {after}".replace("\0", ""))

    gather()
    assert len(found) >= CASES
    return found[:CASES]


def listed(client: httpx2.Client) -> Iterator[dict[str, Any]]:
    """Read every entry there is, whole."""
    cursor = None
    while True:
        asked = {"limit": 100} | ({"cursor": cursor} if cursor else {})
        page = client.get("/v1/entries", params=asked).json()
        assert page["cut"]["entries"] == 0
        yield from page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return


def hits(client: httpx2.Client) -> Iterator[dict[str, Any]]:
    """Find every entry by its word, page by page."""
    asked = {"mode": "keyword", "deadline_ms": 4000, "sort": "newest"}
    body = {"query": WORD, "limit": 100, **asked}
    found = client.post("/v1/search/query", json=body).json()
    yield from found["results"]
    cursor, path = found["next_cursor"], f"/v1/search/jobs/{found['job_id']}/results"
    while cursor is not None:
        page = client.get(path, params={"cursor": cursor}).json()
        yield from page["items"]
        cursor = page["next_cursor"]


def documents(system: System, server: Server, tenant: str) -> list[dict[str, Any]]:
    """Read every document of a facility from the index itself."""
    index = mapping.read_alias(system.environment["OPENSEARCH_INDEX"])
    body = {"size": CASES, "query": {"term": {"tenant": tenant}}}
    with OpenSearch(server.url) as client:
        found = client.search(index=index, body=body)["hits"]["hits"]
    return [one["_source"] for one in found]


@pytest.mark.requirement("B22")
@pytest.mark.timeout(180)
def test_any_text_that_is_taken_is_read_indexed_and_marked_as_it_came(
    running, opensearch, client, tenant, texts
):
    entries = [
        {"external_id": str(number), "text": text} for number, text in enumerate(texts)
    ]
    # Escaped by JSON itself: what is no text on its way is one in the end.
    answer = client.post(
        "/v1/entries?wait_for=index&wait_ms=30000",
        content=json.dumps({"entries": entries}),
        headers=JSON,
    )
    assert answer.json()["indexed"], answer.text[:500]
    assert {one["status"] for one in answer.json()["items"]} == {"created"}

    kept = {one["external_id"]: one["text"] for one in listed(client)}
    assert kept == {one["external_id"]: one["text"] for one in entries}

    found = documents(running, opensearch, tenant)
    assert len(found) == CASES
    for one in found:
        made = analyse(Sections(text=kept[one["external_id"]]), one["language"])
        assert "\n".join(one["stream"]) == made.stream, one["external_id"]
        assert one["idents"] == made.idents, one["external_id"]

    shown = {}
    for hit in hits(client):
        text = kept[hit["external_id"]]
        assert hit["content"] in text
        for part in hit["highlights"]:
            bare = TAGS.sub("", part)
            assert not set("<>") & set(bare), part
            assert html.unescape(bare) in text, (part, text)
        shown[hit["external_id"]] = hit["highlights"]
    assert len(shown) == CASES
    # A page has so much time for its marks: most have them, on the busiest machine.
    assert sum(1 for parts in shown.values() if parts) > CASES // 10


@pytest.mark.requirement("B22", "B2")
@settings(max_examples=50, database=None)
@given(before=ANY, half=HALVES, after=ANY)
def test_half_a_character_is_refused_wherever_it_stands(api, before, half, after):
    # A high half and a low one would be a character.
    text = f"{before} {half} {after}"
    entries = [
        {"text": text},
        {"text": "x", "title": text},
        {"text": "x", "tags": [text]},
    ]
    key = KEYS.setdefault(api.url, api.key(tenant="halves"))
    with api.client(key) as client:
        answer = client.post(
            "/v1/entries", content=json.dumps({"entries": entries}), headers=JSON
        )
        told = [one["error"]["code"] for one in answer.json()["items"]]
        assert client.get("/v1/entries").json()["total"] == 0

    assert set(told) <= {"lone_surrogate", "nul_character"}
    assert len(told) == len(entries)


KEYS: dict[str, str] = {}
