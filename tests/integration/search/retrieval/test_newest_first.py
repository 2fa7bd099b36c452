"""Lists by time: what is dated in the future is a mistake, and leads none of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from shared.entries.reading.read_entries import ListingPosition
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import newest
from tests.support.fixtures.asking import Asking

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
