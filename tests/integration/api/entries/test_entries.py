"""Entries over REST: pushed, repeated, listed, read and deleted."""

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from uuid import UUID

import httpx2
import psycopg
import pytest

from shared.access.cursors import Binding, Signer
from shared.errors import InvalidRequestError
from tests.support.fixtures.system import System
from tests.support.waiting import until

JSON = {"Content-Type": "application/json"}
ENTRY = {
    "source": "api",
    "external_id": "OPS-77",
    "title": "RF trip",
    "text": "SR RF cavity 2 tripped on arc.",
    "author": "J. Ruiz",
    "logbook": "Operations",
    "entry_time": "2026-03-02T05:10:00+01:00",
}


def push(client: httpx2.Client, **fields) -> dict:
    answer = client.post("/v1/entries", json={"text": "x", **fields})
    assert answer.is_success, answer.text
    return answer.json()


def code_of(answer: httpx2.Response) -> str:
    return answer.json()["error"]["code"]


def test_a_push_creates_then_changes_nothing_then_updates(caller, tenant):
    created = caller.post("/v1/entries", json=ENTRY)
    again = caller.post("/v1/entries", json=ENTRY)
    edited = caller.post("/v1/entries", json={**ENTRY, "text": "Arc in cavity 2."})

    assert created.status_code == 201
    first = created.json()
    assert UUID(first.pop("entry_id")).version == 7
    assert first == {
        "source_uri": f"logchord:{tenant}/api/OPS-77",
        "revision": 1,
        "status": "created",
    }
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")
    assert (edited.status_code, edited.json()["revision"]) == (200, 2)
    assert edited.json()["status"] == "updated"


def test_an_entry_comes_back_exactly_as_it_was_sent(caller):
    text = "  Emma\u0308: \u202eodd\u202c \r\n\ttabs, 0 <b>&amp;</b> \U0001f9ea "

    pushed = push(caller, external_id="a/b #1", text=text, metadata={"run": 7})

    kept = caller.get(f"/v1/entries/{pushed['entry_id']}").json()
    assert kept["text"] == text
    assert kept["metadata"] == {"run": 7}
    assert kept["external_id"] == "a/b #1"
    assert kept["source_uri"].endswith("/api/a%2Fb%20%231")
    assert kept["permalink"] == "/e/api/a%2Fb%20%231"
    assert kept["text_flags"] == ["bidi"]
    assert kept["stages"]["metadata"] == "due"


def test_a_batch_answers_for_each_entry_in_its_order(caller):
    entries = [
        {"external_id": "1", "text": "one"},
        {"external_id": "2", "text": 5},
        {"external_id": "3", "text": "thr\0ee"},
        {"external_id": "4", "text": "four", "source": "nowhere"},
        {"external_id": "5", "text": "five", "tenant": "other"},
        {"external_id": "6", "text": "x" * 1_000_001},
        {"external_id": "1", "text": "one, corrected"},
    ]

    answer = caller.post("/v1/entries", json={"entries": entries})

    assert answer.status_code == 200
    items = answer.json()["items"]
    assert [one["index"] for one in items] == list(range(7))
    assert [one["status"] for one in items] == ["created", *["rejected"] * 5, "updated"]
    assert [one["error"]["code"] for one in items[1:6]] == [
        "validation_failed",
        "nul_character",
        "validation_failed",
        "validation_failed",
        "body_too_large",
    ]
    assert items[1]["error"]["details"]["fields"][0]["path"] == "entries.1.text"
    counts = {"created": 1, "updated": 1, "unchanged": 0, "rejected": 5}
    assert answer.json()["counts"] == counts
    assert caller.get("/v1/entries").json()["total"] == 1


def test_an_atomic_batch_with_one_bad_entry_stores_nothing(caller):
    entries = [{"text": "good"}, {"text": "bad", "entry_time": "soon"}]

    answer = caller.post("/v1/entries", json={"entries": entries, "atomic": True})

    assert answer.status_code == 422
    assert caller.get("/v1/entries").json()["total"] == 0


def test_a_batch_holds_what_the_setting_says_and_not_one_more(caller):
    at_the_limit = {"entries": [{"text": "x"}] * 1000}
    beyond = {"entries": [{"text": "x"}] * 1001}

    assert caller.post("/v1/entries", json=at_the_limit).status_code == 200
    refused = caller.post("/v1/entries", json=beyond)

    assert (refused.status_code, code_of(refused)) == (422, "validation_failed")
    empty = caller.post("/v1/entries", json={"entries": []})
    assert empty.status_code == 422


@pytest.mark.requirement("SEC3")
@pytest.mark.parametrize(
    "name",
    [
        *("entry_id", "tenant", "facility", "revision", "stages", "state", "deleted"),
        *("quarantined", "embedding", "created_at", "received_at", "content_hash"),
    ],
)
def test_a_field_that_is_not_the_callers_to_set_is_refused(caller, name):
    answer = caller.post("/v1/entries", json={**ENTRY, name: "x"})

    assert code_of(answer) == "validation_failed"
    assert answer.json()["error"]["details"]["fields"][0]["path"].endswith(name)
    assert caller.get("/v1/entries").json()["total"] == 0


def test_a_parameter_that_is_unknown_is_refused_and_never_ignored(caller):
    assert code_of(caller.post("/v1/entries?author=x")) == "unknown_filter"
    unknown = caller.get("/v1/entries?nonsense=x")
    assert code_of(unknown) == "unknown_filter"
    assert "logbook" in unknown.json()["error"]["details"]["allowed"]


def test_an_unknown_source_is_refused_naming_those_that_are_known(caller):
    answer = caller.post("/v1/entries", json={**ENTRY, "source": "nowhere"})

    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert "api, beamlines, " in message


@pytest.mark.requirement("SEC10")
def test_the_same_idempotency_key_gets_the_same_answer_and_no_second_entry(caller):
    headers = {"Idempotency-Key": "key-1"}
    body = {"text": "no external id"}

    first = caller.post("/v1/entries", json=body, headers=headers)
    again = caller.post("/v1/entries", json=body, headers=headers)
    other = caller.post("/v1/entries", json={"text": "other"}, headers=headers)

    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert (other.status_code, code_of(other)) == (409, "idempotency_conflict")
    assert caller.get("/v1/entries").json()["total"] == 1


@pytest.mark.requirement("SEC10")
def test_another_callers_idempotency_key_is_another_key(api, caller, tenant):
    headers = {"Idempotency-Key": "key-1"}
    caller.post("/v1/entries", json={"text": "mine"}, headers=headers)

    with api.client(api.key(tenant=tenant)) as other:
        answer = other.post("/v1/entries", json={"text": "theirs"}, headers=headers)

    assert answer.status_code == 201


@pytest.mark.requirement("SEC10")
@pytest.mark.parametrize("key", ["", "a b", "x" * 129, "x" * 10_000, "\u00e9"])
def test_a_key_that_cannot_be_one_is_refused(caller, key):
    headers = {"Idempotency-Key": key.encode()}

    answer = caller.post("/v1/entries", json=ENTRY, headers=headers)

    assert answer.status_code == 422
    assert code_of(answer) == "idempotency_key_invalid"


def test_twenty_equal_requests_at_once_make_one_entry(caller):
    def send(_: int) -> httpx2.Response:
        headers = {"Idempotency-Key": "race"}
        return caller.post("/v1/entries", json={"text": "once"}, headers=headers)

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(send, range(20)))

    assert {one.status_code for one in answers} <= {201, 409}
    accepted = [one.json()["entry_id"] for one in answers if one.status_code == 201]
    assert len(set(accepted)) == 1
    refused = {code_of(one) for one in answers if one.status_code == 409}
    assert refused <= {"idempotency_in_progress"}
    assert caller.get("/v1/entries").json()["total"] == 1


def test_a_listing_filters_counts_and_pages_to_its_end(caller):
    for number in range(7):
        push(
            caller,
            external_id=f"E-{number}",
            logbook="RF" if number % 2 else "Vacuum",
            source="operations" if number < 3 else "api",
            entry_time=f"2026-03-02T05:{number:02}:00Z",
        )

    seen: list[str] = []
    cursor = None
    while cursor is not None or not seen:
        params = {"limit": 3, **({"cursor": cursor} if cursor else {})}
        page = caller.get("/v1/entries", params=params).json()
        assert page["total"] == 7
        seen += [one["external_id"] for one in page["items"]]
        cursor = page["next_cursor"]

    assert seen == [f"E-{number}" for number in (6, 5, 4, 3, 2, 1, 0)]
    for query, total in (
        ("source=operations", 3),
        ("source=operations&source=api", 7),
        ("logbook=RF", 3),
        ("logbook=RF&source=operations", 1),
        ("external_id=E-4", 1),
        ("external_id=e-4", 0),
    ):
        assert caller.get(f"/v1/entries?{query}").json()["total"] == total, query
    oldest = caller.get("/v1/entries?sort=oldest&limit=1").json()["items"]
    assert oldest[0]["external_id"] == "E-0"
    received = caller.get("/v1/entries?sort=received&limit=1").json()["items"]
    assert received[0]["external_id"] == "E-6"


@pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "1.5", ""])
def test_a_page_size_out_of_range_is_refused(caller, limit):
    answer = caller.get(f"/v1/entries?limit={limit}")

    assert code_of(answer) == "validation_failed"


@pytest.mark.requirement("SEC9")
def test_a_cursor_opens_no_other_list_size_or_caller(api, caller, tenant):
    for number in range(4):
        push(caller, external_id=str(number))
    cursor = caller.get("/v1/entries?limit=2").json()["next_cursor"]

    assert caller.get(f"/v1/entries?limit=2&cursor={cursor}").status_code == 200
    with api.client(api.key(tenant=tenant)) as other:
        answers = [
            caller.get(f"/v1/entries?limit=3&cursor={cursor}"),
            caller.get(f"/v1/entries?limit=2&source=api&cursor={cursor}"),
            caller.get(f"/v1/entries?limit=2&sort=oldest&cursor={cursor}"),
            caller.get(f"/v1/entries?limit=2&cursor={cursor[:-1]}"),
            caller.get(f"/v1/entries?limit=2&cursor={cursor}A"),
            caller.get("/v1/entries?limit=2&cursor=x"),
            other.get(f"/v1/entries?limit=2&cursor={cursor}"),
        ]

    assert {one.status_code for one in answers} == {400}
    assert {code_of(one) for one in answers} == {"bad_cursor"}


def opens(signer: Signer, cursor: str, binding: Binding) -> bool:
    with suppress(InvalidRequestError):
        signer.open(cursor, binding)
        return True
    return False


@pytest.mark.requirement("SEC9")
def test_not_one_of_ten_thousand_changed_cursors_is_opened(api, caller):
    for number in range(3):
        push(caller, external_id=str(number))
    whole = caller.get("/v1/entries?limit=2").json()["next_cursor"]
    with psycopg.connect(api.database) as conn:
        row = conn.execute("SELECT cursor_secret FROM installation").fetchone()
    assert row is not None
    signer = Signer(bytes(row[0]), 3600)
    binding = Binding("GET /v1/entries", "", "tester", 2)
    place = ["2026-03-02T05:10:00+00:00", "01a1fdfb-7a3c-7f55-bf65-0f178b48bbb1"]
    mine = signer.make(place, binding)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    chance = random.Random(7)
    changed = {
        mine[:place] + letter + mine[place + 1 :]
        for place in range(len(mine))
        for letter in chance.sample(letters, 63)
    } - {mine}
    changed |= {mine[:place] for place in range(len(mine))}

    opened = sum(opens(signer, cursor, binding) for cursor in changed)

    assert len(changed) >= 10_000
    assert opened == 0
    sample = [whole[:place] + "A" + whole[place + 1 :] for place in range(0, 160, 8)]
    for cursor in set(sample) - {whole}:
        answer = caller.get(f"/v1/entries?limit=2&cursor={cursor}")
        assert answer.status_code == 400


def test_an_entry_not_changed_since_is_not_sent_again(caller):
    pushed = push(caller, external_id="1")
    address = f"/v1/entries/{pushed['entry_id']}"

    assert caller.get(address).headers["ETag"] == '"r1"'
    for named in ('"r1"', 'W/"r1"', '"r0", "r1"', "*"):
        answer = caller.get(address, headers={"If-None-Match": named})
        assert (answer.status_code, answer.content) == (304, b"")
    push(caller, external_id="1", text="edited")
    answer = caller.get(address, headers={"If-None-Match": '"r1"'})
    assert (answer.status_code, answer.headers["ETag"]) == (200, '"r2"')


def test_a_deleted_entry_is_gone_for_everybody_and_kept_for_audit(caller):
    pushed = push(caller, external_id="1")
    address = f"/v1/entries/{pushed['entry_id']}"

    stale = caller.delete(address, headers={"If-Match": '"r9"'})
    assert (stale.status_code, code_of(stale)) == (412, "revision_mismatch")
    deleted = caller.delete(f"{address}?reason=typo", headers={"If-Match": '"r1"'})
    assert deleted.status_code == 204
    assert caller.delete(address).status_code == 204

    gone = caller.get(address)
    assert (gone.status_code, code_of(gone)) == (410, "entry_deleted")
    error = gone.json()["error"]
    assert error["message"] == "This entry was deleted here, by a request."
    assert error["details"]["reason"] == "typo"
    assert caller.get("/v1/entries").json() == {
        "items": [],
        "cut": {"entries": 0, "chars": 0},
        "next_cursor": None,
        "total": 0,
    }
    kept = caller.get("/v1/entries?include_deleted=true").json()["items"]
    assert [one["deleted"] for one in kept] == [True]


def test_a_deleted_entry_that_is_pushed_again_lives_again(caller):
    pushed = push(caller, external_id="1")
    caller.delete(f"/v1/entries/{pushed['entry_id']}")

    again = push(caller, external_id="1")

    assert (again["status"], again["revision"]) == ("updated", 2)
    assert caller.get(f"/v1/entries/{pushed['entry_id']}").status_code == 200


def test_a_push_may_wait_until_it_can_be_found(client):
    waited = client.post("/v1/entries?wait_for=index&wait_ms=30000", json=ENTRY)

    assert waited.json()["indexed"] is True
    found = client.post(
        "/v1/search/query", json={"query": "cavity arc", "mode": "keyword"}
    ).json()
    assert [hit["external_id"] for hit in found["results"]] == ["OPS-77"]


def test_a_push_that_waits_in_vain_says_so(caller):
    answer = caller.post("/v1/entries?wait_for=index&wait_ms=100", json=ENTRY)

    assert answer.status_code == 201
    assert answer.json()["indexed"] is False


def test_a_rejected_batch_never_waits_for_an_index(caller):
    batch = {"entries": [{"text": 1}]}

    answer = caller.post("/v1/entries?wait_for=index&wait_ms=100", json=batch)

    assert "indexed" not in answer.json()


def test_the_metadata_stage_tells_language_and_devices(running: System, client):
    text = "The RF cavity 3 at SR:RF:CAV3 tripped; vacuum pump IP-12 was running."
    pushed = push(client, external_id="L-1", text=text)

    def enriched() -> dict | None:
        kept = client.get(f"/v1/entries/{pushed['entry_id']}").json()
        return kept if kept["stages"]["metadata"] == "done" else None

    kept = until(enriched, within_seconds=30, what="metadata")
    assert kept["language"] == "en"
    assert kept["entities"]
