"""What was quarantined: listed, released and given up on, by its facility alone."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest

from shared.access import keys
from shared.adapter_contract.contract import RawItem
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.errors import InternalError, MalformedEntryError, MessageRejectedError
from shared.sources.intake import quarantined_items
from shared.sources.intake.quarantined_items import Rejected
from shared.work import due_work, quarantine
from shared.work.quarantine_budget import Budget
from tests.support.fixtures.system import System
from tests.support.typed import Run, typist
from tests.support.waiting import until
from tests.support.written import ok

PutAside = Callable[..., list[str]]


def done(released: int, resumed: list[str]) -> dict[str, Any]:
    """Return the answer to a release that left nothing aside."""
    told = {"released": released, "resumed": resumed, "still_quarantined": 0}
    return {**told, "complete": True, "next_cursor": None}


@pytest.fixture
def stage(tenant: str) -> str:
    """A stage that no other test's work is due for."""
    return f"embed:{tenant}"


@pytest.fixture
def put_aside(api: System, tenant: str, stage: str) -> PutAside:
    """Put so many entries of a facility aside, and return their ids, oldest first."""

    def put(count: int, *, tenant: str = tenant, source: str = "api") -> list[str]:
        drafts = [EntryDraft(source, f"e{n}", "x") for n in range(count)]
        with psycopg.connect(api.database) as conn:
            saved = save_page(conn, tenant, drafts, stages=[stage], editor="test")
            wanted = [one.entry_id for one in saved]
            claims = due_work.claim(conn, stage, limit=count, entry_ids=wanted)
            for claim in claims:
                error = InternalError(technical="stub: bad release")
                # As many as are asked for, whatever a stage may quarantine.
                assert quarantine.add(conn, claim, error, Budget(1e9, 10**6))
        return [str(claim.entry_id) for claim in claims]

    return put


@pytest.fixture
def everybody(api: System) -> Iterator[httpx2.Client]:
    """An admin of the whole installation."""
    with psycopg.connect(api.database) as conn:
        made = keys.create_key(
            conn, tenant="*", name="ops", scopes=["admin"], rate_per_minute=0
        )
    with api.client(made.token) as client:
        yield client


def listed(client: httpx2.Client, **params: Any) -> list[dict[str, Any]]:
    return ok(client.get("/v1/quarantine", params=params))["items"]


def due_of(api: System, stage: str) -> list[tuple[str, int]]:
    with psycopg.connect(api.database) as conn:
        found = conn.execute(
            "SELECT entry_id, class FROM work WHERE stage = %s ORDER BY 1", (stage,)
        ).fetchall()
    return [(str(entry_id), kind) for entry_id, kind in found]


def test_what_was_put_aside_is_listed_with_its_reason(operator, put_aside, stage):
    (entry_id,) = put_aside(1)

    (one,) = listed(operator)

    assert set(one) == {
        *("quarantine_id", "entry_id", "source", "external_id", "stage", "revision"),
        *("attempts", "error", "first_at", "last_at", "excerpt", "times"),
    }
    assert (one["entry_id"], one["stage"], one["attempts"]) == (entry_id, stage, 1)
    assert one["error"]["code"] == "internal_error"
    assert one["error"]["details"]["technical"] == "stub: bad release"
    assert operator.get(f"/v1/quarantine/{one['quarantine_id']}").json() == one


def test_filters_narrow_the_list_and_an_unknown_one_is_refused(
    operator, put_aside, stage
):
    put_aside(1)
    put_aside(2, source="operations")

    assert len(listed(operator, source="operations")) == 2
    assert len(listed(operator, stage=stage, code="internal_error")) == 3
    assert listed(operator, stage="index") == []
    assert listed(operator, code="worker_lost") == []
    refused = operator.get("/v1/quarantine", params={"facility": "x"})
    assert refused.json()["error"]["code"] == "unknown_filter"


def test_pages_follow_each_other_without_a_gap_and_a_cursor_opens_no_other_list(
    operator, put_aside
):
    ids = put_aside(5)
    first = operator.get("/v1/quarantine?limit=2").json()
    seen = [one["entry_id"] for one in first["items"]]
    cursor = first["next_cursor"]
    other = operator.get(f"/v1/quarantine?limit=3&cursor={cursor}")
    while cursor:
        page = operator.get(f"/v1/quarantine?limit=2&cursor={cursor}").json()
        seen += [one["entry_id"] for one in page["items"]]
        cursor = page["next_cursor"]

    assert sorted(seen) == sorted(ids)
    assert len(seen) == 5
    assert (other.status_code, other.json()["error"]["code"]) == (400, "bad_cursor")


def test_one_that_is_sent_again_is_live_work_and_leaves_the_list(
    api, operator, put_aside, stage
):
    (entry_id,) = put_aside(1)
    (one,) = listed(operator)
    address = f"/v1/quarantine/{one['quarantine_id']}/retry"

    answer = operator.post(address)

    assert (answer.status_code, answer.json()) == (202, done(1, []))
    assert due_of(api, stage) == [(entry_id, due_work.LIVE)]
    assert listed(operator) == []
    assert operator.post(address).status_code == 404


def test_many_are_sent_again_as_bulk_work_and_their_stage_goes_on(
    api, operator, put_aside, stage
):
    put_aside(3)
    put_aside(2, source="operations")
    with psycopg.connect(api.database) as conn:
        conn.execute(
            "INSERT INTO stage_pause (stage, code) VALUES"
            " (%s, 'quarantine_budget_spent')",
            (stage,),
        )

    body = {"source": "api", "stage": stage, "limit": 2}
    first = operator.post("/v1/quarantine/retry", json=body).json()
    second = operator.post("/v1/quarantine/retry", json=body).json()

    assert (first["released"], first["resumed"]) == (2, [stage])
    assert (first["complete"], second) == (False, done(1, []))
    assert [kind for _, kind in due_of(api, stage)] == [due_work.BULK] * 3
    assert len(listed(operator)) == 2


def test_all_that_a_filter_names_is_sent_again_in_one_request(
    api, operator, put_aside, stage
):
    # More than one commit takes.
    ids = put_aside(1203)

    answer = operator.post("/v1/quarantine/retry", json={"stage": stage})
    told = answer.json()
    released = told["released"]
    while told["next_cursor"]:
        # A slow machine ends in between.
        rest = {"stage": stage, "cursor": told["next_cursor"]}
        told = operator.post("/v1/quarantine/retry", json=rest).json()
        released += told["released"]

    assert (answer.status_code, released) == (202, 1203)
    assert [one for one, _ in due_of(api, stage)] == sorted(ids)
    assert listed(operator) == []


def test_an_answer_that_had_to_end_says_where_the_rest_begins(
    operator, put_aside, stage
):
    put_aside(5)
    address = "/v1/quarantine/retry"
    first = operator.post(address, json={"stage": stage, "limit": 2}).json()
    rest = {"stage": stage, "cursor": first["next_cursor"]}

    other = operator.post(address, json={**rest, "source": "api"})
    second = operator.post(address, json=rest).json()

    assert (first["released"], first["complete"]) == (2, False)
    assert (other.status_code, other.json()["error"]["code"]) == (400, "bad_cursor")
    assert second == done(3, [])


def test_items_that_cannot_be_read_stand_in_nobodys_way(
    api, operator, logchord, tenant
):
    # The newest are as bad as they were; each commit looks at so few of them.
    count, source = 120, f"sheets-{tenant}"
    with psycopg.connect(api.database) as conn:
        bad = [
            Rejected(
                RawItem(f"{number}", {"id": str(number)}),
                MalformedEntryError("No time.", reason="time_missing"),
            )
            for number in range(count)
        ]
        assert quarantined_items.store_rejected(conn, tenant, source, bad) == count

    body: dict[str, Any] | None = {"source": source}
    aside = 0
    while body is not None:
        told = operator.post("/v1/quarantine/retry", json=body).json()
        assert told["released"] == 0
        aside += told["still_quarantined"]
        rest = told["next_cursor"]
        # A slow machine ends in between.
        body = {"source": source, "cursor": rest} if rest else None
    first = logchord("quarantine", "retry", "--source", source, "--limit", "7")
    whole = logchord("quarantine", "retry", "--source", source, "--json")

    assert aside == count
    assert first.stdout == "released 0\n"
    assert "7 cannot be read" in first.stderr
    assert "--limit has ended it here" in first.stderr
    kept = {"released": 0, "resumed": [], "still_quarantined": count, "complete": True}
    assert json.loads(whole.stdout) == kept


def test_the_same_key_releases_once(api, operator, put_aside, stage):
    put_aside(2)
    headers = {"Idempotency-Key": "k1"}

    def release(limit: int) -> httpx2.Response:
        body = {"stage": stage, "limit": limit}
        found: httpx2.Response = operator.post(
            "/v1/quarantine/retry", json=body, headers=headers
        )
        return found

    first, again, other = release(1), release(1), release(2)

    assert first.json() == again.json()
    assert first.json()["released"] == 1
    assert again.headers["Idempotency-Replayed"] == "true"
    assert other.json()["error"]["code"] == "idempotency_conflict"
    assert len(due_of(api, stage)) == 1


def test_what_is_given_up_on_is_gone_and_the_log_has_the_reason(
    api, operator, put_aside, stage
):
    (entry_id,) = put_aside(1)
    (one,) = listed(operator)
    address = f"/v1/quarantine/{one['quarantine_id']}"

    without = operator.delete(address)
    answer = operator.delete(address, params={"reason": "a test page, not an entry"})

    assert without.json()["error"]["code"] == "validation_failed"
    assert answer.status_code == 204
    assert listed(operator) == []
    assert due_of(api, stage) == []
    line = until(
        lambda: next(
            (
                row
                for row in (api.logs / "api.log").read_text().splitlines()
                if '"quarantine_discarded"' in row and entry_id in row
            ),
            None,
        ),
        within_seconds=5,
    )
    assert json.loads(line)["reason"] == "a test page, not an entry"
    assert operator.delete(address, params={"reason": "x"}).status_code == 404


@pytest.mark.requirement("SEC2", "P10")
def test_another_facilitys_answers_like_what_is_absent(
    api, operator, put_aside, tenant
):
    put_aside(1)
    (one,) = listed(operator)

    with api.client(api.key(tenant=f"{tenant}-b", scopes=("admin",))) as theirs:
        assert listed(theirs) == []
        for method, path, params in (
            ("GET", "/v1/quarantine/{}", {}),
            ("POST", "/v1/quarantine/{}/retry", {}),
            ("DELETE", "/v1/quarantine/{}", {"reason": "x"}),
        ):
            here, absent = (
                theirs.request(method, path.format(which), params=params)
                for which in (one["quarantine_id"], uuid4())
            )
            assert here.status_code == absent.status_code == 404
            assert bare(here) == bare(absent)
        assert theirs.post("/v1/quarantine/retry", json={}).json()["released"] == 0
    assert listed(operator) == [one]


def bare(answer: httpx2.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    return {name: error[name] for name in error if name not in {"id", "request_id"}}


def test_a_message_is_the_installations_and_is_not_sent_again(
    api, operator, everybody, put_aside, tenant
):
    put_aside(1)
    put_aside(1, tenant=f"{tenant}-b")
    stage = f"message:{tenant}"
    with psycopg.connect(api.database) as conn:
        error = MessageRejectedError(technical="no such task")
        conn.execute(
            "INSERT INTO quarantine (id, stage, error, excerpt) VALUES"
            " (%s, %s, %s, 'nobody.knows 1')",
            (uuid4(), stage, json.dumps(error.body(admin=True)["error"])),
        )

    assert listed(operator, stage=stage) == []
    (one,) = listed(everybody, stage=stage)
    address = f"/v1/quarantine/{one['quarantine_id']}"
    refused = everybody.post(f"{address}/retry")
    many = everybody.post("/v1/quarantine/retry", json={"stage": stage})
    gone = everybody.delete(address, params={"reason": "an old release sent it"})

    assert (one["entry_id"], one["excerpt"]) == (None, "nobody.knows 1")
    assert refused.json()["error"]["code"] == "validation_failed"
    assert many.json()["released"] == 0
    assert gone.status_code == 204


@pytest.fixture
def logchord(api: System, tenant: str, tmp_path: Path) -> Run:
    return typist(api, tmp_path, api.key(tenant=tenant, scopes=("admin",)))


def test_the_command_lists_shows_releases_and_discards(
    api, logchord, put_aside, stage, operator
):
    put_aside(4)
    first, second, *_ = (one["quarantine_id"] for one in listed(operator))

    lines = logchord("quarantine", "list", "--limit", "3").stdout.splitlines()
    shown = logchord("quarantine", "show", first)
    discarded = logchord("quarantine", "discard", first, "--reason", "a test")
    one = logchord("quarantine", "retry", second, "--json")
    rest = logchord("quarantine", "retry", "--stage", stage)
    none = logchord("quarantine", "list", "--json")

    assert len(lines) == 3
    assert lines[0].startswith(f"{first}  {stage}  internal_error  api/e")
    assert re.search(r"technical +stub: bad release", shown.stdout)
    assert (discarded.returncode, discarded.stdout) == (0, "")
    told = {"released": 1, "resumed": [], "still_quarantined": 0, "complete": True}
    assert json.loads(one.stdout) == told
    assert rest.stdout == "released 2\n"
    assert json.loads(none.stdout) == []
    assert len(due_of(api, stage)) == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", str(UUID(int=1))), 3),
        (("retry", str(UUID(int=1))), 3),
        (("discard", str(UUID(int=1)), "--reason", "x"), 3),
        (("retry",), 2),
        (("retry", "--all", str(UUID(int=1))), 2),
        (("discard", str(UUID(int=1))), 2),
        (("list",), 0),
    ],
)
def test_the_command_ends_with_the_code_of_what_came_of_it(logchord, words, code):
    assert logchord("quarantine", *words).returncode == code


def test_the_command_needs_an_admin(api, tenant, tmp_path):
    reader = typist(api, tmp_path, api.key(tenant=tenant, scopes=("read",)))

    ended = reader("quarantine", "list")

    assert ended.returncode == 4
    assert "code: scope_missing" in ended.stderr
