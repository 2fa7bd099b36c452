"""A hit in the terminal: what is told of it beside its text."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import click

from api.cli.search import shown

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
