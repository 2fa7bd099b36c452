"""The feed of changes, permalinks and revisions over REST."""

import threading
import time
from typing import Any

import httpx2
import psycopg
import pytest

from shared.entries.removal import purge
from tests.support.fixtures.system import System

WAIT_MS = 20_000


def push(caller: httpx2.Client, external_id: str, **fields: Any) -> dict[str, Any]:
    body = {"external_id": external_id, "text": "RF trip", **fields}
    answer = caller.post("/v1/entries", json=body)
    assert answer.status_code in {200, 201}, answer.text
    return dict(answer.json())


def changes(caller: httpx2.Client, **params: Any) -> dict[str, Any]:
    """What is told by now; `wait_ms` where an older transaction may hold it back."""
    answer = caller.get("/v1/changes", params=params)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_changes_are_read_on_from_where_the_last_answer_ended(caller) -> None:
    first, second = push(caller, "1"), push(caller, "2", text="y" * 600)

    page = changes(caller, limit=1, wait_ms=WAIT_MS)
    assert [(one["change"], one["entry_id"]) for one in page["items"]] == [
        ("created", first["entry_id"])
    ]
    rest = changes(caller, after=page["next_after"], wait_ms=WAIT_MS)
    (one,) = rest["items"]
    assert one["source_uri"] == second["source_uri"]
    assert len(one["entry"]["text"]) == 500
    whole = changes(caller, after=page["next_after"], detail="full")
    assert len(whole["items"][0]["entry"]["text"]) == 600

    caller.delete(f"/v1/entries/{first['entry_id']}")
    last = changes(caller, after=rest["next_after"], wait_ms=WAIT_MS)
    assert [(one["change"], one["entry"]) for one in last["items"]] == [
        ("deleted", None)
    ]
    assert changes(caller, after=last["next_after"])["items"] == []


def test_long_texts_share_one_answer_only_up_to_a_bound(caller: httpx2.Client) -> None:
    for number in range(6):
        push(caller, str(number), text="x" * 900_000)

    sizes = []
    after: dict[str, str] = {}
    while items := (page := changes(caller, detail="full", **after))["items"]:
        sizes.append(len(items))
        after = {"after": page["next_after"]}

    assert sizes == [4, 2]


def test_who_waits_is_answered_when_something_changes(caller: httpx2.Client) -> None:
    after = changes(caller)["next_after"]
    found: list[dict[str, Any]] = []

    def wait() -> None:
        found.append(changes(caller, after=after, wait_ms=30_000))

    waiting = threading.Thread(target=wait)
    began = time.monotonic()
    waiting.start()
    push(caller, "1")
    waiting.join(timeout=40)

    assert [one["change"] for one in found[0]["items"]] == ["created"]
    assert time.monotonic() - began < 25


def test_who_waits_in_vain_is_answered_in_time_with_a_place(caller) -> None:
    page = changes(caller, wait_ms=300)

    assert page["items"] == []
    assert changes(caller, after=page["next_after"])["items"] == []


@pytest.mark.parametrize("after", ["x", "AAAA", "🙂"])
def test_a_place_that_is_none_is_refused(caller: httpx2.Client, after: str) -> None:
    answer = caller.get("/v1/changes", params={"after": after})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_cursor"


def test_a_place_of_another_facility_is_refused(caller, api) -> None:
    after = changes(caller)["next_after"]

    with api.client(api.key(tenant="somewhere-else")) as stranger:
        answer = stranger.get("/v1/changes", params={"after": after})

    assert answer.json()["error"]["code"] == "bad_cursor"


@pytest.mark.parametrize(
    "external_id",
    ["OPS-77", "Linac/512", "a b@2", "50%25", "Vakuum/Öl?#1", "/leading", "a//b"],
)
def test_a_permalink_leads_to_its_entry_whatever_its_id_is(caller, external_id) -> None:
    pushed = push(caller, external_id)
    entry = caller.get(f"/v1/entries/{pushed['entry_id']}").json()

    found = caller.get(entry["permalink"])

    assert (found.status_code, found.json()) == (200, entry)


def test_a_permalink_takes_slashes_as_they_are(caller: httpx2.Client) -> None:
    push(caller, "Linac/512")

    assert caller.get("/e/api/Linac/512").json()["external_id"] == "Linac/512"
    assert caller.get("/e/api/Linac/513").status_code == 404


def test_what_reading_an_entry_came_to_is_sent_to_whoever_has_its_revision(
    api: System, caller: httpx2.Client, tenant: str
) -> None:
    pushed = push(caller, "1")
    address = f"/v1/entries/{pushed['entry_id']}"
    with psycopg.connect(api.database) as conn:
        conn.execute(
            "INSERT INTO entry_metadata"
            " (entry_id, tenant, revision, language, entities, flags)"
            " VALUES (%s, %s, 1, 'en', '[]', '{text_cut}')",
            (pushed["entry_id"], tenant),
        )

    answer = caller.get(address, headers={"If-None-Match": '"r1"'})

    assert (answer.status_code, answer.json()["flags"]) == (200, ["text_cut"])
    tag = answer.headers["ETag"]
    assert tag == '"r1+text_cut"'
    assert caller.get(address, headers={"If-None-Match": tag}).status_code == 304
    for stale in ('"r2+text_cut"', '"r11"', '"r1', "r1", '"r1+"'):
        refused = caller.patch(
            address, json={"level": "x"}, headers={"If-Match": stale}
        )
        assert refused.status_code == 412
    edited = caller.patch(address, json={"text": "y"}, headers={"If-Match": tag})
    assert (edited.status_code, edited.headers["ETag"]) == (200, '"r2"')
    old = caller.get(address, params={"revision": 1})
    assert (old.headers["ETag"], old.json()["flags"]) == ('"r1"', [])


def test_a_revision_is_read_as_it_was(caller: httpx2.Client) -> None:
    fields = {"entry_time": "2026-03-02T05:10:00Z"}
    pushed = push(caller, "1", title="Trip", authors=["J. Ruiz"], tags=["RF"], **fields)
    push(caller, "1", title="Trip", authors=["K. Ito"], text="RF trip, reset", **fields)
    address = f"/v1/entries/{pushed['entry_id']}"

    old = caller.get(address, params={"revision": 1})

    assert old.headers["ETag"] == '"r1"'
    shown = old.json()
    assert (shown["revision"], shown["text"]) == (1, "RF trip")
    assert (shown["authors"], shown["tags"]) == (["J. Ruiz"], ["RF"])
    assert caller.get("/e/api/1@1").json() == shown
    assert caller.get("/e/api/1@2").json() == caller.get(address).json()
    assert caller.get("/e/api/1@3").status_code == 404
    assert caller.get(address, params={"revision": 3}).status_code == 404
    same = caller.get("/e/api/1@1", headers={"If-None-Match": '"r1"'})
    assert same.status_code == 304


def test_revisions_say_what_changed(caller: httpx2.Client) -> None:
    pushed = push(caller, "1", title="Trip", text="one\ntwo")
    push(caller, "1", title="Trip", text="one\nthree")
    push(caller, "1", title="Fault", text="one\nthree")
    address = f"/v1/entries/{pushed['entry_id']}/revisions"

    page = caller.get(address, params={"limit": 2}).json()

    assert [one["revision"] for one in page["items"]] == [3, 2]
    assert page["items"][1]["diff"].splitlines() == [
        "--- r1",
        "+++ r2",
        "@@ -1,4 +1,4 @@",
        " Trip",
        " ",
        " one",
        "-two",
        "+three",
    ]
    query = {"limit": 2, "cursor": page["next_cursor"]}
    rest = caller.get(address, params=query).json()
    assert [one["revision"] for one in rest["items"]] == [1]
    assert rest["next_cursor"] is None
    assert "+one" in rest["items"][0]["diff"]


def test_a_deleted_entry_is_gone_by_every_address(caller: httpx2.Client) -> None:
    pushed = push(caller, "1")
    caller.delete(f"/v1/entries/{pushed['entry_id']}")

    for address in ("/e/api/1", "/e/api/1@1", f"/v1/entries/{pushed['entry_id']}"):
        answer = caller.get(address)
        assert (answer.status_code, answer.json()["error"]["code"]) == (
            410,
            "entry_deleted",
        )


def test_a_reply_shows_its_parent_and_their_thread(caller: httpx2.Client) -> None:
    reply = push(caller, "2", reply_to="1")
    parent = push(caller, "1")

    shown = caller.get(f"/v1/entries/{reply['entry_id']}").json()

    assert shown["links"] == [{"kind": "reply", "entry_id": parent["entry_id"]}]
    both = caller.get("/v1/entries").json()["items"]
    assert {one["thread_id"] for one in both} == {shown["thread_id"]}


def test_what_was_purged_is_refused_and_costs_its_neighbours_nothing(
    caller: httpx2.Client, api: System, tenant: str
) -> None:
    push(caller, "1")
    with psycopg.connect(api.database) as conn:
        purge.purge(conn, tenant, "api", "1")

    alone = caller.post("/v1/entries", json={"external_id": "1", "text": "x"})
    assert (alone.status_code, alone.json()["error"]["code"]) == (410, "entry_deleted")
    entries = [{"external_id": name, "text": "x"} for name in ("1", "2")]
    many = caller.post("/v1/entries", json={"entries": entries}).json()
    assert [one["status"] for one in many["items"]] == ["rejected", "created"]
    assert many["counts"]["rejected"] == 1
    assert changes(caller, wait_ms=WAIT_MS)["items"][0]["change"] == "deleted"
