"""Writes that are refused: by what is sent, where it goes, and who sends it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from shared.access.keys import create_key
from shared.entries.draft import EntryDraft
from shared.entries.removal import purge
from shared.entries.saving.save import save_page
from shared.sources import source_state
from tests.support.fixtures.system import System
from tests.support.written import ENTRY, field_of, push, read, refusal, verdict

NOWHERE = "/v1/entries/0199f0c2-0000-7000-8000-000000000000"


@pytest.fixture
def address(caller: httpx2.Client) -> str:
    """Where one entry of many fields stands."""
    return f"/v1/entries/{push(caller, **ENTRY)['entry_id']}"


@pytest.fixture(scope="module")
def polling(make_api: Callable[..., System], tmp_path_factory: Any) -> System:
    """An API that knows a source that is polled beside one that is pushed to."""
    folder: Path = tmp_path_factory.mktemp("polled")
    lab = {"adapter": "generic_json", "path": str(folder)}
    return make_api(LOGCHORD_SOURCES=json.dumps({"api": {}, "lab": lab}))


@pytest.fixture
def beside(polling: System, tenant: str) -> Iterator[httpx2.Client]:
    """A caller of that API."""
    with polling.client(polling.key(tenant=tenant)) as client:
        yield client


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


def test_a_source_that_is_polled_since_the_start_is_as_closed(api, caller, tenant):
    with psycopg.connect(api.database) as conn:
        source_state.arrange(
            conn,
            tenant,
            "added",
            adapter="generic_json",
            config_hash="x",
            config={"adapter": "generic_json", "path": "/nowhere"},
            version=1,
        )
        draft = EntryDraft("added", "1", "as its logbook has it")
        (pulled,) = save_page(conn, tenant, [draft], stages=[], editor="test")
    where = f"/v1/entries/{pulled.entry_id}"

    for answer in (
        caller.put(where, json={"text": "y"}),
        caller.patch(where, json={"text": "y"}),
        caller.delete(where),
    ):
        assert refusal(answer) == (409, "source_is_pull")
    assert read(caller, where)["text"] == "as its logbook has it"


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
