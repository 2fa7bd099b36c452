"""Entries written by their address: replaced, merged, made, restored."""

import json
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import httpx2
import pytest

from tests.support.written import ENTRY, push, read, refusal, verdict


@pytest.fixture
def address(caller: httpx2.Client) -> str:
    """Where one entry of many fields stands."""
    return f"/v1/entries/{push(caller, **ENTRY)['entry_id']}"


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


def test_what_was_deleted_is_gone_by_its_key_and_restored_by_its_name(caller, address):
    assert caller.delete(address).status_code == 204

    assert refusal(caller.put(address, json=ENTRY)) == (410, "entry_deleted")
    assert refusal(caller.patch(address, json={})) == (410, "entry_deleted")
    guarded = caller.put("/e/api/OPS-77", json=ENTRY, headers={"If-Match": "*"})
    assert refusal(guarded) == (410, "entry_deleted")
    assert verdict(caller.put("/e/api/OPS-77", json=ENTRY)) == (200, "updated", 2)
    assert read(caller, address)["text"] == ENTRY["text"]


def test_merges_of_two_writers_at_once_are_both_kept(caller, address):
    def set_tag(number: int) -> httpx2.Response:
        return caller.patch(address, json={"metadata": {f"n{number}": number}})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(set_tag, range(24)))

    assert {verdict(answer)[:2] for answer in answers} == {(200, "updated")}
    assert sorted(verdict(answer)[2] for answer in answers) == list(range(2, 26))
    kept = read(caller, address)["metadata"]
    assert {f"n{number}": number for number in range(24)}.items() <= kept.items()


def test_of_writers_of_one_revision_exactly_one_writes(caller, address):
    def edit(number: int) -> httpx2.Response:
        sent = {"text": f"by writer {number}"}
        return caller.put(address, json=sent, headers={"If-Match": '"r1"'})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(edit, range(8)))

    assert sorted(answer.status_code for answer in answers) == [200, *[412] * 7]
    assert read(caller, address)["revision"] == 2


def test_merges_beside_pushes_and_deletions_of_a_source_end_without_an_error(
    caller, address
):
    def write(number: int) -> httpx2.Response:
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
    def make(number: int) -> httpx2.Response:
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
