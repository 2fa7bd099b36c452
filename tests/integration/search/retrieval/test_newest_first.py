"""Lists by time: what is dated in the future is a mistake, and leads none of them."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from shared.entries.reading.read_entries import ListingPosition
from shared.postgres.pool import connect
from shared.search.export.stream import Export
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import newest
from tests.support.fixtures.asking import CLOCK, Asking

YEARS = {"old": 2024, "new": 2025, "ahead": 2099, "further": 2100}


@pytest.fixture
def logbook(asking: Asking) -> Asking:
    asking.write(
        *(
            EntryDraft("ops", name, "beam", entry_time=datetime(year, 1, 1, tzinfo=UTC))
            for name, year in YEARS.items()
        )
    )
    return asking


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sort": "newest"}, ["new", "old", "further", "ahead"]),
        ({"sort": "newest", "limit": 3}, ["new", "old", "further"]),
        ({"sort": "oldest"}, ["old", "new", "ahead", "further"]),
        ({"filters": {"date_from": "2099"}, "sort": "newest"}, ["further", "ahead"]),
    ],
)
def test_what_is_dated_in_the_future_stands_behind_what_was_written(
    logbook: Asking, fields: dict[str, Any], expected: list[str]
) -> None:
    body = logbook.ask("beam", **fields)
    assert [one["external_id"] for one in body["results"]] == expected


def test_the_pages_that_follow_go_on_where_the_last_one_ended(logbook: Asking) -> None:
    plan = logbook.plan("beam", sort="newest")
    found: list[int] = []
    after = ListingPosition()
    for _ in YEARS:
        ask = replace(Ask.lasting(plan, 5.0), limit=1)
        (row,) = newest.following(ask, logbook.context, after)
        found.append(row.entry_time.year)
        after = ListingPosition(row.entry_time, row.id)
    assert found == [2025, 2024, 2100, 2099]
    assert newest.following(Ask.lasting(plan, 5.0), logbook.context, after) == []


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
@pytest.mark.parametrize("query", ["beam", "beam on 2024-01-01"])
def test_a_file_of_all_that_match_has_the_order_of_the_pages(
    logbook: Asking, database: str, query: str, sort: str
) -> None:
    # Written on the day after a named one, it stands behind what is of that day.
    early = datetime(2024, 1, 2, 5, tzinfo=UTC)
    logbook.write(EntryDraft("ops", "after", "beam", entry_time=early))
    clock = replace(CLOCK, now=early)
    plan = logbook.plan(query, clock=clock, sort=sort, exhaustive=True)
    pages = logbook.answer(plan, logbook.carried_out(plan))["results"]
    conn = connect(database, application="test", autocommit=True)
    export = Export(conn, plan, "jsonl")
    export.find(Ask.lasting(plan, 5.0), logbook.context)
    *rows, _ = [json.loads(one) for one in "".join(export.parts()).splitlines()]
    export.close()
    assert len(rows) > 1
    listed = [one["external_id"] for one in pages]
    assert [one["external_id"] for one in rows] == listed
