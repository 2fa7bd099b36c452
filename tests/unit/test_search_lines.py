"""A hit in the terminal: what is told of it beside its text."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import click
import pytest

from api.cli import absent
from api.cli.search import branch_told, shown

HIT: dict[str, Any] = {
    "title": "RF",
    "rank": 1,
    "relevance_score": 0.9,
    "logbooks": [],
    "source": "operations",
    "external_id": "1",
    "entry_time": "2026-03-02T05:31:00Z",
    "author": None,
    "found_by": ["os_bm25"],
    "similar_count": 0,
    "highlights": [],
    "content": "QF1 current 3.2 A",
}


def lines(**fields: Any) -> list[str]:
    zone = ZoneInfo("Europe/Berlin")
    return click.unstyle(shown({**HIT, **fields}, zone, 88)).splitlines()


def test_a_value_that_is_not_the_newest_is_told_with_the_newest() -> None:
    other = {
        "device": "qf 1",
        "parameter": "current",
        "dimension": "current",
        "unit": "A",
        "stated": 3.2,
        "value": 3.5,
        "entry_id": "x",
        "source": "operations",
        "external_id": "2",
        "time": "2026-03-04T05:31:00Z",
    }
    (told,) = [one for one in lines(superseded_by=[other]) if "superseded" in one]
    assert [part.strip() for part in told.split("\u00b7")] == [
        "superseded: current of qf 1",
        "3.2 is 3.5 A",
        "since 2026-03-04 06:31 CET (05:31 UTC)",
        "operations/2",
    ]
    # An older server does not tell; and of nothing nothing is said.
    assert lines() == lines(superseded_by=[])


def test_of_nothing_found_the_time_that_each_source_covers_is_told() -> None:
    gap = {"start": "2026-02-01T00:00:00Z", "end": None}
    whole = {
        "source": "operations",
        "complete_from": "2020-01-01T00:00:00Z",
        "complete_to": "2026-03-01T00:00:00Z",
        "lag_seconds": 3.0,
        "gaps": [],
    }
    pushed = {**whole, "source": "api", "complete_from": None, "complete_to": None}
    torn = {**whole, "source": "elog", "complete_from": None, "gaps": [gap, gap]}
    answer = {
        "context_answer": {"summary": "Nothing was found."},
        "coverage": {"sources": [whole, pushed, torn, *[whole] * 4], "nearest": []},
    }

    first, last = "2020-01-01 00:00 UTC", "2026-03-01 00:00 UTC"
    told = list(absent.lines(answer, 88, ZoneInfo("UTC")))

    assert told[:3] == [
        "Nothing was found.",
        f"searched  operations, complete from {first} to {last}",
        f"searched  elog, complete to {last}, but for 2 gaps",
    ]
    assert told[6:] == ["searched  and 1 more: --json has all", ""]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"status": "ok", "candidates": 7}, "semantic ok 7"),
        ({"status": "skipped", "reason": "language"}, "semantic skipped (language)"),
        ({"status": "error", "error_code": "x", "reason": "y"}, "semantic error (x)"),
        ({"status": "empty", "fallback_for": "a"}, "semantic for a empty"),
    ],
)
def test_a_part_of_a_search_that_was_not_carried_out_says_why(
    fields: dict[str, Any], told: str
) -> None:
    nothing = dict.fromkeys(("error_code", "reason", "fallback_for"))
    one = {"name": "semantic", "candidates": 0, **nothing, **fields}
    assert click.unstyle(branch_told(one)) == told
