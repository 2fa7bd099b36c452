"""The one condition on what a caller may see, judged by Postgres in every case."""

from datetime import UTC, datetime
from itertools import product
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg.types.json import Jsonb

from shared.access import rights
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from tests.support.fixtures.asking import ANNA, BEN
from tests.support.fixtures.system import System

LOGBOOKS: tuple[list[str], ...] = ([], ["ops"], ["rf"], ["ops", "rf"])
READERS: tuple[list[str] | None, ...] = (
    *(None, [], ["anna"], ["shift"]),
    *(["ben"], ["*"], ["-"], ["ben", "anna"]),
)
AT = datetime(2026, 3, 1, tzinfo=UTC)
# In seconds from now.
VISIBLE_FROM = (None, -1, 0, 3600)
ENTRIES = list(product(LOGBOOKS, READERS, VISIBLE_FROM))
CALLERS = (
    Scope("default", "anna", ("shift",)),
    Scope("default", "anna", ("shift",), logbooks=("ops",)),
    Scope("default", "anna", logbooks=()),
    # Marks of everybody and nobody name no caller.
    Scope("default", "*", ("-",)),
)
# What is told of one entry, behind its address.
OF_ONE = ("", "/thread", "/revisions")
JUDGED = """
    SELECT e.number
      FROM (SELECT number, logbooks::text[], readers::text[],
                   now() + make_interval(secs => seconds) AS visible_from
              FROM jsonb_to_recordset(%(entries)s::jsonb)
                   AS one (number int, logbooks text[], readers text[], seconds float8)
           ) AS e
     WHERE true"""


@pytest.mark.parametrize("scope", CALLERS, ids=["anna", "of ops", "of none", "marks"])
def test_an_entry_is_seen_or_unseen_by_logbooks_readers_and_time(database, scope):
    rows = [
        {"number": number, "logbooks": books, "readers": readers, "seconds": seconds}
        for number, (books, readers, seconds) in enumerate(ENTRIES)
    ]
    given: dict[str, Any] = {**scope.params, "entries": Jsonb(rows)}
    with psycopg.connect(database) as conn:

        def those(condition: str) -> list[int]:
            statement = f"{JUDGED} {condition} ORDER BY e.number"
            return [number for (number,) in conn.execute(statement, given)]

        seen, unseen = those(rights.SEEN), those(rights.unseen("e"))

    names = {scope.subject, *scope.groups} - {"*", "-"}
    expected = [
        number
        for number, (books, readers, seconds) in enumerate(ENTRIES)
        if (scope.logbooks is None or {*books} & {*scope.logbooks})
        and (readers is None or names & {*readers})
        and (seconds is None or seconds <= 0)
    ]
    assert seen == expected
    assert sorted([*seen, *unseen]) == list(range(len(ENTRIES)))


def test_whether_a_word_is_misspelt_is_told_by_no_entry_that_is_hidden(asking):
    def write(name: str, text: str, **rights: Any) -> None:
        asking.write(EntryDraft("api", name, text, entry_time=AT, **rights))

    write("A", "Klystron 3 tripped")
    write("B", "Pump runs")

    def told(query: str, who: Scope = ANNA) -> tuple[list[str], list[str]]:
        answer = asking.ask(query, who)
        notes = [one["message"] for one in answer["diagnostics"]]
        return [one["external_id"] for one in answer["results"]], notes

    questions = ("klystran", "klystran pump", "what did the klystran do?")
    before = [told(one) for one in questions]
    assert all("A" in found for found, _ in before)
    write("C", "klystran", readers=("ben",))

    assert told("klystran", BEN) == (["C"], [])
    assert [told(one) for one in questions] == before


@pytest.mark.requirement("SEC2")
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_word_is_near_to_none_that_only_hidden_entries_have(asking, mode):
    asking.write(EntryDraft("api", "A", "Pump 8 runs", entry_time=AT))

    def told(query: str, who: Scope = ANNA) -> Any:
        answer = asking.ask(query, who, mode=mode)
        found = [one["external_id"] for one in answer["results"]]
        return found, answer["diagnostics"], answer["thresholds_applied"]

    questions = ("undulater", "undulater 8", "undulater pump", "when did undulater 8")
    before = [told(one) for one in questions]
    hidden = EntryDraft("api", "C", "Undulator 8", entry_time=AT, readers=("ben",))
    asking.write(hidden)

    assert "undulator" in repr(told("undulater", BEN))
    assert [told(one) for one in questions] == before


def test_a_misspelt_word_is_named_in_a_form_that_the_caller_can_read(asking):
    asking.write(EntryDraft("api", "A", "The klystron tripped", entry_time=AT))
    asking.write(EntryDraft("api", "C", "Two klystrons here", readers=("ben",)))

    def told(who: Scope) -> str:
        notes = asking.ask("klystrans", who)["diagnostics"]
        return " ".join(one["message"] for one in notes)

    assert "klystrons" in told(BEN)
    assert "klystron" in told(ANNA)
    assert "klystrons" not in told(ANNA)


def test_no_hit_is_in_a_thread_of_which_the_caller_sees_no_other(asking):
    asking.write(EntryDraft("api", "A", "Klystron 3 tripped", entry_time=AT))
    asking.write(EntryDraft("api", "R", "Yes", reply_to="A", readers=("ben",)))

    def hits(query: str, who: Scope, **fields: Any) -> list[tuple[str, str | None]]:
        found = asking.ask(query, who, **fields)["results"]
        return [(one["external_id"], one["thread_id"]) for one in found]

    ((_, thread),) = hits("klystron", BEN)
    assert thread is not None
    assert hits("klystron", ANNA) == [("A", None)]
    within = {"filters": {"thread_id": {"in": [thread]}}}
    outside = {"filters": {"thread_id": {"not": [thread]}}}
    assert hits("klystron", BEN, **within) == [("A", thread)]
    assert hits("klystron", BEN, **outside) == []
    assert hits("klystron", ANNA, **within) == []
    assert hits("klystron", ANNA, **outside) == [("A", None)]


@pytest.mark.requirement("SEC2")
def test_a_thread_is_called_by_the_first_of_its_entries_that_the_caller_sees(asking):
    hidden = EntryDraft("api", "H", "Klystron 3 off", entry_time=AT, readers=("ben",))
    ids = asking.write(
        hidden,
        EntryDraft("api", "A", "Klystron 3 tripped", entry_time=AT, reply_to="H"),
        EntryDraft("api", "B", "Klystron 3 is back", entry_time=AT, reply_to="A"),
    )

    def named(who: Scope, **fields: Any) -> dict[str, str | None]:
        found = asking.ask("klystron", who, **fields)["results"]
        return {one["external_id"]: one["thread_id"] for one in found}

    first, second = str(ids["H"]), str(ids["A"])
    assert named(BEN) == {"H": first, "A": first, "B": first}
    assert named(ANNA) == {"A": second, "B": second}
    for of, found in ((first, {}), (second, named(ANNA)), (str(ids["B"]), named(ANNA))):
        assert named(ANNA, filters={"thread_id": {"in": [of]}}) == found
        others = named(ANNA, filters={"thread_id": {"not": [of]}})
        assert others == ({} if found else named(ANNA))
    told = asking.answer_with_cards("Why did klystron 3 trip?")
    assert f"thread:{second}" in [one.card_id for one in told.cards]
    assert first not in repr(told)


def test_an_entry_with_hidden_replies_alone_is_read_as_one_that_stands_alone(
    api: System, tenant: str
) -> None:
    def client_of(scope: str, subject: str) -> httpx2.Client:
        scopes = (scope, "read")
        return api.client(api.key(tenant=tenant, scopes=scopes, subject=subject))

    with client_of("ingest", "anna") as anna, client_of("ingest", "ben") as ben:
        parent = {"external_id": "A", "text": "RF trip", "logbook": "Ops"}
        entry_id = anna.post("/v1/entries", json=parent).json()["entry_id"]
        paths = (
            *(f"/v1/entries/{entry_id}", f"/v1/entries/{entry_id}/thread"),
            *(f"/v1/threads/{entry_id}", "/v1/entries", "/e/api/A"),
        )

        def read(client: httpx2.Client) -> list[tuple[int, Any]]:
            answers = [client.get(path) for path in paths]
            return [(one.status_code, _without_ids(one.json())) for one in answers]

        before = read(anna)
        hidden = {"text": "Yes", "reply_to": "A", "readers": ["ben"]}
        assert ben.post("/v1/entries", json=hidden).status_code == 201
        assert read(anna) == before
        assert ben.get(f"/v1/threads/{entry_id}").status_code == 200
        assert ben.get(paths[0]).json()["thread_id"] == entry_id


@pytest.mark.requirement("SEC2")
def test_no_route_tells_the_id_of_a_hidden_first_entry_of_a_thread(
    api: System, tenant: str
) -> None:
    def client_of(scope: str, subject: str) -> httpx2.Client:
        scopes = (scope, "read", "search")
        return api.client(api.key(tenant=tenant, scopes=scopes, subject=subject))

    with client_of("ingest", "anna") as anna, client_of("ingest", "ben") as ben:
        drafts: tuple[dict[str, Any], ...] = (
            {"external_id": "H", "text": "RF trip", "readers": ["ben"]},
            {"external_id": "A", "text": "Reset", "kind": "incident", "reply_to": "H"},
            {"external_id": "B", "text": "Back at 05:10.", "reply_to": "A"},
        )
        hidden, first, second = (
            ben.post("/v1/entries", json=one).json()["entry_id"] for one in drafts
        )
        assert ben.get(f"/v1/entries/{second}").json()["thread_id"] == hidden
        for path in (
            *(f"/v1/entries/{one}{way}" for one in (first, second) for way in OF_ONE),
            *(f"/v1/threads/{one}" for one in (first, second)),
            *("/v1/entries", "/v1/changes", "/v1/digest", "/e/api/A", "/e/api/B"),
            *(f"/threads/{first}.json", f"/threads/{second}.json"),
        ):
            answer = anna.get(path)
            assert answer.status_code == 200, (path, answer.text)
            assert hidden not in answer.text, path
        threads = [anna.get(f"/v1/threads/{one}").json() for one in (first, second)]
        assert [one["thread_id"] for one in threads] == [first, first]
        assert [len(one["entries"]) for one in threads] == [2, 2]
        assert anna.get(f"/v1/threads/{hidden}").status_code == 404
        assert len(ben.get(f"/v1/threads/{second}").json()["entries"]) == 3


def _without_ids(body: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what each one has of its own, and the state of work."""
    error = body.get("error", {})
    for own in ("id", "request_id"):
        error.pop(own, None)
    for one in (body, *body.get("entries", ()), *body.get("items", ())):
        one.pop("stages", None)
    return body
