"""Entries written by their address: replaced, merged, made, refused."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest

from shared.access.keys import create_key
from shared.entries import purge
from shared.entries.draft import EntryDraft
from shared.entries.entry import save_page
from tests.fix_system import System

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
NOWHERE = "/v1/entries/0199f0c2-0000-7000-8000-000000000000"


def push(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/entries", json={"text": "x", **fields})
    assert answer.is_success, answer.text
    body: dict[str, Any] = answer.json()
    return body


def code_of(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["code"])


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, code_of(answer)


def field_of(answer: httpx.Response) -> tuple[str, str]:
    assert answer.status_code == 422, answer.text
    (field,) = answer.json()["error"]["details"]["fields"]
    return field["path"], field["code"]


def verdict(answer: httpx.Response) -> tuple[int, str, int]:
    body = answer.json()
    assert answer.is_success, answer.text
    assert answer.headers["ETag"] == f'"r{body["revision"]}"'
    return answer.status_code, body["status"], body["revision"]


def read(client: httpx.Client, address: str) -> dict[str, Any]:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


@pytest.fixture
def address(caller: httpx.Client) -> str:
    """Where one entry of many fields stands."""
    return f"/v1/entries/{push(caller, **ENTRY)['entry_id']}"


@pytest.fixture(scope="module")
def polling(make_lasting_system: Any, tmp_path_factory: Any) -> System:
    """An API that knows a source that is polled beside one that is pushed to."""
    folder: Path = tmp_path_factory.mktemp("polled")
    lab = {"adapter": "generic_json", "path": str(folder)}
    system: System = make_lasting_system(
        LOGCHORD_SOURCES=json.dumps({"api": {}, "lab": lab})
    )
    system.start("api")
    system.wait_ready()
    return system


@pytest.fixture
def beside(polling: System, tenant: str) -> Iterator[httpx.Client]:
    """A caller of that API."""
    with polling.client(polling.key(tenant=tenant)) as client:
        yield client


def test_an_entry_is_replaced_whole_and_the_same_again_writes_nothing(caller, address):
    whole = {"text": "Arc in cavity 2.", "author": "M. Ilves", "logbook": "RF"}

    assert verdict(caller.put(address, json=whole)) == (200, "updated", 2)
    assert verdict(caller.put(address, json=whole)) == (200, "unchanged", 2)

    kept = read(caller, address)
    assert (kept["text"], kept["authors"]) == ("Arc in cavity 2.", ["M. Ilves"])
    assert (kept["title"], kept["tags"], kept["metadata"]) == ("", [], {})
    assert kept["external_id"] == "OPS-77"
    # Nobody gave another time.
    assert kept["entry_time"] == "2026-03-02T04:10:00Z"
    assert len(read(caller, f"{address}/revisions")["items"]) == 2


def test_a_merge_changes_what_it_names_and_nothing_else(caller, address):
    before = read(caller, address)
    patch = {
        "text": "Arc in cavity 3.",
        "author": "M. Ilves",
        "tags": None,
        "metadata": {"run": None, "beam": {"mode": "decay"}},
    }

    merged = caller.patch(
        address,
        content=json.dumps(patch),
        headers={"Content-Type": "application/merge-patch+json"},
    )

    assert verdict(merged) == (200, "updated", 2)
    kept = read(caller, address)
    changed = {name for name in before if before[name] != kept[name]}
    assert changed == {
        *("text", "authors", "tags", "metadata", "revision", "content_hash"),
        "modified_at",
    }
    assert (kept["authors"], kept["tags"]) == (["M. Ilves"], [])
    assert kept["metadata"] == {"beam": {"current_mA": 400, "mode": "decay"}}


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"text": ENTRY["text"]}, id="the same text"),
        pytest.param({"shift": None}, id="what is not there taken away"),
        pytest.param({"metadata": {"beam": {"mode": "top-up"}}}, id="within"),
        pytest.param({"entry_time": "2026-03-02T04:10:00Z"}, id="in another zone"),
        pytest.param({"external_id": "OPS-77", "source": None}, id="its own name"),
    ],
)
def test_a_merge_that_changes_nothing_writes_nothing(caller, address, patch):
    assert verdict(caller.patch(address, json=patch)) == (200, "unchanged", 1)
    assert len(read(caller, f"{address}/revisions")["items"]) == 1


def test_a_merge_leaves_numbers_of_metadata_as_they_were_sent(caller):
    odd = {"huge": 1e300, "whole": 2.0, "tiny": 1e-9, "yes": True}
    address = f"/v1/entries/{push(caller, metadata=odd)['entry_id']}"

    assert verdict(caller.patch(address, json={})) == (200, "unchanged", 1)
    before = read(caller, address)["metadata"]
    truth = caller.patch(address, json={"metadata": {"yes": 1}})
    assert verdict(truth) == (200, "updated", 2)
    assert read(caller, address)["metadata"] == {**before, "yes": 1}


def test_who_may_read_changes_without_a_revision(caller, address):
    closed = caller.patch(address, json={"readers": ["tester"]})

    assert verdict(closed) == (200, "updated", 1)
    assert read(caller, address)["readers"] == ["tester"]


@pytest.mark.requirement("SEC3")
@pytest.mark.parametrize("value", ["x", None])
@pytest.mark.parametrize(
    "name", ["entry_id", "tenant", "revision", "stages", "deleted", "received_at"]
)
def test_no_field_is_written_that_is_not_the_callers(caller, address, name, value):
    merged = caller.patch(address, json={name: value})
    replaced = caller.put(address, json={"text": "y", name: value})
    named = caller.put("/e/api/OPS-77", json={"text": "y", name: value})

    for answer in (merged, replaced, named):
        assert field_of(answer) == (name, "extra_forbidden")
    assert read(caller, address)["revision"] == 1


def test_a_write_names_no_other_entry_than_its_address(caller, address):
    for name, value in (("source", "operations"), ("external_id", "OPS-78")):
        sent = {"text": "y", name: value}
        assert field_of(caller.put(address, json=sent)) == (name, "another_entry")
        assert field_of(caller.patch(address, json=sent)) == (name, "another_entry")
        named = caller.put("/e/api/OPS-77", json=sent)
        assert field_of(named) == (name, "another_entry")
    assert read(caller, address)["revision"] == 1


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"text": None}, ("text", "missing")),
        ({"title": "x" * 1001}, ("title", "too_long")),
        ({"entry_time": "soon"}, ("entry_time", "invalid_time")),
        ({"author": "a", "authors": ["b"]}, ("author", "given_twice")),
        ({"kind": "poem"}, ("kind", "literal_error")),
        ({"metadata": 5}, ("metadata", "dict_type")),
    ],
)
def test_what_a_merge_would_make_is_judged_as_a_push_is(caller, address, patch, field):
    assert field_of(caller.patch(address, json=patch)) == field


def test_foreign_text_is_met_at_the_same_door(caller, address):
    nul = b'{"text": "a\\u0000b"}'
    json_type = {"Content-Type": "application/json"}
    for method, where in (
        ("PATCH", address),
        ("PUT", address),
        ("PUT", "/e/api/OPS-77"),
    ):
        answer = caller.request(method, where, content=nul, headers=json_type)
        assert refusal(answer) == (422, "nul_character")
        long = caller.request(method, where, json={"text": "x" * 1_000_001})
        assert refusal(long) == (413, "body_too_large")
        plain = caller.request(
            method, where, content=b"{}", headers={"Content-Type": "text/plain"}
        )
        assert refusal(plain) == (415, "unsupported_media_type")


def test_if_match_guards_every_way_to_write(caller, address):
    stale, current = {"If-Match": '"r9"'}, {"If-Match": '"r1"'}
    sent = {"text": "edited"}
    for method, where in (
        ("PATCH", address),
        ("PUT", address),
        ("PUT", "/e/api/OPS-77"),
    ):
        answer = caller.request(method, where, json=sent, headers=stale)
        assert refusal(answer) == (412, "revision_mismatch")
    assert read(caller, address)["revision"] == 1

    edited = caller.patch(address, json=sent, headers=current)
    assert verdict(edited) == (200, "updated", 2)
    again = caller.put("/e/api/OPS-77", json={"text": "z"}, headers={"If-Match": "*"})
    assert verdict(again) == (200, "updated", 3)
    absent = caller.put("/e/api/OPS-78", json=sent, headers={"If-Match": "*"})
    assert refusal(absent) == (412, "revision_mismatch")


def test_an_entry_is_made_under_its_own_name_and_then_edited(caller, tenant):
    made = caller.put("/e/api/OPS-78", json={"text": "first"})
    same = caller.put("/e/api/OPS-78", json={"source": "api", "text": "first"})
    edited = caller.put("/e/api/OPS-78", json={"text": "second"})

    assert verdict(made) == (201, "created", 1)
    assert made.json()["source_uri"] == f"logchord:{tenant}/api/OPS-78"
    assert verdict(same) == (200, "unchanged", 1)
    assert verdict(edited) == (200, "updated", 2)
    kept = read(caller, "/e/api/OPS-78")
    assert (kept["entry_id"], kept["text"]) == (made.json()["entry_id"], "second")


@pytest.mark.parametrize(
    "external_id",
    [
        "2024/06/10/1",
        "/",
        "//x//",
        "a b#c?d",
        "50%25",
        "OPS@3",
        "..",
        "./x",
        "Zürich",
        unicodedata.normalize("NFD", "Zürich"),
        "日誌\U0001f9ea",
        "a+b&c=d",
    ],
)
def test_an_odd_name_is_kept_as_it_is(caller, external_id):
    where = f"/e/api/{quote(external_id, safe='').replace('.', '%2E')}"

    made = caller.put(where, json={"text": "x", "external_id": external_id})

    assert verdict(made) == (201, "created", 1)
    kept = read(caller, f"/v1/entries/{made.json()['entry_id']}")
    assert kept["external_id"] == external_id
    assert verdict(caller.put(where, json={"text": "x"})) == (200, "unchanged", 1)
    pushed = push(caller, external_id=external_id)
    assert (pushed["entry_id"], pushed["status"]) == (kept["entry_id"], "unchanged")


def test_composed_and_decomposed_names_are_two(caller):
    composed, decomposed = (
        caller.put(
            f"/e/api/{unicodedata.normalize(form, 'Zürich')}", json={"text": "x"}
        )
        for form in ("NFC", "NFD")
    )
    assert (composed.status_code, decomposed.status_code) == (201, 201)
    assert composed.json()["entry_id"] != decomposed.json()["entry_id"]


def test_a_name_that_cannot_be_written_is_refused(caller):
    sent = {"text": "x"}
    assert field_of(caller.put("/e/api/OPS@3", json=sent)) == (
        *("external_id", "revision_named"),
    )
    assert field_of(caller.put(f"/e/api/{'x' * 256}", json=sent)) == (
        *("external_id", "too_long"),
    )
    assert verdict(caller.put(f"/e/api/{'x' * 255}", json=sent))[0] == 201
    assert field_of(caller.put("/e/nowhere/1", json=sent)) == (
        *("source", "unknown_source"),
    )


def test_what_was_deleted_is_gone_by_its_key_and_restored_by_its_name(caller, address):
    assert caller.delete(address).status_code == 204

    assert refusal(caller.put(address, json=ENTRY)) == (410, "entry_deleted")
    assert refusal(caller.patch(address, json={})) == (410, "entry_deleted")
    guarded = caller.put("/e/api/OPS-77", json=ENTRY, headers={"If-Match": "*"})
    assert refusal(guarded) == (410, "entry_deleted")
    assert verdict(caller.put("/e/api/OPS-77", json=ENTRY)) == (200, "updated", 2)
    assert read(caller, address)["text"] == ENTRY["text"]


def test_what_was_purged_stays_away(api, caller, address, tenant):
    with psycopg.connect(api.database) as conn:
        purge.purge(conn, tenant, "api", "OPS-77")

    named = caller.put("/e/api/OPS-77", json=ENTRY)
    assert refusal(named) == (410, "entry_deleted")
    assert refusal(caller.put(address, json=ENTRY)) == (404, "not_found")
    assert refusal(caller.patch(address, json={})) == (404, "not_found")


@pytest.mark.requirement("SEC2")
def test_another_facility_writes_to_nothing_of_this_one(api, caller, address, tenant):
    with api.client(api.key(tenant=f"{tenant}-other")) as stranger:
        for where in (address, NOWHERE):
            for answer in (
                stranger.put(where, json=ENTRY),
                stranger.patch(where, json={"text": "y"}),
            ):
                assert refusal(answer) == (404, "not_found")
        theirs = stranger.put("/e/api/OPS-77", json={"text": "theirs"})
        assert verdict(theirs) == (201, "created", 1)
    assert read(caller, address)["revision"] == 1


@pytest.mark.requirement("SEC2")
def test_a_key_of_some_logbooks_writes_to_no_others(api, caller, address, tenant):
    with psycopg.connect(api.database) as conn:
        made = create_key(
            conn,
            tenant=tenant,
            name=f"rf of {tenant}",
            subject="tester",
            scopes=("read", "ingest"),
            logbooks=("RF",),
            rate_per_minute=0,
        )
    sent = {"text": "y", "logbook": "RF"}
    with api.client(made.token) as narrow:
        for answer in (
            narrow.put(address, json=sent),
            narrow.patch(address, json=sent),
            narrow.put("/e/api/OPS-77", json=sent),
        ):
            assert refusal(answer) == (404, "not_found")
        guarded = narrow.put("/e/api/OPS-77", json=sent, headers={"If-Match": "*"})
        assert refusal(guarded) == (412, "revision_mismatch")
        mine = narrow.put("/e/api/mine", json=sent)
        assert verdict(mine) == (201, "created", 1)
        away = {"logbook": "Operations"}
        moved = narrow.patch(f"/v1/entries/{mine.json()['entry_id']}", json=away)
        assert refusal(moved) == (403, "scope_missing")
    assert read(caller, address)["revision"] == 1


def test_a_key_that_only_reads_writes_nothing(api, address, tenant):
    with api.client(api.key(tenant=tenant, scopes=("read",))) as reader:
        for answer in (
            reader.put(address, json=ENTRY),
            reader.patch(address, json={}),
            reader.put("/e/api/OPS-78", json=ENTRY),
        ):
            assert refusal(answer) == (403, "scope_missing")


def test_merges_of_two_writers_at_once_are_both_kept(caller, address):
    def set_tag(number: int) -> httpx.Response:
        return caller.patch(address, json={"metadata": {f"n{number}": number}})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(set_tag, range(24)))

    assert {verdict(answer)[:2] for answer in answers} == {(200, "updated")}
    assert sorted(verdict(answer)[2] for answer in answers) == list(range(2, 26))
    kept = read(caller, address)["metadata"]
    assert {f"n{number}": number for number in range(24)}.items() <= kept.items()


def test_of_writers_of_one_revision_exactly_one_writes(caller, address):
    def edit(number: int) -> httpx.Response:
        sent = {"text": f"by writer {number}"}
        return caller.put(address, json=sent, headers={"If-Match": '"r1"'})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(edit, range(8)))

    assert sorted(answer.status_code for answer in answers) == [200, *[412] * 7]
    assert read(caller, address)["revision"] == 2


def test_merges_beside_pushes_and_deletions_of_a_source_end_without_an_error(
    caller, address
):
    def write(number: int) -> httpx.Response:
        reply = {"text": f"{number}", "reply_to": "OPS-77"}
        ways = (
            lambda: caller.patch(address, json={"metadata": {"n": number}}),
            lambda: caller.post("/v1/entries", json={**ENTRY, "text": f"{number}"}),
            lambda: caller.put(f"/e/api/reply-{number}", json=reply),
            lambda: caller.delete(f"{address}?reason=test"),
        )
        return ways[number % 4]()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(write, range(48)))

    assert {answer.status_code for answer in answers} <= {200, 201, 204, 410}


def test_several_who_make_one_entry_at_once_make_one(caller):
    def make(number: int) -> httpx.Response:
        return caller.put("/e/api/once", json={"text": f"by writer {number}"})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(make, range(8)))

    assert sorted(answer.status_code for answer in answers) == [*[200] * 7, 201]
    assert len({answer.json()["entry_id"] for answer in answers}) == 1
    assert read(caller, "/e/api/once")["revision"] == 8


def test_a_write_may_wait_until_it_can_be_found(client):
    where = "/e/api/OPS-79?wait_for=index&wait_ms=30000"

    waited = client.put(where, json={"text": "Sputtering gauge in sector 9."})

    assert waited.json()["indexed"] is True
    asked = {"query": "sputtering gauge", "mode": "keyword"}
    found = client.post("/v1/search/query", json=asked).json()
    assert [hit["external_id"] for hit in found["results"]] == ["OPS-79"]


def test_nothing_is_written_to_a_source_that_is_polled(polling, beside, tenant):
    with psycopg.connect(polling.database) as conn:
        draft = EntryDraft("lab", "1", "as its logbook has it")
        (pulled,) = save_page(conn, tenant, [draft], stages=[], editor="test")
    where = f"/v1/entries/{pulled.entry_id}"
    sent = {"source": "lab", "external_id": "1", "text": "y"}

    for answer in (
        beside.post("/v1/entries", json=sent),
        beside.post("/v1/entries", json={"entries": [sent], "atomic": True}),
        beside.put(where, json=sent),
        beside.patch(where, json={"text": "y"}),
        beside.patch(where, json={}),
        beside.delete(where),
        beside.put("/e/lab/1", json={"text": "y"}),
        beside.put("/e/lab/2", json={"text": "y"}),
    ):
        assert refusal(answer) == (409, "source_is_pull")
    assert read(beside, where)["text"] == "as its logbook has it"
    assert beside.get("/v1/entries").json()["total"] == 1


def test_of_a_batch_only_what_goes_to_a_polled_source_is_refused(beside):
    entries = [
        {"source": "lab", "external_id": "2", "text": "x"},
        {"source": "api", "external_id": "2", "text": "x"},
    ]
    lines = "\n".join(json.dumps(one) for one in entries)

    batch = beside.post("/v1/entries", json={"entries": entries}).json()["items"]
    ndjson = {"Content-Type": "application/x-ndjson"}
    streamed = beside.post("/v1/entries", content=lines, headers=ndjson).text

    assert [one["status"] for one in batch] == ["rejected", "created"]
    assert batch[0]["error"]["code"] == "source_is_pull"
    told = [json.loads(line) for line in streamed.splitlines()[:2]]
    assert [one["status"] for one in told] == ["rejected", "unchanged"]
    assert told[0]["error"]["code"] == "source_is_pull"
