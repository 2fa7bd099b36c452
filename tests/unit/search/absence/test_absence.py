"""What an empty answer says: how much was searched, and what is unknown."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.access.scope import Scope
from shared.entries.reading.filter_sql import NARROWED
from shared.search.absence import absence, coverage, pending_entries
from shared.search.absence.background_count import AgedCount
from shared.search.absence.coverage import (
    Coverage,
    SourceCompleteness,
    Unknown,
    list_unknown_times,
)
from shared.search.absence.near_misses import NearMisses
from shared.search.jobs.outcome import Outcome
from shared.search.query.compiled.compiled_question import NOTHING_ASKED
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.ranking.ranked_hits import RankedHits, Suppressed
from shared.search.response import response_parts
from shared.search.results.conclude import Conclusion
from shared.search.results.highlights import Highlighter
from shared.times.calendar import Clock
from tests.support.ended_searches import unasked

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LIVE = SourceCompleteness(
    source="operations",
    complete_from=NOW - 1000 * HOUR,
    complete_to=NOW - timedelta(seconds=20),
    gaps=[],
    is_loading=False,
    newest=NOW - HOUR,
    now=NOW,
)
EMPTY = Outcome("os_bm25", "empty", "bm25")
DOWN = Outcome("os_bm25", "error", "bm25", error_code="opensearch_unavailable")
FOUND_NOTHING = Conclusion("done", (EMPTY,), RankedHits(), degraded=False)
PLAN = make_plan(
    SearchQuery("klystron", mode="keyword", filters={"date_from": "2026-03-01"}),
    Scope("default", "anna"),
    PlanLimits(),
    Clock(now=NOW, zone="Europe/Berlin"),
)


def covered(
    *standings: SourceCompleteness, entries: int = 12, age: float = 0.0
) -> Coverage:
    found = [one for s in standings for one in list_unknown_times(s, None, None)]
    counted = AgedCount({("operations", "logbook"): entries}, age)
    return Coverage(counted, standings, tuple(found))


def told(
    conclusion: Conclusion = FOUND_NOTHING, *standings: SourceCompleteness
) -> tuple[str, str]:
    near = NearMisses()
    said = absence.build_absence(
        PLAN, conclusion, covered(*standings), near
    ).context_answer
    assert said is not None
    return said["code"], said["summary"]


def spans(
    standing: SourceCompleteness, since: datetime | None, until: datetime | None
) -> list[tuple[str, datetime | None, datetime | None]]:
    return [
        (o.why, o.since, o.until) for o in list_unknown_times(standing, since, until)
    ]


@pytest.mark.requirement("I05")
def test_what_a_lagging_source_has_not_brought_is_unknown() -> None:
    late = replace(LIVE, complete_to=NOW - timedelta(minutes=38))
    assert spans(late, NOW - HOUR, None) == [("lag", late.complete_to, NOW)]
    assert spans(late, None, NOW - HOUR) == []
    code, summary = told(FOUND_NOTHING, late)
    assert code == "source_lagging"
    assert "operations is 38 min behind: from 2026-03-05 12:22 CET" in summary


@pytest.mark.requirement("I05")
def test_what_half_a_backfill_has_not_reached_is_unknown() -> None:
    half = replace(LIVE, complete_from=NOW - 10 * HOUR, is_loading=True)
    assert spans(half, None, NOW - HOUR) == [("history", None, half.complete_from)]
    asked = (NOW - 20 * HOUR, NOW - 15 * HOUR)
    assert spans(half, *asked) == [("history", *asked)]
    code, summary = told(FOUND_NOTHING, half)
    assert code == "source_lagging"
    assert "operations is not loaded to 2026-03-05 03:00 CET" in summary


def test_before_the_beginning_of_a_source_nothing_is_unknown() -> None:
    begins = datetime(1990, 1, 1, tzinfo=UTC)
    whole = replace(LIVE, complete_from=begins, is_loading=True)
    before = (datetime(1980, 1, 1, tzinfo=UTC), datetime(1985, 1, 1, tzinfo=UTC))
    assert spans(whole, None, NOW - HOUR) == []
    assert spans(whole, *before) == []
    found = covered(whole)
    assert not found.ends_before_any_source(before[1].isoformat(), ())
    assert [one["is_whole"] for one in found.body()["sources"]] == [True]
    code, summary = told(FOUND_NOTHING, whole)
    assert (code, "is not loaded" in summary) == ("absence_covered", False)


def test_a_source_that_was_never_read_says_nothing_of_any_time() -> None:
    new = replace(LIVE, complete_from=None, complete_to=None, is_loading=True)
    assert spans(new, None, None) == [("history", None, NOW)]


def test_a_gap_is_unknown_where_it_was_asked_for() -> None:
    at = (NOW - 5 * HOUR, NOW - 4 * HOUR)
    gap = {"start": at[0].isoformat(), "end": at[1].isoformat(), "reason": "404"}
    holed = replace(LIVE, gaps=[gap])
    assert spans(holed, NOW - 6 * HOUR, NOW - 3 * HOUR) == [("gap", *at)]
    assert spans(holed, NOW - 3 * HOUR, NOW - 2 * HOUR) == []


def test_where_all_is_known_there_is_nothing() -> None:
    code, summary = told(FOUND_NOTHING, LIVE)
    assert code == "absence_covered"
    assert "Nothing was found among 12 entries written from 2026-03-01 00:00 CET" in (
        summary
    )
    # Facility time first, UTC beside it.
    assert "(02-28 23:00 UTC)" in summary


@pytest.mark.requirement("I05")
def test_what_could_not_be_searched_is_never_said_to_be_empty() -> None:
    partial = Conclusion("partial", (DOWN,), RankedHits(), degraded=True)
    code, summary = told(partial, LIVE)
    assert code == "branches_failed"
    assert summary.startswith(
        "Not everything could be searched: os_bm25 (opensearch_unavailable)."
    )
    instead = Outcome("pg_fts", "empty", "ts_rank", fallback_for="os_bm25")
    whole = Conclusion("done", (DOWN, instead), RankedHits(), degraded=True)
    assert told(whole, LIVE)[0] == "absence_covered"


@pytest.mark.parametrize(
    ("branch", "code", "summary"),
    [
        (
            Outcome("semantic", "skipped", "cosine", reason="language"),
            "branches_failed",
            "Nothing could be searched: semantic (its model does not know the language",
        ),
        (
            Outcome("os_bm25", "skipped", "bm25", reason="empty_query"),
            "empty_query",
            "Nothing could be searched: os_bm25 (there is no word in the question).",
        ),
    ],
)
def test_a_search_whose_only_branch_was_skipped_is_not_said_to_find_nothing(
    branch: Outcome, code: str, summary: str
) -> None:
    alone = replace(FOUND_NOTHING, branches=(branch,))
    told_code, told_summary = told(alone, LIVE)
    assert told_code == code
    assert told_summary.startswith(summary)
    assert "was found" not in told_summary
    # Beside one that has searched, nothing was found.
    beside = replace(FOUND_NOTHING, branches=(EMPTY, branch))
    assert told(beside, LIVE)[0] == "absence_covered"


def test_what_scored_too_low_is_told() -> None:
    order = RankedHits(suppressed=Suppressed(2, 0.47, 0.5))
    code, summary = told(replace(FOUND_NOTHING, order=order), LIVE)
    assert code == "below_threshold"
    assert "2 scored below 0.50, the best 0.47." in summary


def test_an_older_count_is_told_with_its_age() -> None:
    for age, told_age in ((59.9, ""), (240.0, ", as counted 4 min ago")):
        last = covered(LIVE, age=age)
        said = absence.build_absence(PLAN, FOUND_NOTHING, last, NearMisses())
        assert said.context_answer is not None
        assert f" UTC){told_age}." in said.context_answer["summary"]
        assert said.coverage is not None
        assert said.coverage["counted_seconds_ago"] == age


def test_nothing_asked_is_not_nothing_found() -> None:
    blank = make_plan(SearchQuery(""), Scope("default", "anna"), PlanLimits())
    nothing = Conclusion("done", (), RankedHits(), degraded=False)
    said = absence.build_absence(blank, nothing, None, NearMisses()).context_answer
    assert said is not None
    assert (said["code"], said["summary"]) == ("empty_query", "Nothing was asked for.")


@pytest.mark.parametrize(
    ("branches", "summary"),
    [
        ((), "The model called no tool that could be run: nothing was searched."),
        ((DOWN,), "Nothing could be searched: os_bm25 (opensearch_unavailable)."),
    ],
)
def test_an_agent_that_searched_nothing_was_asked_something(branches, summary) -> None:
    asked = replace(PLAN, method="agent", branches=())
    ended = Conclusion("partial", branches, RankedHits(), degraded=bool(branches))
    said = absence.build_absence(asked, ended, None, NearMisses()).context_answer
    assert said is not None
    assert said["code"] == "branches_failed"
    assert said["summary"].removesuffix(" There may be more.") == summary


def test_an_empty_answer_that_is_nearly_late_asks_nobody() -> None:
    late = response_parts.LEAST_MS - 1
    said = response_parts.build_response_parts(
        unasked(), PLAN, FOUND_NOTHING, [], Highlighter(NOTHING_ASKED), late
    ).absence
    assert said.coverage is None
    assert said.context_answer is not None
    assert said.context_answer["code"] == "no_results"


TIMES = st.one_of(
    st.none(), st.integers(-3000, 3000).map(lambda hours: NOW + hours * HOUR)
)


@given(TIMES, TIMES, TIMES, TIMES, st.booleans())
def test_no_moment_that_is_asked_for_is_called_known_where_it_is_not(
    first: datetime | None,
    last: datetime | None,
    since: datetime | None,
    until: datetime | None,
    loading: bool,  # noqa: FBT001
) -> None:
    standing = replace(LIVE, complete_from=first, complete_to=last, is_loading=loading)
    found: list[Unknown] = [*list_unknown_times(standing, since, until)]
    for one in found:
        assert one.since is None or one.until is None or one.since <= one.until
    begin = since or NOW - 4000 * HOUR
    end = min(until or NOW, NOW)
    for step in range(11):
        moment = begin + (end - begin) * step / 11
        if not begin <= moment < end:
            continue
        is_known = last is not None and moment < last
        is_known &= first is not None and moment >= first
        # An open beginning reaches as far back as the source does.
        is_known |= since is None and not loading and last is not None and moment < last
        said = any(
            (o.since is None or o.since <= moment)
            and (o.until is None or moment < o.until)
            for o in found
        )
        assert is_known or said


def test_what_is_not_narrowed_is_counted_with_the_same_rights() -> None:
    for plain, narrowed in (
        (coverage._COUNTS, coverage._COUNTS_NARROWED),
        (pending_entries._WAITING, pending_entries._WAITING_NARROWED),
    ):
        assert plain != narrowed
        assert narrowed.replace(NARROWED, "") == plain
