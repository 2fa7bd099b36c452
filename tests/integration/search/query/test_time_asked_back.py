"""A question whose time comes twice: both are searched, and which is meant is asked."""

from datetime import UTC, datetime

import pytest

from shared.entries.draft import EntryDraft
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.times.calendar import Clock
from tests.support.fixtures.asking import ANNA

# The morning after clocks went back at 03:00 in Zurich, which is 01:00 in UTC.
CLOCK = Clock(datetime(2024, 10, 27, 8, tzinfo=UTC), "Europe/Zurich")


def draft(hour: int, minute: int) -> EntryDraft:
    at = datetime(2024, 10, 27, hour, minute, tzinfo=UTC)
    return EntryDraft("api", f"{hour:02}{minute:02}", "klystron trip", entry_time=at)


@pytest.mark.requirement("I02")
@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_both_times_are_found_and_the_answer_asks_which_is_meant(asking, mode):
    asking.write(*(draft(hour, minute) for hour in (0, 1) for minute in (5, 30, 55)))
    question = SearchQuery("klystron trip around 02:30 +-10 min", mode=mode)
    plan = make_plan(question, ANNA, PlanLimits(opensearch=False), CLOCK)

    body = asking.answer(plan, asking.carried_out(plan))

    assert sorted(one["external_id"] for one in body["results"]) == ["0030", "0130"]
    assert [
        (one["from"][11:16], one["to"][11:16]) for one in body["time"]["applied"]
    ] == [("00:20", "00:40"), ("01:20", "01:40")]
    said = body["context_answer"]
    assert (said["status"], said["code"]) == ("clarify", "ambiguous_time")
    (asked,) = said["questions"]
    assert "02:20 CEST (00:20 UTC)" in asked
    assert "02:20 CET (01:20 UTC)" in asked


@pytest.mark.requirement("I02")
def test_where_neither_time_has_anything_it_is_asked_as_well(asking):
    asking.write(draft(5, 0))
    question = SearchQuery("klystron around 02:30 +-10 min", mode="keyword")
    plan = make_plan(question, ANNA, PlanLimits(opensearch=False), CLOCK)

    said = asking.answer(plan, asking.carried_out(plan))["context_answer"]

    assert said["status"] == "insufficient"
    assert len(said["questions"]) == 1


@pytest.mark.requirement("S2-20")
@pytest.mark.parametrize(
    ("asked", "is_applied"),
    [
        ({"query": "klystron trip"}, False),
        ({"query": "klystron trip on 26 October 2024"}, True),
        ({"query": "klystron trip", "filters": {"date_from": "2024-10-27"}}, True),
    ],
    ids=["no time", "in words", "as a filter"],
)
def test_an_answer_says_whether_a_time_was_applied(asking, asked, is_applied):
    # The day after a named one counts in.
    before = datetime(2024, 10, 24, 12, tzinfo=UTC)
    asking.write(
        draft(5, 0), EntryDraft("api", "before", "klystron trip", entry_time=before)
    )
    plan = make_plan(
        SearchQuery(mode="keyword", **asked), ANNA, PlanLimits(opensearch=False), CLOCK
    )

    body = asking.answer(plan, asking.carried_out(plan))

    assert body["time_range_applied"] is is_applied
    assert len(body["results"]) == (1 if is_applied else 2)
