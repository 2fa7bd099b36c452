"""What the facility's people approve is searched, in both engines, until rejected."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.errors import NotFoundError
from shared.glossary import glossary_terms, propose_terms, term_usage
from shared.postgres.pool import connection
from shared.search.query.glossary_expansions import Approved
from shared.search.query.plan import Plan
from shared.work import chore_records
from tests.support.fixtures.asking import ANNA, BEN, ELSEWHERE
from tests.support.fixtures.system import System
from tests.support.fixtures.workers import MakeContext
from tests.support.typed import typist
from tests.support.waiting import until
from tests.support.written import ok, push_found
from workers.tasks import chores

ENGINES = ("os_bm25", "pg_fts")
LONG = {"external_id": "long", "text": "The beam position monitor at sector two drifts"}
OTHER = {"external_id": "other", "text": "A position on the beam monitor committee"}
PATH = "/v1/glossary"


@pytest.fixture
def searcher(api: System, tenant: str) -> Iterator[httpx2.Client]:
    """Somebody of the facility who may search, and no more."""
    with api.client(api.key(tenant=tenant, scopes=("search",))) as client:
        yield client


@pytest.fixture
def decider(api: System, tenant: str) -> Iterator[httpx2.Client]:
    """An admin of that facility."""
    with api.client(api.key(tenant=tenant, scopes=("admin",))) as client:
        yield client


def asked(client: httpx2.Client, query: str, **fields: Any) -> dict[str, Any]:
    body = {"query": query, "mode": "keyword", **fields}
    return ok(client.post("/v1/search/query", json=body))


def found_by(client: httpx2.Client, query: str, engine: str) -> list[str]:
    results = asked(client, query, modules=[engine])["results"]
    return [one["external_id"] for one in results]


def proposed(client: httpx2.Client, term: str, *forms: str) -> dict[str, Any]:
    return ok(client.post(f"{PATH}/{term}", json={"expansions": list(forms)}))


@pytest.mark.requirement("I20", "S4-01")
def test_a_term_is_searched_as_what_was_approved_and_not_before_nor_after(
    client: httpx2.Client, admin: httpx2.Client
) -> None:
    searcher = client
    push_found(client, [LONG, OTHER])

    told = proposed(searcher, "BPM", "beam position monitor")
    assert (told["term"], told["state"]) == ("BPM", "proposed")
    assert told["expansions"] == ["beam position monitor"]
    for engine in ENGINES:
        assert found_by(searcher, "BPM", engine) == []

    approved = admin.post(f"{PATH}/bpm/approve")
    assert approved.json() == {**told, "state": "approved"}
    for engine in ENGINES:
        # As a phrase; in quotes and behind a minus it is itself.
        assert found_by(searcher, "BPM", engine) == ["long"]
        assert found_by(searcher, '"BPM"', engine) == []
        assert found_by(searcher, "drifts -BPM", engine) == ["long"]
    body = asked(searcher, "BPM drifts", debug=True)
    (note,) = [one for one in body["diagnostics"] if one["code"] == "terms_expanded"]
    assert note["message"].endswith("`BPM` as beam position monitor.")
    ways = {one["word"]: one for one in body["plan"]["terms"]}
    assert ways["BPM"]["how"] == "glossary"
    assert ways["BPM"]["terms"] == ["bpm", "beam posit monitor"]

    rejected = admin.post(f"{PATH}/BPM/reject")
    assert rejected.json()["state"] == "rejected"
    for engine in ENGINES:
        assert found_by(searcher, "BPM", engine) == []
    assert asked(searcher, "BPM")["diagnostics"] == []


@pytest.mark.requirement("I20")
def test_a_plan_has_of_what_is_approved_what_its_words_may_mean(asking: Any) -> None:
    asking.write(EntryDraft("api", "long", LONG["text"]))
    asking.write(EntryDraft("api", "other", OTHER["text"]))

    def answered(query: str, **fields: Any) -> dict[str, Any]:
        with connection(asking.pool) as conn:
            approved = Approved(glossary_terms.list_approved(conn, "default"))
        plan = asking.plan(query, **fields)
        words = replace(plan.words, glossary=approved.asked(plan.tree))
        plan = replace(plan, words=words)
        # As it travels.
        plan = Plan.from_json(plan.to_json())
        body = asking.answer(plan, asking.carried_out(plan))
        return {**body, "glossary": plan.words.glossary}

    def names(query: str) -> list[str]:
        return [one["external_id"] for one in answered(query)["results"]]

    with connection(asking.pool) as conn:
        glossary_terms.propose(conn, "default", "BPM", ["beam position monitor"])
        glossary_terms.propose(conn, "elsewhere", "BPM", ["beam committee"])
        glossary_terms.decide(conn, ELSEWHERE, "BPM", "approved", None)
    assert names("BPM") == []

    with connection(asking.pool) as conn:
        assert glossary_terms.decide(conn, ANNA, "bpm", "approved", None)
        assert glossary_terms.decide(conn, ANNA, "bpm", "approved", None) == []
    assert names("BPM drifts") == ["long"]
    assert (names('"BPM"'), names("drifts -BPM")) == ([], ["long"])
    body = answered("BPM drifts", debug=True)
    assert body["glossary"] == (("BPM", "beam position monitor"),)
    (note,) = [one for one in body["diagnostics"] if one["code"] == "terms_expanded"]
    assert note["message"].endswith("`BPM` as beam position monitor.")
    ways = {one["word"]: one for one in body["plan"]["terms"]}
    assert (ways["BPM"]["how"], ways["BPM"]["terms"]) == (
        "glossary",
        ["bpm", "beam posit monitor"],
    )
    assert answered("committee")["glossary"] == ()

    with connection(asking.pool) as conn:
        glossary_terms.decide(conn, ANNA, "BPM", "rejected", None)
    assert names("BPM") == []


@pytest.mark.requirement("I20")
def test_only_named_expansions_are_decided_and_a_rejected_one_stays_so_unnamed(
    searcher: httpx2.Client, decider: httpx2.Client
) -> None:
    proposed(searcher, "RF", "radio frequency", "reference frame")
    named = {"expansion": "Reference  Frame"}
    assert decider.post(f"{PATH}/RF/reject", params=named).json()["expansions"] == [
        "reference frame"
    ]
    assert decider.post(f"{PATH}/RF/approve").json()["expansions"] == [
        "radio frequency"
    ]
    again = decider.post(f"{PATH}/RF/approve")
    assert again.json()["expansions"] == ["radio frequency"]

    listed = searcher.get(PATH).json()["items"]
    assert [(one["state"], one["expansions"]) for one in listed] == [
        ("approved", ["radio frequency"]),
        ("rejected", ["reference frame"]),
    ]
    only = searcher.get(PATH, params={"state": "rejected"}).json()["items"]
    assert only == listed[1:]

    decider.post(f"{PATH}/RF/reject")
    refused = decider.post(f"{PATH}/RF/approve")
    assert (refused.status_code, refused.json()["error"]["code"]) == (
        422,
        "validation_failed",
    )
    both = {"expansion": ["radio frequency", "reference frame"]}
    back = decider.post(f"{PATH}/RF/approve", params=both)
    assert back.json()["expansions"] == ["radio frequency", "reference frame"]


def test_pages_have_each_term_once_and_another_facility_has_none(searcher, api) -> None:
    # The longest that there may be; folded, the last one is longer still.
    letters = ("\u043f", "\u4e2d", "\U00020000", "\ud55c" * 49 + " ")
    terms = [f"T{n}/x" for n in range(4)] + [(one * 100)[:100] for one in letters]
    for term in terms:
        proposed(searcher, term, "some words")
    whole = [one["term"] for one in searcher.get(PATH).json()["items"]]
    assert len(whole) == 8
    for limit in (1, 2):
        seen, given = [], {"limit": limit}
        while True:
            page = searcher.get(PATH, params=given).json()
            seen += [one["term"] for one in page["items"]]
            if page["next_cursor"] is None:
                break
            given["cursor"] = page["next_cursor"]
        assert seen == whole
    with api.client(api.key(tenant="elsewhere", scopes=("admin",))) as other:
        assert other.post(f"{PATH}/T1/x/approve").status_code == 404


def test_a_page_behind_a_term_that_is_gone_begins_anew(searcher, api, tenant) -> None:
    for number in range(3):
        proposed(searcher, f"T{number}", "some words")
    given = {"limit": 1}
    given["cursor"] = searcher.get(PATH, params=given).json()["next_cursor"]
    with psycopg.connect(api.database) as conn:
        conn.execute(
            "DELETE FROM glossary_form WHERE tenant = %s AND term = 'T0'", (tenant,)
        )

    refused = searcher.get(PATH, params=given)

    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "bad_cursor"


@pytest.mark.parametrize(
    ("term", "forms", "code"),
    [
        ("BPM", ["bpm"], "same_as_term"),
        ("BPM", ["--"], "no_letters"),
        ("--", ["x"], "no_letters"),
        ("BPM", [f"form {n}" for n in range(21)], "too_long"),
    ],
)
def test_what_says_nothing_is_refused(searcher, term, forms, code) -> None:
    answer = searcher.post(f"{PATH}/{term}", json={"expansions": forms})
    assert answer.status_code == 422
    (field,) = answer.json()["error"]["details"]["fields"]
    assert field["code"] == code


def test_a_term_has_no_more_approved_expansions_than_the_limit(searcher, decider):
    proposed(searcher, "X1", *(f"form {n}" for n in range(20)))
    assert len(decider.post(f"{PATH}/X1/approve").json()["expansions"]) == 20
    proposed(searcher, "X1", "one more")
    answer = decider.post(f"{PATH}/X1/approve")
    (field,) = answer.json()["error"]["details"]["fields"]
    assert (answer.status_code, field["code"]) == (422, "too_many")


def test_terms_are_proposed_listed_and_decided_from_the_command_line(
    api: System, tenant: str, tmp_path: Path
) -> None:
    run = typist(api, tmp_path, api.key(tenant=tenant, scopes=("admin",)))
    for words, told in (
        ("propose I/O,input and output", "I/O  proposed  input and output"),
        ("approve I/O", "I/O  approved  input and output"),
        ("list --state=approved", "I/O  approved  input and output"),
        ("reject I/O,input and output", "I/O  rejected  input and output"),
        ("list", "I/O  rejected  input and output"),
    ):
        command, *rest = words.split(" ", 1)
        ended = run(
            "glossary", command, *(one for one in " ".join(rest).split(",") if one)
        )
        assert (ended.returncode, ended.stdout) == (0, f"{told}\n"), ended.stderr
    empty = run("glossary", "list", "--state", "proposed")
    assert (empty.stdout, empty.returncode) == ("", 0)
    assert "There are no such terms." in empty.stderr


@pytest.fixture
def mine(make_context: MakeContext) -> Callable[[], None]:
    """Carry the chore out, with all that was written before it."""
    ctx = make_context()

    def run() -> None:
        with connection(ctx.pool) as conn:
            last = conn.execute("SELECT pg_current_xact_id()").fetchone()
        # Others of this server may have begun before.
        until(lambda: ended(last), within_seconds=30)
        with connection(ctx.pool) as conn:
            chore_records.open_chore(conn, chore_records.MINE_GLOSSARY)
        chores.mine_glossary(ctx)
        with connection(ctx.pool) as conn:
            assert chore_records.list_unfinished(conn) == []

    def ended(last: Any) -> bool:
        with connection(ctx.pool) as conn:
            row = conn.execute(
                "SELECT pg_snapshot_xmin(pg_current_snapshot()) > %s::text::xid8", last
            ).fetchone()
        return bool(row and row[0])

    return run


def listed(asking: Any, scope: Scope = ANNA) -> list[tuple[Any, ...]]:
    with connection(asking.pool) as conn:
        return [
            (one.term, one.state, one.forms, one.entries, one.evidence)
            for one in term_usage.page(conn, scope, limit=10)
        ]


@pytest.mark.requirement("I20")
def test_what_entries_explain_is_proposed_once_and_to_who_may_see_one(asking, mine):
    text = "Reset.\nThe beam position monitor (BPM) and the fast interlock loop (RF)"
    asking.write(
        EntryDraft("api", "open", text),
        EntryDraft("api", "closed", "Secret new device (SND)", readers=("ben",)),
        EntryDraft("api", "both", "Beam Position Monitor (BPM)", readers=("ben",)),
    )
    asking.write(EntryDraft("api", "theirs", "fast orbit (FO)"), tenant="elsewhere")
    mine()
    mine()

    ((term, state, forms, entries, (said,)),) = listed(asking)
    assert (term, state, forms, entries) == (
        *("BPM", "proposed"),
        *(("beam position monitor",), 1),
    )
    assert (said.external_id, said.form) == ("open", "beam position monitor")
    assert "beam position monitor (BPM) and" in said.quote
    assert [one[:4] for one in listed(asking, BEN)] == [
        ("BPM", "proposed", ("beam position monitor",), 2),
        ("SND", "proposed", ("Secret new device",), 1),
    ]
    assert [one[0] for one in listed(asking, ELSEWHERE)] == ["FO"]

    with connection(asking.pool) as conn:
        with pytest.raises(NotFoundError):
            glossary_terms.decide(conn, ANNA, "SND", "approved", None)
        assert glossary_terms.list_approved(conn, "default") == ()
        glossary_terms.decide(conn, BEN, "SND", "rejected", None)
        glossary_terms.decide(conn, ANNA, "BPM", "approved", None)
    mine()
    assert [one[:2] for one in listed(asking)] == [("BPM", "approved")]
    assert [one[:2] for one in listed(asking, BEN)] == [
        ("BPM", "approved"),
        ("SND", "rejected"),
    ]


@pytest.mark.requirement("I20")
def test_what_no_entry_says_any_more_is_told_to_nobody_and_goes(asking, mine) -> None:
    asking.write(EntryDraft("api", "one", "A low level loop (LLL) tripped"))
    mine()
    assert [one[0] for one in listed(asking)] == ["LLL"]
    asking.write(EntryDraft("api", "one", "A loop tripped"))
    assert listed(asking) == []
    mine()
    with connection(asking.pool) as conn:
        assert conn.execute("SELECT count(*) FROM glossary_form").fetchone() == (0,)


def test_pages_of_many_entries_are_all_read(asking, mine, monkeypatch) -> None:
    monkeypatch.setattr(propose_terms, "STEP_ENTRIES", 2)
    asking.write(*(EntryDraft("api", f"{n}", "fast orbit (FO)") for n in range(5)))
    mine()
    ((*_, entries, evidence),) = listed(asking)
    assert (entries, len(evidence)) == (5, term_usage.MOST_QUOTED)
