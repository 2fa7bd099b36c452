"""Links that are pushed: what is related, and what may be superseded by whom."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import psycopg
import pytest

from shared.access.keys import create_key
from shared.entries import entry_links
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from tests.support.fixtures.system import System
from tests.support.waiting import until
from tests.support.written import field_of, push, read, verdict

Links = list[dict[str, str]]
Keyed = Callable[..., httpx2.Client]


def related(*names: str) -> Links:
    return [{"kind": "related", "external_id": name} for name in names]


def supersedes(*names: str) -> Links:
    return [{"kind": "supersedes", "external_id": name} for name in names]


@pytest.fixture
def keyed(api: System, tenant: str) -> Iterator[Keyed]:
    """Clients whose keys write to some logbooks only."""
    clients: list[httpx2.Client] = []

    def keyed(*logbooks: str) -> httpx2.Client:
        with psycopg.connect(api.database) as conn:
            made = create_key(
                conn,
                tenant=tenant,
                name=f"{len(clients)} of {tenant}",
                subject="tester",
                scopes=("read", "ingest"),
                logbooks=logbooks,
                rate_per_minute=0,
            )
        clients.append(api.client(made.token))
        return clients[-1]

    yield keyed
    for client in clients:
        client.close()


def named(client: httpx2.Client, external_id: str) -> httpx2.Response:
    json_type = {"Accept": "application/json"}
    return client.get(f"/e/api/{external_id}", headers=json_type)


def statuses(answer: httpx2.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["status"] for one in answer.json()["items"]]


def test_what_is_related_is_linked_whichever_comes_first(caller):
    first = push(caller, external_id="1", links=related("2", "2", "1", "3"))
    assert read(caller, f"/v1/entries/{first['entry_id']}")["links"] == []

    second = push(caller, external_id="2")

    linked = [{"kind": "related", "entry_id": second["entry_id"]}]
    assert read(caller, f"/v1/entries/{first['entry_id']}")["links"] == linked


def test_the_same_links_in_another_order_are_no_news(caller):
    push(caller, external_id="1", links=related("b", "a"))

    again = push(caller, external_id="1", links=related("a", "b", "a"))
    fewer = push(caller, external_id="1", links=related("a"))

    assert (again["status"], again["revision"]) == ("unchanged", 1)
    assert (fewer["status"], fewer["revision"]) == ("updated", 2)


def test_what_is_superseded_is_gone_and_its_successor_says_so(caller):
    old = push(caller, external_id="1", text="wrong")
    new = push(caller, external_id="2", text="right", links=supersedes("1"))

    assert named(caller, "1").status_code == 410
    found = named(caller, "2").json()
    assert found["links"] == [{"kind": "supersedes", "entry_id": old["entry_id"]}]
    assert [one["entry_id"] for one in caller.get("/v1/entries").json()["items"]] == [
        new["entry_id"]
    ]


def test_a_key_of_every_logbook_may_name_what_is_still_to_come(caller):
    push(caller, external_id="2", links=supersedes("1"))

    push(caller, external_id="1", logbook="Operations")

    assert named(caller, "1").status_code == 410


@pytest.mark.requirement("SEC2")
def test_a_key_of_some_logbooks_buries_nothing_of_others(caller, keyed):
    push(caller, external_id="ops", logbook="Operations")
    push(caller, external_id="rf", logbook="RF")
    narrow = keyed("RF")

    answers: dict[str, str] = {}
    for target in ("ops", "nowhere"):
        sent: dict[str, Any] = {"text": "x", "logbook": "RF"}
        sent["links"] = supersedes(target)
        mine = push(narrow, external_id=f"mine of {target}", logbook="RF")
        for answer in (
            narrow.post("/v1/entries", json={**sent, "external_id": "new"}),
            narrow.put("/e/api/new", json=sent),
            narrow.put(f"/v1/entries/{mine['entry_id']}", json=sent),
            narrow.patch(
                f"/v1/entries/{mine['entry_id']}", json={"links": supersedes(target)}
            ),
            narrow.post(
                "/v1/entries",
                json={"entries": [{**sent, "external_id": "new"}], "atomic": True},
            ),
        ):
            assert field_of(answer) == ("links", "not_theirs")
            answers[target] = answer.json()["error"]["message"]
    allowed = push(narrow, external_id="new", logbook="RF", links=supersedes("rf"))

    # Whoever may not read it is not told whether it is there.
    assert answers["ops"] == answers["nowhere"]
    assert named(caller, "ops").status_code == 200
    assert named(caller, "rf").status_code == 410
    assert allowed["status"] == "created"
    push(caller, external_id="nowhere", logbook="Operations")
    assert named(caller, "nowhere").status_code == 200


@pytest.mark.requirement("SEC2")
def test_of_a_batch_each_link_is_judged_with_what_comes_beside_it(caller, keyed):
    push(caller, external_id="ops", logbook="Operations")
    batch: list[dict[str, Any]] = [
        {"external_id": "1", "links": supersedes("2")},
        {"external_id": "2"},
        {"external_id": "3", "links": supersedes("4")},
        {"external_id": "4", "links": supersedes("ops")},
        {"external_id": "5", "links": related("ops", "nowhere")},
    ]
    entries = [{"text": "x", "logbook": "RF", **one} for one in batch]
    narrow = keyed("RF")

    answer = narrow.post("/v1/entries", json={"entries": entries})
    lines = narrow.post(
        "/v1/entries",
        content="\n".join(json.dumps(one) for one in entries),
        headers={"Content-Type": "application/x-ndjson"},
    )

    assert statuses(answer) == [
        *("created", "created", "rejected", "rejected", "created")
    ]
    *told, _ = (json.loads(line) for line in lines.text.splitlines())
    assert [one["status"] for one in told] == [
        *("unchanged", "unchanged", "rejected", "rejected", "unchanged")
    ]
    push(caller, external_id="4", logbook="Operations")
    for name, status in (("1", 200), ("2", 410), ("4", 200), ("ops", 200)):
        assert named(caller, name).status_code == status


@pytest.mark.requirement("P10", "U21")
def test_a_reply_names_its_parent_to_whoever_may_see_that_and_to_nobody_else(
    caller, keyed
):
    reply = push(caller, external_id="reply", logbook="RF", reply_to="secret-1")
    address = f"/v1/entries/{reply['entry_id']}"
    narrow = keyed("RF")

    def told(client: httpx2.Client) -> set[str | None]:
        thread = read(client, f"{address}/thread")["entries"]
        listed = read(client, "/v1/entries?external_id=reply")["items"]
        changes = read(client, "/v1/changes")["items"]
        changed = [one["entry"] for one in changes if one["entry"]]
        shown = [read(client, address), read(client, "/e/api/reply"), *listed]
        shown += [read(client, f"{address}?revision=1"), *thread, *changed]
        return {one["reply_to"] for one in shown if one["external_id"] == "reply"}

    # What is hidden looks like what is not there.
    assert told(caller) == {None}
    # Nor does it lose by a whole edit what it was not told.
    body = {"text": "first", "logbook": "RF", "reply_to": None}
    assert verdict(caller.put(address, json=body))[1] == "updated"
    assert verdict(caller.put("/e/api/reply", json=body))[1] == "unchanged"
    kept = read(caller, "/v1/changes")["next_after"]
    push(caller, external_id="secret-1", logbook="Operations")
    news = read(caller, f"/v1/changes?after={kept}")["items"]

    # Whoever keeps a copy hears of the reply again, now that its parent is there.
    parents = {one["entry"]["external_id"]: one["entry"]["reply_to"] for one in news}
    assert parents == {"reply": "secret-1", "secret-1": None}
    assert told(caller) == {"secret-1"}
    merged = caller.patch(address, json={"text": "second"})

    assert verdict(merged)[1:] == ("updated", 3)
    assert told(caller) == {"secret-1"}
    assert told(narrow) == {None}
    # Whoever may not see the parent does not lose it by an edit either.
    assert verdict(narrow.patch(address, json={"tags": ["rf"]}))[1] == "updated"
    for where, text in ((address, "third"), ("/e/api/reply", "fourth")):
        whole = {"text": text, "logbook": "RF", "reply_to": None}
        assert verdict(narrow.put(where, json=whole))[1] == "updated"
    assert told(caller) == {"secret-1"}
    # Whoever sees the parent takes the reply back.
    assert verdict(caller.put(address, json=whole))[1] == "updated"
    assert read(caller, address)["reply_to"] is None


@pytest.mark.requirement("P10", "U21")
@pytest.mark.parametrize(
    ("closed", "opened"),
    [
        ({"readers": []}, {"readers": None}),
        ({"logbook": "Operations"}, {"logbook": "RF"}),
        ({"visible_from": "2199-01-01T00:00:00Z"}, {"visible_from": None}),
    ],
    ids=["readers", "logbooks", "embargo"],
)
def test_a_reply_is_told_again_when_others_may_see_its_parent(
    caller, keyed, closed: dict[str, Any], opened: dict[str, Any]
):
    parent = {"external_id": "parent", "logbook": "RF", "text": "a trip"}
    push(caller, **parent)
    push(caller, external_id="reply", logbook="RF", reply_to="parent")
    push(caller, external_id="other", logbook="RF", reply_to="reply")
    narrow = keyed("RF")
    after = ""

    def told() -> dict[str, str | None]:
        nonlocal after
        # Any older transaction of the server holds the feed back for a while.
        news = read(narrow, f"/v1/changes?wait_ms=20000&after={after}")
        after = news["next_after"]
        shown = [one["entry"] for one in news["items"] if one["entry"]]
        return {one["external_id"]: one["reply_to"] for one in shown}

    until(lambda: "other" in told(), within_seconds=60, what="the first three")
    push(caller, **{**parent, **closed})
    assert told() == {"reply": None}
    push(caller, **{**parent, **opened})
    assert told() == {"parent": None, "reply": "parent"}
    # Of an edit that nobody reads another way, no reply tells.
    push(caller, **{**parent, **opened, "tags": ["trip"]})
    assert told() == {"parent": None}


def test_a_reply_is_told_again_when_the_time_of_its_parent_has_come(caller):
    soon = datetime.now(UTC) + timedelta(seconds=6)
    push(caller, external_id="parent", visible_from=soon.isoformat())
    push(caller, external_id="reply", reply_to="parent")
    heard: dict[str, list[str | None]] = {}
    after = ""

    def is_told() -> bool:
        nonlocal after
        news = read(caller, f"/v1/changes{after}")
        after = f"?after={news['next_after']}"
        for one in news["items"]:
            if one["entry"]:
                told = heard.setdefault(one["entry"]["external_id"], [])
                told.append(one["entry"]["reply_to"])
        return "parent" in heard

    until(is_told, within_seconds=30, what="the end of the embargo")
    assert heard == {"parent": [None], "reply": [None, "parent"]}


@pytest.mark.requirement("P10", "U21")
@pytest.mark.parametrize("there", [True, False], ids=["edited", "made"])
def test_a_parent_that_comes_while_an_entry_is_put_by_its_name_stays(
    caller, keyed, api: System, tenant: str, *, there: bool
):
    push(caller, external_id="hidden", logbook="Operations")
    if there:
        push(caller, external_id="reply", logbook="RF", text="first")
    narrow = keyed("RF")
    meanwhile = EntryDraft("api", "reply", "m", logbooks=("RF",), reply_to="hidden")
    waits = """SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'"""
    with ThreadPoolExecutor(1) as pool:
        with psycopg.connect(api.database) as other:
            save_page(other, tenant, [meanwhile], stages=[], editor="test")
            body = {"text": "second", "logbook": "RF"}
            put = pool.submit(narrow.put, "/e/api/reply", json=body)
            with psycopg.connect(api.database, autocommit=True) as looking:

                def is_waiting() -> bool:
                    return looking.execute(waits).fetchone() != (0,)

                until(is_waiting, within_seconds=10, what="the write")

        assert verdict(put.result())[1:] == ("updated", 3 if there else 2)
    shown = named(caller, "reply").json()
    assert (shown["text"], shown["reply_to"]) == ("second", "hidden")


def test_an_entry_is_put_by_its_name_beside_a_page_of_the_same_source(
    caller, api: System, tenant: str
):
    push(caller, external_id="mine", text="first")
    with psycopg.connect(api.database) as page:
        entry_links.share(page, tenant, "api")

        put = caller.put("/e/api/mine", json={"text": "second"})

    assert verdict(put) == (200, "updated", 2)


def test_a_merge_keeps_the_links_it_does_not_name(caller, keyed):
    push(caller, external_id="1", logbook="RF")
    push(caller, external_id="ops", logbook="Operations")
    both = [*related("ops", "later"), *supersedes("1")]
    made = push(caller, external_id="2", logbook="RF", links=both)
    where = f"/v1/entries/{made['entry_id']}"
    before = read(caller, where)["links"]

    # The key may not bury it anew, and leaves what stands as it is.
    push(caller, external_id="ops-2", logbook="Operations")
    foreign = push(caller, external_id="3", logbook="RF", links=supersedes("ops-2"))
    narrow = keyed("RF")
    kept = narrow.patch(f"/v1/entries/{foreign['entry_id']}", json={"title": "T"})
    merged = caller.patch(where, json={"title": "T"})
    same = caller.patch(where, json={"links": both})
    none = caller.patch(where, json={"links": None})

    assert verdict(kept) == (200, "updated", 2)
    assert verdict(merged) == (200, "updated", 2)
    assert verdict(same) == (200, "unchanged", 2)
    assert len(before) == 2
    assert verdict(none) == (200, "updated", 3)
    assert read(caller, where)["links"] == []


@pytest.mark.parametrize(
    ("links", "field"),
    [
        ([{}], ("links.0.kind", "missing")),
        ([{"kind": "reply", "external_id": "1"}], ("links.0.kind", "literal_error")),
        ([{"kind": "related"}], ("links.0.external_id", "missing")),
        (related(""), ("links.0.external_id", "string_too_short")),
        (related("x" * 256), ("links.0.external_id", "string_too_long")),
        (
            [{**related("1")[0], "entry_id": "x"}],
            ("links.0.entry_id", "extra_forbidden"),
        ),
        (supersedes("1", "2"), ("links", "given_twice")),
        (related(*map(str, range(101))), ("links", "too_long")),
        (5, ("links", "list_type")),
    ],
)
def test_a_link_that_cannot_be_meant_is_refused(caller, links: Any, field):
    answer = caller.post("/v1/entries", json={"text": "x", "links": links})

    fields = answer.json()["error"]["details"]["fields"]
    told = [(one["path"].removeprefix("one."), one["code"]) for one in fields]
    assert field in told
