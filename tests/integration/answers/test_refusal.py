"""What a refusal says beside its reason: what was searched, and what is unknown."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from shared.postgres.pool import connection
from shared.search.absence import coverage
from shared.search.response.search_answer import SearchAnswer
from tests.support.fixtures.asking import Asking

BEGIN = datetime(2026, 3, 2, 6, tzinfo=UTC)
REFUSED = "Why did turbine 5 of the cold box stop?"
ANSWERED = "Why did turbine 2 of the cold box stop?"
UNHEARD = "Why did the zebra quench?"


@pytest.fixture
def logbook(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> Asking:
    # On a busy machine what stands beside hits is left out, and not wrong.
    monkeypatch.setattr(coverage, "BESIDE_HITS_MS", 5000)
    texts = (
        "Turbine 2 of the cold box stopped because its bearing was worn.",
        "Turbine 1 of the cold box was greased by the crew.",
        "Turbine 3 of the cold box was greased as well.",
        "Turbine 4 of the cold box runs again.",
    )
    asking.write(
        *(
            EntryDraft(
                "operations",
                f"OPS-{place}",
                text,
                entry_time=BEGIN + timedelta(hours=place),
            )
            for place, text in enumerate(texts, 1)
        )
    )
    return asking


def complete(asking: Asking, since: datetime, until: str = "now()") -> None:
    with connection(asking.pool) as conn:
        conn.execute(
            "INSERT INTO source_state (source, tenant, adapter, config_hash, config,"
            " parsed_by, complete_from, complete_to)"
            " VALUES ('operations', 'default', 'olog', '', '{}', 1, %s,"
            " %s::timestamptz)",
            (since, until),
        )


def context_of(told: SearchAnswer) -> dict[str, Any]:
    assert told.context_answer is not None
    return dict(told.context_answer)


def test_the_slot_what_was_searched_what_is_unknown_and_the_nearest_come_in_turn(
    logbook: Asking,
) -> None:
    late = datetime.now(UTC) - timedelta(minutes=38, seconds=10)
    complete(logbook, BEGIN - timedelta(days=1), late.isoformat())
    told = logbook.answer_with_cards(
        REFUSED, filters={"date_from": "2026-03-01", "source": "operations"}
    )

    assert told.answer is not None
    said = [
        "No entry that was found names turbine 5; there are",
        "Searched: operations written from 2026-03-01 00:00 CET",
        "operations is 38 min behind: from ",
        " on nothing is known.",
        "Nearest: ",
    ]
    places = [told.answer.find(one) for one in said]
    assert -1 not in places, told.answer
    assert places == sorted(places)
    nearest = told.answer.partition("Nearest: ")[2]
    assert nearest.count("[#") == 3
    summary = context_of(told)["summary"]
    assert all(one in summary for one in said[:-1])


def test_when_nobody_wrote_when_the_time_of_the_entry_is_told(logbook: Asking) -> None:
    told = logbook.answer_with_cards("When was turbine 1 greased?")
    assert context_of(told)["grade"] == "B"
    assert told.answer is not None
    greased = "Turbine 1 of the cold box was greased by the crew [#OPS-2@1]."
    assert f"{greased} (entry written 2026-03-02 09:00)" in told.answer
    # Whoever does not say all of it has not dated it.
    told = logbook.answer_with_cards("When was turbine 1 taken to the crew?")
    assert context_of(told)["code"] == "missing_kind"
    assert told.answer is not None
    assert f"Nearest: {greased} (2026-03-02 09:00)" in told.answer


def test_when_nobody_wrote_who_it_was_who_wrote_of_it_is_told(asking: Asking) -> None:
    asking.write(
        EntryDraft(
            "operations",
            "OPS-1",
            "Compressor of chiller 2 replaced.",
            authors=("Hana Novak",),
            entry_time=BEGIN,
        )
    )
    told = asking.answer_with_cards("Who replaced the compressor of chiller 2?")
    assert context_of(told)["code"] == "missing_kind"
    assert told.answer is not None
    replaced = "Compressor of chiller 2 replaced [#OPS-1@1]."
    assert f"Nearest: {replaced} (written by Hana Novak)" in told.answer


def test_a_question_of_two_parts_is_told_once_what_was_searched(logbook) -> None:
    told = logbook.answer_with_cards("turbine 8 vs turbine 9")
    assert told.answer is not None
    assert [one.count("Searched: every source.") for one in told.answer.split("\n\n")]
    assert told.answer.count("Searched: every source.") == 1


def test_what_came_nearest_to_a_refused_part_is_cited_too(logbook: Asking) -> None:
    told = logbook.answer_with_cards("turbine 8 vs turbine 2")
    assert told.answer is not None
    marked = set(re.findall(r"\[#(\S+)@1\]", told.answer))
    assert marked == {one.label for one in told.citations}
    # The name of another turbine alone asks nothing.
    assert context_of(told)["questions"] == []


def test_an_answer_is_not_told_what_was_searched(logbook: Asking) -> None:
    told = logbook.answer_with_cards(ANSWERED)
    assert context_of(told)["status"] == "grounded"
    assert "Searched" not in (told.answer or "")


@pytest.mark.parametrize(("query", "mode"), [(REFUSED, "hybrid"), (UNHEARD, "keyword")])
@pytest.mark.parametrize("later", [1, 0])
def test_a_time_before_all_that_was_loaded_is_outside_of_the_coverage(
    logbook: Asking, query: str, mode: str, later: int
) -> None:
    end = datetime(2026, 3, 5, tzinfo=UTC)
    complete(logbook, end + timedelta(seconds=later - 1))
    filters = {"date_from": "2026-03-01", "date_to": "2026-03-04T23:59:59Z"}
    told = logbook.answer_with_cards(
        query, mode=mode, synthesize="deterministic", filters=filters
    )

    context = context_of(told)
    assert context["status"] == "insufficient"
    assert (context["code"] == "outside_coverage") is bool(later)
    assert (
        "That time lies before all that is loaded whole" in context["summary"]
    ) is bool(later)
    assert bool(told.results) is (query == REFUSED)


def test_what_was_written_then_is_an_answer_all_the_same(logbook: Asking) -> None:
    complete(logbook, BEGIN + timedelta(days=30))
    filters = {"date_to": "2026-03-05"}
    told = logbook.answer_with_cards(ANSWERED, filters=filters)
    assert context_of(told)["status"] == "grounded"


def test_a_source_that_is_pushed_to_has_no_time_outside_of_its_coverage(logbook):
    complete(logbook, BEGIN + timedelta(days=30))
    logbook.write(
        EntryDraft("api", "1", "Turbine 6 of the cold box hums.", entry_time=BEGIN)
    )
    filters = {"date_from": "2026-03-01", "date_to": "2026-03-05"}
    context = context_of(logbook.answer_with_cards(REFUSED, filters=filters))
    assert context["code"] == "unknown_name"
    told = logbook.answer_with_cards(UNHEARD, mode="keyword", filters=filters)
    assert context_of(told)["code"] == "source_lagging"
