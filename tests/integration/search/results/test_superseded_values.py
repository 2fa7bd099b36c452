"""Values that are not the newest any more: whoever states them is told who does."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import tombstone
from shared.postgres.pool import connection
from shared.search.results import superseded
from tests.support.fixtures.asking import ANNA, BEN, ELSEWHERE, Asking
from tests.support.saving import save_drafts

MARCH = datetime(2025, 3, 2, 5, 31, tzinfo=UTC)


def draft(name: str, day: int, text: str, **fields: Any) -> EntryDraft:
    at = MARCH + timedelta(days=day)
    given = {"source": "operations", "entry_time": at, **fields}
    return EntryDraft(external_id=name, text=text, **given)


def told(
    asking: Asking, field: str, scope: Scope = ANNA, query: str = "current"
) -> dict[str, list[tuple[float, float, str]]]:
    """Return by hit its own value, the other one, and who states that."""
    results = asking.ask(query, scope, limit=50)["results"]
    return {
        one["external_id"]: [
            (other["stated"], other["value"], other["external_id"])
            for other in one[field]
        ]
        for one in results
        if one[field]
    }


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes too long is left out, and a busy machine takes long."""
    monkeypatch.setattr(superseded, "TIMEOUT_MS", 10_000)


@pytest.fixture
def ids(asking: Asking) -> dict[str, UUID]:
    """Two values of one magnet, and what is none of its newer ones."""
    return asking.write(
        draft("first", 0, "QF1 current set to 3.2 A"),
        draft("second", 2, "QF-01 current is 3500 mA after the ramp"),
        # Another device, another parameter, a bound, and a mention without a value.
        draft("other", 3, "QF2 current set to 9 A"),
        draft("else", 3, "QF1 trim current set to 1 A"),
        draft("bound", 4, "QF1 current must stay below 5 A"),
        draft("plain", 5, "QF1 current looked at, all is well"),
    )


@pytest.mark.requirement("I19")
def test_an_older_value_names_the_newest_and_the_newest_what_it_replaced(asking, ids):
    assert told(asking, "superseded_by") == {"first": [(3.2, 3.5, "second")]}
    assert told(asking, "replaces") == {"second": [(3.5, 3.2, "first")]}
    hits = asking.ask("current", limit=50)["results"]
    (first,) = [one for one in hits if one["external_id"] == "first"]
    (other,) = first["superseded_by"]
    assert first["permalink"] == "/e/operations/first"
    assert other == {
        "device": "qf 1",
        "parameter": "current",
        "dimension": "current",
        "unit": "A",
        "stated": 3.2,
        "value": 3.5,
        "entry_id": str(ids["second"]),
        "source": "operations",
        "external_id": "second",
        "permalink": "/e/operations/second",
        "time": "2025-03-04T05:31:00Z",
    }


def test_a_third_value_takes_the_place_of_the_second_and_an_equal_one_of_none(
    asking, ids
):
    asking.write(draft("again", 6, "QF1 current still 3.5 A"))
    # What is said again is said by the newest entry.
    assert told(asking, "superseded_by") == {"first": [(3.2, 3.5, "again")]}
    asking.write(draft("back", 7, "QF1 current back to 3.2 A"))
    assert told(asking, "superseded_by") == {
        "second": [(3.5, 3.2, "back")],
        "again": [(3.5, 3.2, "back")],
    }
    assert told(asking, "replaces") == {"back": [(3.2, 3.5, "again")]}
    # Told late, of an earlier time: it is older all the same.
    asking.write(
        draft("late", 9, "QF1 current was 8 A", event_time=MARCH + timedelta(days=1))
    )
    assert told(asking, "superseded_by")["late"] == [(8.0, 3.2, "back")]
    assert told(asking, "replaces") == {"back": [(3.2, 3.5, "again")]}


@pytest.mark.requirement("P10", "U21")
def test_nobody_is_told_of_a_value_that_they_may_not_see(asking, ids):
    far = datetime(2199, 1, 1, tzinfo=UTC)
    hidden = asking.write(
        draft("secret", 6, "QF1 current set to 4 A", readers=("ben",)),
        draft("embargo", 7, "QF1 current set to 5 A", visible_from=far),
        draft("books", 8, "QF1 current set to 6 A", logbooks=("rf",)),
    )
    asking.write(draft("theirs", 9, "QF1 current set to 7 A"), tenant="elsewhere")
    with connection(asking.pool) as conn:
        gone = asking.write(draft("gone", 9, "QF1 current set to 8 A"))["gone"]
        tombstone(conn, "default", gone, reason=None, stages=[])
    anna = Scope("default", "anna", logbooks=("x",))
    asking.write(draft("mine", 0, "QF1 current set to 1 A", logbooks=("x",)))
    assert told(asking, "superseded_by", anna) == {}
    assert told(asking, "superseded_by", ELSEWHERE) == {}
    of_ben = told(asking, "superseded_by", BEN)
    assert of_ben["first"] == [(3.2, 6.0, "books")]
    assert of_ben["secret"] == [(4.0, 6.0, "books")]
    with connection(asking.pool) as conn:
        tombstone(conn, "default", hidden["books"], reason=None, stages=[])
    assert told(asking, "superseded_by", BEN)["first"] == [(3.2, 4.0, "secret")]
    assert told(asking, "superseded_by")["first"] == [(3.2, 3.5, "second")]


def test_an_edit_that_takes_a_value_back_supersedes_nothing_any_more(asking, ids):
    asking.write(draft("second", 2, "QF1 current not touched after all"))
    assert told(asking, "superseded_by") == {}
    assert told(asking, "replaces") == {}


def test_the_last_of_an_entrys_values_is_what_it_says(asking):
    many = "QF1 current from 3.0 A to 3.1 A. " * 20 + "QF1 current set to 3.2 A"
    asking.write(draft("many", 0, many), draft("same", 1, "QF1 current still 3.2 A"))
    # The newer one says the same: neither is older, and nothing was replaced.
    assert told(asking, "superseded_by") == {}
    assert told(asking, "replaces") == {}
    asking.write(draft("third", 2, "QF1 current set to 4 A"))
    assert told(asking, "superseded_by")["many"] == [(3.2, 4.0, "third")]
    assert told(asking, "replaces") == {"third": [(4.0, 3.2, "same")]}


def test_what_was_edited_and_not_read_since_states_nothing(asking, ids):
    with connection(asking.pool) as conn:
        save_drafts(conn, [draft("second", 2, "QF1 current not touched after all")])
    assert told(asking, "superseded_by") == {}
    assert told(asking, "replaces") == {}


def test_what_says_to_come_from_the_future_is_not_the_newest(asking, ids):
    far = datetime(2199, 1, 1, tzinfo=UTC)
    asking.write(draft("ahead", 3, "QF1 current set to 9 A", event_time=far))
    assert told(asking, "superseded_by") == {"first": [(3.2, 3.5, "second")]}
    assert told(asking, "replaces") == {"second": [(3.5, 3.2, "first")]}


def test_only_so_many_statements_are_looked_through_either_way(
    asking, ids, monkeypatch
):
    monkeypatch.setattr(superseded, "MOST", 3)
    again = [draft(f"again {n}", 3 + n, "QF1 current still 3.5 A") for n in range(3)]
    asking.write(*again)
    # What it replaced is too many statements back; whoever is newer is found at once.
    assert told(asking, "replaces") == {}
    assert told(asking, "superseded_by") == {"first": [(3.2, 3.5, "again 2")]}
    secret = [
        draft(f"secret {n}", 9, "QF1 current set to 4 A", readers=("ben",))
        for n in range(3)
    ]
    asking.write(*secret)
    # Behind those that may not be seen there may be a newer one that may.
    assert told(asking, "superseded_by") == {}
    assert told(asking, "replaces") == {}
