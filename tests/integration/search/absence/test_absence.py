"""Nothing was found: what was searched, and what came near, for each who may see it."""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local.server import Server
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.errors import OpenSearchError
from shared.postgres.pool import connection
from shared.search.absence import absence, coverage, near_misses, pending_entries
from shared.search.absence.background_count import Overtime
from shared.search.jobs import outcome
from shared.times.rfc3339 import timestamp
from shared.work import due_work as due
from shared.work import schedule
from tests.support import ended_searches
from tests.support.fixtures.asking import ANNA, BEN, ELSEWHERE, Asking, asking_of
from tests.support.fixtures.servers import copied
from tests.support.saving import add_source, save_drafts

MARCH = datetime(2026, 3, 2, 5, 31, tzinfo=UTC)
MONTH = timedelta(days=30)


def draft(name: str, text: str, **fields: Any) -> EntryDraft:
    given = {"source": "operations", "entry_time": MARCH, **fields}
    return EntryDraft(external_id=name, text=text, **given)


@pytest.fixture(scope="module")
def written(postgres: Server, template: str) -> Iterator[str]:
    """A database with these entries, which each test copies."""
    with copied(postgres, template) as address:
        with asking_of(address) as asking:
            write(asking)
        yield address.rsplit("/", 1)[1]


@pytest.fixture
def logbook(postgres: Server, written: str) -> Iterator[Asking]:
    with copied(postgres, written) as address, asking_of(address) as asking:
        yield asking


def write(asking: Asking) -> None:
    asking.write(
        draft("trip", "RF cavity 3 tripped at noon", logbooks=("rf",)),
        draft("pump", "Vacuum pump replaced", kind="maintenance"),
        draft("quiet", "Nothing of note", source="shift"),
        draft("secret", "klystron of the secret project", readers=("ben",)),
        draft("closed", "klystron nobody may read", readers=()),
        draft(
            "later", "klystron tomorrow", visible_from=datetime(2999, 1, 1, tzinfo=UTC)
        ),
    )
    asking.write(draft("theirs", "klystron elsewhere"), tenant="elsewhere")


def near(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["external_id"], one["gate"]) for one in body["coverage"]["nearest"]]


@pytest.mark.requirement("I05", "C48")
def test_an_empty_answer_says_among_what_it_looked(logbook):
    body = logbook.ask("unheardof")
    assert body["results"] == []
    assert (body["degraded"], body["answer"]) == (False, None)
    covered = body["coverage"]
    assert covered["entries_in_window"] == 3
    kinds = {one["domain"]: one["entries"] for one in covered["domains"]}
    assert kinds == {"logbook": 2, "maintenance": 1}
    assert [one["source"] for one in covered["sources"]] == ["operations", "shift"]
    said = body["context_answer"]
    assert (said["status"], said["code"]) == ("insufficient", "no_results")
    assert said["summary"] == "Nothing was found among 3 entries."


def test_an_answer_that_found_something_says_nothing_of_absence(logbook):
    body = logbook.ask("cavity")
    assert [one["external_id"] for one in body["results"]] == ["trip"]
    assert (body["relaxation"], body["context_answer"]) == (None, None)


@pytest.mark.requirement("S4-70")
def test_coverage_stands_beside_hits_by_what_the_caller_may_see(logbook, monkeypatch):
    # However busy the machine is: how long it may take is another test's.
    monkeypatch.setattr(coverage, "BESIDE_HITS_MS", 5000)
    monkeypatch.setattr(coverage, "COUNT_BESIDE_HITS_MS", 2000)
    covered = logbook.ask("cavity", filters={"source": "operations"})["coverage"]
    told = {one["domain"]: one for one in covered["domains"]}
    counts = {kind: (one["entries"], one["candidates"]) for kind, one in told.items()}
    assert counts == {"logbook": (2, 1), "maintenance": (1, 0)}
    assert all(one["ready"] for one in told.values())
    # Filters are another question each time: what passes them is not counted.
    assert covered["entries_in_window"] is None
    assert logbook.ask("cavity")["coverage"]["entries_in_window"] == 3
    ben = logbook.ask("cavity", Scope("default", "ben"))["coverage"]
    assert sum(one["entries"] for one in ben["domains"]) == 4


@pytest.mark.requirement("P10", "U21")
def test_nobody_is_told_of_what_they_may_not_see(logbook):
    """By counts, by sources and their gaps, by what came near."""
    when = {"start": "2026-03-01T00:00:00Z", "end": "2026-03-01T01:00:00Z"}
    gaps = [
        {"start": None, "end": None, "reason": "closed is listed, not found"},
        {**when, "reason": "secret is listed, not found"},
    ]
    with connection(logbook.pool) as conn:
        add_source(conn, "shift", gaps=gaps)
    filters = {"source": "shift"}
    told = {
        who.subject + who.tenant: logbook.ask("klystron", who, filters=filters)
        for who in (ANNA, BEN, ELSEWHERE)
    }
    nobody, ben, elsewhere = told.values()
    assert near(nobody) == []
    assert [one["gaps"] for one in nobody["coverage"]["sources"]] == [[when]]
    assert nobody["relaxation"] == {"count_outside": 0, "widen_to": None}
    assert near(ben) == [("secret", "filter:source")]
    assert ben["relaxation"]["count_outside"] == 1
    assert near(elsewhere) == [("theirs", "filter:source")]
    assert elsewhere["coverage"]["entries_in_window"] == 0
    assert elsewhere["coverage"]["sources"] == []
    for word in ("secret", "closed", "later", "theirs"):
        assert word not in json.dumps(nobody)


@pytest.mark.requirement("I05", "C38")
def test_what_lies_outside_of_the_interval_is_counted_and_the_nearest_named(logbook):
    given = {"date_from": "2026-03-03", "date_to": "2026-03-09"}
    body = logbook.ask("tripped", filters=given)
    assert near(body) == [("trip", "outside_window")]
    assert body["relaxation"]["count_outside"] == 1
    # From the day that was asked for back to the entry.
    assert body["relaxation"]["widen_to"]["from"] == timestamp(MARCH)
    assert body["coverage"]["entries_in_window"] == 0
    assert (
        "written from 2026-03-03 00:00 CET (03-02 23:00 UTC)"
        in (body["context_answer"]["summary"])
    )


@pytest.mark.parametrize(
    "given",
    [{"date_from": "2026-03-03"}, {"date_to": "2026-03-01"}],
    ids=["before", "after"],
)
def test_the_longer_time_that_is_named_takes_in_the_nearest(logbook, given):
    odd = MARCH + timedelta(microseconds=123_456)
    logbook.write(draft("odd", "undulator", entry_time=odd))
    ends = logbook.ask("undulator", filters=given)["relaxation"]["widen_to"]
    plan = logbook.plan("undulator", filters={"date_from": "2020"})
    # From, and before: as intervals are told everywhere.
    within = replace(plan.filters, since=ends["from"], until=ends["to"])
    plan = replace(plan, filters=within)
    found = logbook.answer(plan, logbook.carried_out(plan))["results"]
    assert [one["external_id"] for one in found] == ["odd"]
    # An end that was open is open: never narrower than what was asked for.
    assert [ends["from"] is None, ends["to"] is None] == [
        "date_from" not in given,
        "date_to" not in given,
    ]
    assert all(end is None or end.endswith("Z") for end in ends.values())


def test_of_what_filters_keep_out_the_nearest_is_named_first(logbook):
    aside = "Long report of a quiet day. " * 40
    for day, text in enumerate(
        ("Goniometer stuck", *(f"{aside} Goniometer parked {n}" for n in range(4)))
    ):
        moment = MARCH + timedelta(day)
        logbook.write(draft(f"g{day}", text, entry_time=moment, kind="maintenance"))
    body = logbook.ask("goniometer", filters={"kind": "incident"})
    assert near(body)[0] == ("g0", "filter:kind")
    assert len(near(body)) == near_misses.MOST


def test_what_scored_too_low_came_near(logbook):
    plan = logbook.plan("cavity tripped")
    strict = logbook.plan("cavity tripped", ordering={"min_relevance_score": 1.0})
    score = logbook.answer(plan, logbook.carried_out(plan))["results"][0]
    body = logbook.answer(strict, logbook.carried_out(strict))
    (one,) = body["coverage"]["nearest"]
    assert (one["external_id"], one["gate"], one["limit"]) == (
        "trip",
        "below_min_relevance",
        1.0,
    )
    assert one["value"] == pytest.approx(score["relevance_score"])
    assert body["context_answer"]["code"] == "below_threshold"


def test_what_is_too_far_in_meaning_came_near(logbook):
    given = {"similarity_threshold": 0.999}
    body = logbook.ask("cavity tripping", mode="semantic", ordering=given)
    assert body["results"] == []
    gates = {gate for _, gate in near(body)}
    assert gates == {"below_similarity"}
    assert all(o["value"] < 0.999 == o["limit"] for o in body["coverage"]["nearest"])


@pytest.mark.requirement("I05")
def test_a_lagging_source_and_half_a_backfill_are_unknown(logbook):
    with connection(logbook.pool) as conn:
        add_source(conn, "operations", loaded=MONTH, behind=timedelta(minutes=38))
        conn.execute(
            "INSERT INTO source_schedule (source, kind, every_seconds)"
            " VALUES ('operations', 'backfill', 60)"
        )
    body = logbook.ask("unheardof")
    why = [(o["why"], o["from"] is None) for o in body["coverage"]["unknown"]]
    assert why == [("history", True), ("lag", False)]
    said = body["context_answer"]
    assert said["code"] == "source_lagging"
    assert "operations is 38 min behind" in said["summary"]
    assert "operations is not loaded to" in said["summary"]
    # Whoever asks for another source is told nothing of this one.
    other = logbook.ask("unheardof", filters={"source": "shift"})
    assert other["coverage"]["unknown"] == []
    elsewhere = logbook.ask("unheardof", ELSEWHERE)
    assert "operations is" not in json.dumps(elsewhere)


@pytest.mark.requirement("I05")
def test_a_history_that_is_loaded_is_not_called_on_its_way(logbook):
    with connection(logbook.pool) as conn:
        add_source(conn, "operations", loaded=MONTH, behind=timedelta())
        # As a run leaves it that has come to its end.
        schedule.arrange_resting(conn, "operations", "backfill", every_seconds=60)
    body = logbook.ask("unheardof")
    # The moment since it was read is unknown, and nothing else.
    assert {one["why"] for one in body["coverage"]["unknown"]} <= {"lag"}
    assert "is not loaded" not in body["context_answer"]["summary"]


@pytest.mark.requirement("I05")
def test_what_waits_for_a_stage_is_counted_apart_and_may_match(logbook, monkeypatch):
    """Nobody has looked through it: it is unknown, as what a source has not brought."""
    monkeypatch.setattr(coverage, "COUNT_MS", 10_000)
    new = [
        draft("new", "klystron"),
        draft("its", "klystron", source="shift"),
        draft("bens", "klystron", readers=("ben",)),
        draft("far", "klystron", visible_from=datetime(2999, 1, 1, tzinfo=UTC)),
        draft("aside", "klystron"),
    ]
    with connection(logbook.pool) as conn:
        saved = save_drafts(conn, new, stages=["metadata"])
        aside = saved[-1]
        conn.execute("DELETE FROM work WHERE entry_id = %s", (aside,))
        conn.execute(
            "INSERT INTO quarantine (id, tenant, entry_id, stage, error)"
            " VALUES (uuidv7(), 'default', %s, 'metadata', '{}')",
            (aside,),
        )
        due.add(conn, "default", [saved[0]], ["embed:other"])
        add_source(conn, "operations", loaded=MONTH, behind=timedelta())

    def told(query: str, scope: Scope = ANNA, **fields: Any) -> tuple[int, str]:
        body = logbook.ask(query, scope, **fields)
        assert body["results"] == []
        return body["coverage"]["waiting"], body["context_answer"]["code"]

    assert told("unheardof") == (3, "source_lagging")
    assert told("unheardof", BEN) == (4, "source_lagging")
    assert told("unheardof", ELSEWHERE) == (0, "no_results")
    assert told("unheardof", filters={"source": "shift"})[0] == 1
    # What is known of none of them yet keeps none of them out.
    assert told("unheardof", filters={"system": "rf"})[0] == 3
    # By meaning another stage is what is waited for.
    far = {"similarity_threshold": 0.999}
    assert told("unheardof", mode="semantic", ordering=far)[0] == 1
    said = logbook.ask("unheardof")["context_answer"]["summary"]
    waits = "3 that were written or changed wait to be read: they may match."
    assert waits in said


def test_what_waits_and_cannot_be_counted_in_time_is_left_open(logbook, monkeypatch):
    monkeypatch.setattr(coverage, "COUNT_MS", 500)
    slower(monkeypatch, pending_entries, "_WAITING", 5)
    body = logbook.ask("unheardof")
    assert (body["coverage"]["waiting"], body["coverage"]["entries_in_window"]) == (
        None,
        3,
    )
    assert "could not be counted in time" in body["context_answer"]["summary"]


def test_one_that_waits_for_two_stages_is_one_of_the_most_that_are_counted(
    logbook, monkeypatch
):
    new = [draft(f"new-{number}", "klystron") for number in range(3)]
    plan = logbook.plan("unheardof")
    with connection(logbook.pool) as conn:
        save_drafts(conn, new, stages=["metadata", "index"])
        told = []
        for most in (4, 3, 2):
            monkeypatch.setattr(pending_entries, "MOST", most)
            waits = pending_entries.send_pending_count(
                conn, plan, ["index", "metadata"]
            )
            told.append(pending_entries.fetch_pending_count(waits))
    assert told == [3, 3, 2]


@pytest.mark.requirement("I05")
def test_a_branch_that_failed_is_named_and_not_called_empty(logbook):
    plan = logbook.plan("unheardof", mode="hybrid")
    told = logbook.carried_out(plan)
    told[1] = [outcome.make_failure("semantic", "cosine", OpenSearchError())]
    body = logbook.answer(plan, told)
    assert body["state"] == "partial"
    assert body["context_answer"]["code"] == "branches_failed"
    assert body["context_answer"]["summary"].startswith(
        "Not everything could be searched: semantic (opensearch_unavailable)."
    )


def test_what_cannot_be_counted_in_time_is_left_open(logbook, monkeypatch):
    slow = coverage._COUNTS_NARROWED.replace("count(*)", "count(pg_sleep(0.01))")
    monkeypatch.setattr(coverage, "_COUNTS_NARROWED", slow)
    monkeypatch.setattr(coverage, "COUNT_MS", 5)
    beside: list[Callable[[], None]] = []
    # Each look at the clock is a second later: a count is kept for twenty.
    seconds = itertools.count().__next__
    overtime = Overtime(len, clock=seconds, beside=beside.append)
    monkeypatch.setattr(coverage, "_counts", overtime)
    asked = {"date_from": str(MARCH - timedelta(1))}
    body = logbook.ask("unheardof", filters=asked)
    assert body["coverage"]["entries_in_window"] is None
    assert body["coverage"]["counted_seconds_ago"] is None
    assert "could not be counted in time" in body["context_answer"]["summary"]

    # Beside the answers it takes as long as it needs, for those that follow.
    beside.pop()()
    body = logbook.ask("unheardof", filters=asked)
    assert body["coverage"]["entries_in_window"] == 3
    assert body["coverage"]["counted_seconds_ago"] == 1
    assert "among 3 entries written" in body["context_answer"]["summary"]
    assert beside == []


def slower(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, seconds: float
) -> None:
    waits = f" OFFSET (SELECT 0 FROM pg_sleep({seconds}))"
    monkeypatch.setattr(module, name, getattr(module, name) + waits)


ELSEWHEN = {"date_from": "2026-03-03"}


def test_a_part_that_takes_too_long_costs_itself_alone(logbook, monkeypatch):
    slower(monkeypatch, coverage, "_STANDINGS", 5)
    body = logbook.ask("tripped", filters=ELSEWHEN)
    assert body["coverage"] is None
    assert body["relaxation"]["count_outside"] == 1


def test_the_limit_of_the_count_ends_with_the_count(logbook, monkeypatch):
    slower(monkeypatch, near_misses, "_OUTSIDE", 0.2)
    body = logbook.ask("tripped", filters=ELSEWHEN)
    assert body["coverage"]["entries_in_window"] == 0
    assert body["relaxation"]["count_outside"] == 1


def test_all_that_is_read_for_an_empty_answer_has_one_end(logbook, monkeypatch):
    """Each statement alone would be fast enough."""
    monkeypatch.setattr(ended_searches, "DEADLINE_SECONDS", 1.0)
    slower(monkeypatch, coverage, "_STANDINGS", 0.3)
    slower(monkeypatch, near_misses, "_OUTSIDE", 0.8)
    body = logbook.ask("tripped", filters=ELSEWHEN)
    assert body["coverage"]["sources"] == []
    assert body["relaxation"] is None


def test_with_little_time_left_what_came_near_is_not_looked_for(logbook, monkeypatch):
    monkeypatch.setattr(absence, "NEAR_MS", ended_searches.DEADLINE_SECONDS * 1000 + 1)
    body = logbook.ask("tripped", filters=ELSEWHEN)
    assert body["coverage"]["entries_in_window"] == 0
    assert body["relaxation"] is None


def test_only_the_newest_are_looked_through_for_one_to_be_seen(logbook, monkeypatch):
    logbook.write(
        draft("ended", "Shift ended", source="shift", entry_time=MARCH + timedelta(1)),
        draft(
            "handover",
            "klystron handed over",
            source="shift",
            readers=(),
            entry_time=MARCH + timedelta(2),
        ),
    )
    with connection(logbook.pool) as conn:
        add_source(conn, "shift")

    def lag() -> float | None:
        body = logbook.ask("unheardof", filters={"source": "shift"})
        (one,) = body["coverage"]["sources"]
        return one["lag_seconds"]

    # One that is dated in the future says nothing of how far it is behind.
    ahead = datetime(2099, 1, 1, tzinfo=UTC)
    logbook.write(draft("ahead", "vacuum pump", source="shift", entry_time=ahead))
    seen = lag()
    assert seen is not None
    since = datetime.now(UTC) - MARCH - timedelta(1)
    assert seen == pytest.approx(since.total_seconds(), abs=60)
    monkeypatch.setattr(coverage, "LOOKED_THROUGH", 1)
    assert lag() is None


@pytest.mark.parametrize(
    ("asked", "outside"),
    [
        pytest.param("klystron -author:smith", 0, id="excluded"),
        pytest.param("klystron (author:smith OR author:jones)", 1, id="any-of-two"),
        pytest.param("klystron (author:miller OR author:jones)", 0, id="others"),
    ],
)
def test_fields_of_the_question_hold_outside_of_the_filters_too(
    logbook, asked, outside
):
    logbook.write(draft("smiths", "klystron repaired", authors=("Smith",)))
    body = logbook.ask(asked, filters={"logbook": "vacuum"})
    assert body["results"] == []
    assert body["relaxation"]["count_outside"] == outside


@pytest.mark.parametrize("query", ["", "-tripped"])
def test_where_filters_alone_are_asked_for_nothing_is_said_to_match_without_them(
    logbook, query
):
    body = logbook.ask(query, filters={"date_from": "2030-01-01"})
    assert (body["results"], body["relaxation"]) == ([], None)
    assert body["context_answer"]["code"] == "no_results"
    assert "Without the filters" not in body["context_answer"]["summary"]


def test_no_longer_time_is_named_where_another_filter_keeps_out(logbook):
    given = {"source": "shift", "date_from": "2026-03-01"}
    body = logbook.ask("tripped", filters=given)
    assert body["relaxation"] == {"count_outside": 1, "widen_to": None}


def test_what_the_question_excludes_did_not_come_near(logbook):
    given = {"similarity_threshold": 0.999}
    body = logbook.ask("cavity -tripped", mode="semantic", ordering=given)
    assert {name for name, _ in near(body)} == {"pump", "quiet"}


@pytest.mark.requirement("I05")
def test_of_many_sources_none_that_is_behind_is_passed_over(logbook):
    with connection(logbook.pool) as conn:
        for n in range(100, 123):
            behind = timedelta(hours=2) if n == 122 else timedelta(seconds=20)
            add_source(conn, f"s{n}", loaded=MONTH, behind=behind)
    body = logbook.ask("unheardof")
    assert len(body["coverage"]["sources"]) == coverage.MOST_SOURCES
    assert body["coverage"]["unknown"][0]["source"] == "s122"
    said = body["context_answer"]
    assert said["code"] == "source_lagging"
    assert "s122 is 2 h behind" in said["summary"]
    assert said["summary"].endswith("And 17 more such times are unknown.")
