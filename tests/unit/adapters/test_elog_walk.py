"""Walks through an ELOG's history: what they ask for, and what their cursors bear."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapter_contract.contract import MAX_CURSOR_BYTES, Window
from workers.adapters.elog.walk import ElogWalk, key

_NOW = datetime(2024, 6, 10, 12, tzinfo=UTC)
_OVERLAP = timedelta(minutes=2)
_OLD = datetime(1975, 6, 1, tzinfo=UTC)


def _begin(since: Any = None, window: Window | None = None) -> ElogWalk:
    return ElogWalk.begin(
        since, window, now=_NOW, overlap=_OVERLAP, days=30, history_start=None
    )


def test_an_empty_history_is_crossed_in_wider_and_wider_steps_to_its_open_end() -> None:
    walk = _begin()
    asked: list[datetime | None] = []
    while not walk.is_over(1):
        asked.append(walk.asked_from)
        walk.step(0)
    assert asked[0] == _NOW - timedelta(days=30)
    assert asked[-1] is None
    assert len(asked) < 15


@pytest.mark.parametrize("lower", [None, datetime(1990, 1, 1, tzinfo=UTC), _OLD])
def test_no_stretch_names_a_year_that_the_server_takes_for_another_century(lower):
    walk = _begin(window=Window(lower, None)) if lower else _begin()
    while not walk.is_over(1):
        asked = dict(walk.params())
        assert all(int(asked[year]) >= 1990 for year in ("ya", "yb") if year in asked)
        walk.step(0)
    assert "ya" not in asked, "the oldest stretch is open"


def test_a_window_before_all_logbooks_is_asked_for_as_the_oldest_year() -> None:
    window = Window(_OLD, datetime(1980, 1, 1, tzinfo=UTC))
    assert dict(_begin(window=window).params()) == {
        "mode": "Raw",
        "reverse": "0",
        "yb": "1990",
        "mb": "1",
        "db": "2",
    }


def test_full_stretches_are_followed_by_shorter_ones() -> None:
    walk = _begin()
    for _ in range(10):
        walk.step(5000)
    assert walk.days == 1
    assert walk.shorten() is False


def test_a_stretch_is_asked_for_with_a_day_around_it() -> None:
    window = Window(_NOW - timedelta(days=3), _NOW)
    assert _begin(window=window).params() == [
        *(("mode", "Raw"), ("reverse", "0")),
        *(("ya", "2024"), ("ma", "6"), ("da", "6")),
        *(("yb", "2024"), ("mb", "6"), ("db", "11")),
    ]


def test_a_cursor_survives_json_and_goes_on_in_the_same_place() -> None:
    walk = _begin()
    walk.step(500)
    walk.after = key(_NOW - timedelta(days=40), 7)
    again = _begin(json.loads(json.dumps(walk.cursor(is_over=False))))
    assert (again.upper, again.days, again.after) == (walk.upper, 30, walk.after)
    assert not again.holds(_NOW - timedelta(days=35), key(_NOW, 8))
    assert again.holds(_NOW - timedelta(days=50), key(_NOW - timedelta(days=50), 6))


def test_the_end_of_a_walk_is_no_later_than_its_beginning_less_the_overlap() -> None:
    cursor = _begin().cursor(is_over=True)
    assert cursor["at"] == (_NOW - _OVERLAP).isoformat()


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.datetimes().map(datetime.isoformat)
    | st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
_WALK = st.dictionaries(
    st.sampled_from(["book", "days", "after", "began", "lower", "top", "upper"]), _JSON
)


@given(at=_JSON, kept=_WALK | _JSON, version=st.sampled_from([1, 2, "1", None]))
def test_any_cursor_begins_a_walk(at: Any, kept: Any, version: Any) -> None:
    walk = _begin({"v": version, "at": at, "walk": kept})
    walk.params()
    walk.holds(_NOW, key(_NOW, 1))
    walk.step(0)
    walk.params()
    cursor = json.dumps(walk.cursor(is_over=False))
    assert len(cursor.encode()) <= MAX_CURSOR_BYTES
