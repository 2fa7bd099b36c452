"""The corpus against entries and search: one verdict for every row, never a 5xx."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from shared.adapter_contract.entry import KINDS
from shared.times.rfc3339 import timestamp
from tests.contract import corpus
from tests.contract.corpus import Row
from tests.support.fixtures.system import System
from tests.support.written import push_found

JSON = {"Content-Type": "application/json"}


def marked(row: Row) -> Any:
    mark = pytest.mark.requirement(row.requirement, "P9")
    return pytest.param(row, id=f"{row.requirement} {row.name[:40]}", marks=mark)


@pytest.mark.parametrize("row", [marked(row) for row in corpus.ENTRIES])
def test_a_row_of_the_corpus_gets_its_verdict_twice_and_half_of_nothing(caller, row):
    first = caller.post("/v1/entries", content=row.body, headers=JSON)
    again = caller.post("/v1/entries", content=row.body, headers=JSON)

    if row.code is None:
        assert first.status_code == row.status, first.text
        kept = caller.get(f"/v1/entries/{first.json()['entry_id']}").json()
        sent = json.loads(row.body)
        assert {name: kept[name] for name in sent} == sent
        return
    for answer in (first, again):
        assert answer.json()["error"]["code"] == row.code, answer.text
        assert answer.status_code == row.status
        assert "Traceback" not in answer.text
    assert caller.get("/v1/entries").json()["total"] == 0


@pytest.mark.requirement("B9")
def test_twins_of_an_identity_are_different_entries(caller):
    names = [corpus.NFC, corpus.NFD, "twin", "TWIN", "twin "]

    ids = {
        caller.post("/v1/entries", json={"text": "x", "external_id": name}).json()[
            "entry_id"
        ]
        for name in names
    }

    assert len(ids) == len(names)
    for name in names:
        found = caller.get("/v1/entries", params={"external_id": name}).json()
        assert [one["external_id"] for one in found["items"]] == [name]


@pytest.mark.requirement("B10")
@pytest.mark.parametrize("sent", corpus.MOMENTS)
def test_a_time_comes_back_as_the_moment_it_named(caller, sent):
    answer = caller.post("/v1/entries", json={"text": "x", "entry_time": sent})

    expected = corpus.MOMENTS[sent]
    if expected is None:
        assert answer.json()["error"]["code"] == "time_out_of_range"
        return
    kept = caller.get(f"/v1/entries/{answer.json()['entry_id']}").json()
    assert kept["entry_time"] == expected


@pytest.mark.requirement("B10")
def test_extreme_times_sort_as_they_should(caller):
    sent = [time for time, kept in corpus.MOMENTS.items() if kept]
    for time in sent:
        caller.post("/v1/entries", json={"text": "x", "entry_time": time})

    seen, cursor = [], None
    while True:
        page = caller.get(
            "/v1/entries", params={"limit": 2, **({"cursor": cursor} if cursor else {})}
        ).json()
        seen += [one["entry_time"] for one in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    # What is dated in the future leads no list of the newest.
    now = timestamp(datetime.now(UTC))
    past = [one for one in seen if one <= now]
    future = [one for one in seen if one > now]
    assert len(seen) == len(sent)
    assert seen == past + future
    assert past == sorted(past, reverse=True)
    assert future == sorted(future, reverse=True)


@pytest.mark.requirement("B1", "B3")
@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("/v1/entries?external_id=a%00b", "nul_character"),
        ("/v1/entries?external_id=%ff", "invalid_encoding"),
        ("/v1/entries?external_id=%ed%a0%80", "invalid_encoding"),
        ("/v1/entries/%00", "nul_character"),
        ("/v1/entries/%ff", "invalid_encoding"),
        ("/v1/search/jobs/a%00b", "nul_character"),
    ],
)
def test_an_address_passes_the_same_door(caller, address, code):
    answer = caller.get(address)

    assert answer.json()["error"]["code"] == code


@pytest.fixture(scope="module")
def client(running: System) -> Iterator[httpx2.Client]:
    """A caller whose facility has an entry that can be found."""
    token = running.key(tenant="corpus")
    with running.client(token) as client:
        push_found(client, [{"text": "a vacuum pump"}])
        yield client


@pytest.mark.requirement("B11")
def test_an_odd_text_is_kept_as_it_is_flagged_and_found(client):
    entries = [
        {"external_id": name, "title": f"odd{number}", "text": text}
        for number, (name, (text, _, _)) in enumerate(corpus.ODD_TEXTS.items())
    ]
    push_found(client, entries)

    for number, (name, row) in enumerate(corpus.ODD_TEXTS.items()):
        text, flags, asked = row
        (kept,) = client.get("/v1/entries", params={"external_id": name}).json()[
            "items"
        ]
        assert kept["text"] == text
        assert kept["text_flags"] == flags, name
        for query in (f"odd{number}", *asked):
            body = {"query": query, "mode": "keyword"}
            found = client.post("/v1/search/query", json=body).json()
            (hit,) = found["results"]
            assert (hit["external_id"], found["diagnostics"]) == (name, []), query


@pytest.mark.requirement("B16", "P9")
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("name", corpus.QUERIES)
def test_a_search_survives_any_text(client, name, mode):
    text, code = corpus.QUERIES[name]

    answer = client.post(
        "/v1/search/query",
        content=json.dumps({"query": text, "mode": mode}),
        headers=JSON,
    )

    if code is not None:
        assert answer.json()["error"]["code"] == code
        assert answer.status_code == (413 if code == "body_too_large" else 422)
        return
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert not body["degraded"], body["branches"]
    codes = {one["code"] for one in body["diagnostics"]}
    assert ("query_truncated" in codes) == (len(text) > 1000)


@pytest.mark.requirement("B16")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"limit": 0}, "validation_failed"),
        ({"limit": -1}, "validation_failed"),
        ({"limit": 101}, "validation_failed"),
        ({"limit": 1_000_000_000}, "validation_failed"),
        ({"page": 10_001}, "validation_failed"),
        ({"offset": 10_001}, "validation_failed"),
        ({"limit": "ten"}, "validation_failed"),
        ({"limit": 1.5}, "validation_failed"),
        ({"limit": True}, "validation_failed"),
        ({"sort": "nonsense"}, "validation_failed"),
        ({"mode": "nonsense"}, "unknown_mode"),
        ({"mode": "agent"}, "module_not_enabled"),
        ({"filters": {"nonsense": 1}}, "unknown_filter"),
        ({"filters": {"source": {"in": ["x"] * 101}}}, "validation_failed"),
        ({"filters": {"source": 1}}, "validation_failed"),
        ({"filters": {"logbook": {"in": []}}}, "validation_failed"),
        ({"filters": {"source": "a\0b"}}, "nul_character"),
        ({"filters": []}, "validation_failed"),
        ({"deadline_ms": 1}, "validation_failed"),
        ({"nonsense": 1}, "validation_failed"),
        ({"facets": ["nonsense"]}, "unknown_filter"),
        ({"facets": ["quantity"]}, "validation_failed"),
        ({"facets": "kind"}, "validation_failed"),
        ({"facility": "elsewhere"}, "validation_failed"),
        ({"tenant": "elsewhere"}, "validation_failed"),
        ({"filters": {"facility": "elsewhere"}}, "unknown_filter"),
        ({"filters": {"tenant": "elsewhere"}}, "unknown_filter"),
        ({"facets": ["tenant"]}, "unknown_filter"),
    ],
)
def test_a_search_field_out_of_its_range_is_refused_by_name(client, fields, code):
    body = json.dumps({"query": "pump", **fields})

    answer = client.post("/v1/search/query", content=body, headers=JSON)

    assert answer.json()["error"]["code"] == code, answer.text


@pytest.mark.requirement("SEC2")
@pytest.mark.parametrize("name", ["facility", "tenant"])
@pytest.mark.parametrize(
    "path",
    [
        *("/v1/entries", "/v1/filter-options/author", "/v1/search/jobs"),
        *("/v1/changes", "/v1/capabilities", "/v1/status"),
    ],
)
def test_no_parameter_names_another_facility(client, path, name):
    answer = client.get(path, params={name: "elsewhere"})

    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["code"] == "unknown_filter"


@pytest.mark.requirement("B16")
@pytest.mark.parametrize("count", [300, 1100, 3000])
def test_limits_of_the_search_engine_never_show(client, count):
    words = " ".join(f"w{number}" for number in range(count))[:9900]

    answer = client.post("/v1/search/query", json={"query": words, "mode": "keyword"})

    assert answer.status_code == 200, answer.text
    assert not answer.json()["degraded"]


@pytest.mark.requirement("S4-17")
def test_an_entry_of_each_domain_is_found_by_its_kind(client):
    entries = [
        {"external_id": f"domain {kind}", "kind": kind, "text": "Domainfixture"}
        for kind in KINDS
    ]
    push_found(client, entries)

    for kind in KINDS:
        body = {"query": "domainfixture", "filters": {"kind": kind}}
        found = client.post("/v1/search/query", json={**body, "mode": "keyword"})
        assert [one["external_id"] for one in found.json()["results"]] == [
            f"domain {kind}"
        ]
