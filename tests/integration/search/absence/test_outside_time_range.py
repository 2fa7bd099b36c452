"""A time among the words keeps hits out; the answer says how many, and how far off."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from shared.entries.reading.read_entries import ListingPosition
from shared.errors import DatabaseQueryError
from shared.log import get_logger
from shared.search.absence import outside_time_range
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.response.job_answer import JobReader, read_answer
from shared.search.response.search_answer import SearchAnswer
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import newest
from shared.times.calendar import Clock
from shared.times.rfc3339 import timestamp
from tests.support.fixtures.asking import ANNA, BEN, Asking

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
CLOCK = Clock(NOW, "UTC")
DAY = timedelta(1)


def draft(name: str, days_ago: float, text: str, **fields: Any) -> EntryDraft:
    given = {"source": "ops", "entry_time": NOW - days_ago * DAY, **fields}
    return EntryDraft(external_id=name, text=text, **given)


@pytest.fixture
def logbook(asking: Asking) -> Asking:
    happened = {"event_time": NOW - DAY}
    asking.write(
        draft("in", 1, "klystron tripped"),
        draft("near", 3, "klystron tripped again"),
        draft("far", 30, "klystron tripped long ago"),
        draft("later", 0.1, "klystron tripped just now"),
        draft("told", 0.2, "undulator jammed the day before", **happened),
        draft("else", 2, "klystron tripped", source="shift"),
        draft("bens", 2, "klystron tripped", readers=("ben",)),
        draft("gone", 0.1, "klystron nobody", readers=()),
    )
    asking.write(draft("theirs", 2, "klystron tripped"), tenant="elsewhere")
    return asking


def plan_of(query: str, scope: Any = ANNA, **fields: Any) -> Plan:
    given = {"mode": "keyword", "filters": {"source": "ops"}, **fields}
    plan = make_plan(
        SearchQuery(query, **given), scope, PlanLimits(opensearch=False), CLOCK
    )
    return Plan.from_json(plan.to_json())


def asked(logbook: Asking, query: str, scope: Any = ANNA, **fields: Any) -> Any:
    plan = plan_of(query, scope, **fields)
    return logbook.answer(plan, logbook.carried_out(plan))


def names(body: dict[str, Any]) -> list[str]:
    return [one["external_id"] for one in body["results"]]


@pytest.mark.requirement("C38")
def test_beside_its_hits_an_answer_says_how_many_a_read_time_keeps_out(logbook):
    for mode in ("keyword", "hybrid"):
        body = asked(logbook, "klystron tripped yesterday", mode=mode)
        assert (names(body), body["time"]["inferred"]) == (["in"], True)
        # What another filter keeps out does not count: that one was meant.
        assert body["relaxation"] == {
            "count_outside": 3,
            "widen_to": {
                "from": "2026-03-09T00:00:00Z",
                "to": timestamp(NOW - 0.1 * DAY + timedelta(milliseconds=1)),
            },
        }
    # And it is reversible: without those words all of them are found.
    assert {*names(asked(logbook, "klystron tripped"))} == {
        *("in", "near", "far", "later")
    }


@pytest.mark.requirement("P10")
def test_only_what_the_caller_may_see_is_counted(logbook):
    told = asked(logbook, "klystron tripped yesterday", BEN)["relaxation"]
    assert told["count_outside"] == 4


SINCE_MARCH = {"filters": {"date_from": "2026-03-01"}}
# What is asked for, and how many lie outside; None: nobody can say.
COUNTED: list[tuple[str, dict[str, Any], int | None]] = [
    ("klystron", {}, None),
    ('klystron date:"2026-03-09"', {}, None),
    ("klystron", SINCE_MARCH, None),
    ("what happened yesterday", {}, None),
    ("klystron yesterday", {"mode": "semantic"}, None),
    ("klystron since yesterday", {}, 2),
    ("klystron yesterday and today", {}, 2),
    ("klystron -again yesterday", {}, 2),
    ("klystron unheardof yesterday", {}, 3),
    # What is given as a filter still holds.
    ("klystron yesterday", SINCE_MARCH, 3),
    # Its happening counts, and its writing does where that is what is asked for.
    ("undulator that happened yesterday", {}, 0),
    ("undulator that happened today", {}, 0),
    ("undulator that happened last week", {}, 1),
    ("undulator yesterday", {}, 1),
]


def test_what_is_counted_and_what_is_not(logbook):
    told = []
    for query, fields, _ in COUNTED:
        outside = asked(logbook, query, **fields)["relaxation"]
        told.append((query, fields, outside and outside["count_outside"]))
    assert told == COUNTED
    # Of an open time the longer one is open, too.
    ends = asked(logbook, "klystron since yesterday")["relaxation"]["widen_to"]
    assert ends == {"from": timestamp(NOW - 3 * DAY), "to": None}


def test_an_empty_answer_says_of_a_read_time_what_it_keeps_out(logbook):
    body = asked(logbook, "klystron tripped last month", filters={"source": "shift"})
    assert (names(body), body["relaxation"]["count_outside"]) == ([], 1)
    assert body["relaxation"]["widen_to"]["to"] == (
        timestamp(NOW - 2 * DAY + timedelta(milliseconds=1))
    )
    # What the caller may not see is not even counted.
    told = asked(logbook, "nobody yesterday")
    assert (names(told), told["relaxation"]["count_outside"]) == ([], 0)


def test_no_more_than_the_limit_is_counted_and_a_late_count_costs_nothing_else(
    logbook, monkeypatch
):
    monkeypatch.setattr(outside_time_range, "MOST", 2)
    told = asked(logbook, "klystron tripped yesterday")["relaxation"]
    assert told["count_outside"] == 2

    def late(*_: object) -> None:
        raise DatabaseQueryError

    monkeypatch.setattr(outside_time_range, "log", get_logger())
    monkeypatch.setattr(outside_time_range, "_counted", late)
    body = asked(logbook, "klystron tripped yesterday")
    assert (names(body), body["relaxation"]) == (["in"], None)


@pytest.mark.requirement("C38")
@pytest.mark.parametrize("mode", ["keyword", "hybrid", "semantic"])
def test_without_hits_inside_the_best_of_outside_stand_beside_the_empty_page(
    logbook, mode
):
    body = asked(logbook, "klystron tripped in January", mode=mode)
    overflow = body["overflow"]
    assert (names(body), overflow["reason"], overflow["band"]) == (
        [],
        "outside_time",
        None,
    )
    found = {one["entry_id"]: one["external_id"] for one in overflow["items"]}
    # The nearest in time is among them, and is marked.
    assert found[overflow["nearest"]] == "far"
    assert len(found) == 3
    # What other filters keep out, and what the caller may not see, is no hit.
    assert {*found.values()} <= {"in", "near", "far", "later", "told"}
    assert all("klystron" in one["content"] for one in overflow["items"][:2])
    # The page and a terminal print it as it is.
    summary = body["context_answer"]["summary"]
    assert "At other times there are hits: the best 3 are shown apart." in summary


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        # With hits inside only these are shown.
        ("klystron tripped yesterday", {}),
        ("nobody in January", {}),
        ("unheardof in January", {}),
        # A filter is meant as it is given.
        ("klystron", {"filters": {"date_to": "2020-01-01"}}),
        ("what happened in January", {}),
    ],
)
def test_nothing_stands_beside_the_page_where_nothing_is_to_be_added(
    logbook, query, fields
):
    assert asked(logbook, query, **fields)["overflow"] is None


def test_what_stands_beside_the_page_is_the_same_when_the_job_is_read_again(logbook):
    plan = plan_of("klystron tripped in January", mode="hybrid")
    stored = logbook.ended(plan)
    reader = JobReader(logbook.context, ANNA, acl_honesty=False)
    again = read_answer(reader, stored)
    assert again is not None
    assert again.overflow is not None
    direct = logbook.answer(plan, logbook.carried_out(plan))["overflow"]
    assert again.to_json()["overflow"]["items"] == direct["items"]
    assert SearchAnswer.from_values(again.to_json()).overflow == again.overflow


def test_a_date_without_a_year_is_tried_in_earlier_years_and_that_is_said(logbook):
    long_ago = {"entry_time": datetime(2024, 5, 12, 8, tzinfo=UTC)}
    longer_ago = {"entry_time": datetime(2022, 5, 12, 8, tzinfo=UTC)}
    logbook.write(
        draft("old", 0, "klystron tripped in the rain", **long_ago),
        draft("older", 0, "klystron tripped", **longer_ago),
    )
    for mode in ("keyword", "hybrid"):
        body = asked(logbook, "klystron tripped on 12 May", mode=mode)
        overflow = body["overflow"]
        assert names(body) == []
        assert [one["external_id"] for one in overflow["items"]] == ["old"]
        assert overflow["time"] == {
            "from": "2024-05-12T00:00:00Z",
            "to": "2024-05-14T00:00:00Z",
        }
        assert "In 2024, at the same time of year" in body["context_answer"]["summary"]
    # A year that is named is meant.
    body = asked(logbook, "klystron tripped on 12 May 2025")
    assert (names(body), body["overflow"]["time"]) == ([], None)
    assert body["overflow"]["items"]
    # And where no year has any, what is nearest in time stands there.
    overflow = asked(logbook, "undulator on 12 May")["overflow"]
    assert [one["external_id"] for one in overflow["items"]] == ["told"]
    assert overflow["time"] is None


def test_of_a_day_the_next_one_counts_with_it_and_stands_further_down(logbook):
    logbook.write(draft("evening", 2, "klystron tripped on Saturday evening"))
    for mode in ("keyword", "hybrid"):
        body = asked(logbook, "klystron tripped on 7 March", mode=mode)
        # `near` was written on the 7th, `evening` on the day after.
        assert names(body) == ["near", "evening"]
        first, second = body["results"]
        assert "beside_day" not in first["factors"]
        assert second["factors"]["beside_day"] == 0.8
        (applied,) = body["time"]["applied"]
        assert (applied["from"], applied["day_ends"], applied["to"]) == (
            "2026-03-07T00:00:00Z",
            "2026-03-08T00:00:00Z",
            "2026-03-09T00:00:00Z",
        )


def test_a_list_of_a_day_has_the_next_one_behind_it(logbook):
    day = datetime(1999, 3, 3, tzinfo=UTC)
    hours = {"night": 2, "evening": 20, "next": 30, "morning": 34, "far": 50}
    logbook.write(
        *(
            draft(name, 0, "beam", entry_time=day + timedelta(hours=after))
            for name, after in hours.items()
        )
    )
    query = "what happened on 3 March 1999"
    expected = ["evening", "night", "morning", "next"]
    assert names(asked(logbook, query)) == expected
    assert names(asked(logbook, query, limit=3)) == expected[:3]
    # A list in the order that was asked for is in that order.
    newest_first = ["morning", "next", "evening", "night"]
    assert names(asked(logbook, query, sort="newest")) == newest_first
    assert names(asked(logbook, query, sort="oldest")) == newest_first[::-1]
    # And the pages that follow go on where the last one ended.
    ask = replace(Ask.lasting(plan_of(query), 5.0), limit=1)
    found: list[str] = []
    after = ListingPosition()
    while rows := newest.following(ask, logbook.context, after):
        found.append(rows[0].external_id)
        after = ListingPosition(rows[0].entry_time, rows[0].id)
    assert found == expected
