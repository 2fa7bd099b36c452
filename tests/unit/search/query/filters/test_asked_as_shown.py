"""What a hit shows can be asked for, and what no entry can have is refused."""

from datetime import UTC, datetime

import pytest

from shared.errors import InvalidRequestError, ModuleNotEnabledError
from shared.search.query.filters import filters
from shared.search.query.filters.filters import Filters
from shared.search.query.language import grammar
from shared.times.calendar import Clock

CLOCK = Clock(datetime(2026, 3, 5, 12, tzinfo=UTC), "Europe/Zurich")
ID = "019d0000-0000-7000-8000-000000000001"
DAY = Filters(
    since="2024-03-14T23:00:00.000+00:00", until="2024-03-15T23:00:00.000+00:00"
)


def parse(given: dict[str, object]) -> Filters:
    return filters.parse(given, max_values=10, clock=CLOCK)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"source": "logchord:default/api/OPS-77"},
            Filters(sources=("api",), ids=("OPS-77",)),
        ),
        (
            {
                "source": {
                    "in": ["logchord:default/a%2Fb/1", "logchord:default/a%2Fb/2"]
                }
            },
            Filters(sources=("a/b",), ids=("1", "2")),
        ),
        ({"source": "api"}, Filters(sources=("api",))),
        ({"date": "2024-03-15"}, DAY),
        ({"date": "2024-03"}, None),
        ({"entry_id": ID.upper()}, Filters(ids=(ID.upper(), ID))),
        ({"entry_id": {"in": ["OPS-77"]}}, Filters(ids=("OPS-77",))),
    ],
)
def test_a_hit_is_asked_for_by_what_it_shows(given, expected) -> None:
    found = parse(given)
    if expected is None:
        assert (found.since, found.until) == (
            "2024-02-29T23:00:00.000+00:00",
            "2024-03-31T22:00:00.000+00:00",
        )
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"kind": "nonsense"}, "filters.kind"),
        ({"kind": {"not": ["nonsense"]}}, "filters.kind"),
        ({"origin": "alien"}, "filters.origin"),
        ({"language": "klingon"}, "filters.language"),
        ({"source": {"in": ["logchord:d/a/1", "logchord:d/b/1"]}}, "filters.source"),
        ({"source": {"in": ["logchord:d/a/1", "b"]}}, "filters.source"),
        ({"source": {"not": ["logchord:d/a/1"]}}, "filters.source"),
        ({"source": "logchord:d/a"}, "filters.source"),
        ({"entry_id": {"not": [ID]}}, None),
        ({"date": "soon"}, "filters.date"),
        ({"date_from": "2026-03-05", "date_to": "2026-03-02"}, "filters.date_to"),
        ({"time_range": ["2026-03-05", "2026-03-02"]}, "filters.date_to"),
        ({"event_from": "2026-03-05", "event_to": "2026-03-02"}, "filters.event_to"),
    ],
)
def test_what_no_entry_can_have_is_refused(given, path) -> None:
    with pytest.raises((InvalidRequestError, ModuleNotEnabledError)) as caught:
        parse(given)
    if path is not None:
        assert caught.value.details["fields"][0]["path"] == path


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "Incident"},
        {"origin": "machine"},
        {"language": "unknown"},
        {"language": "de-CH"},
        {"date_from": "2026-03-05", "date_to": "2026-03-05"},
    ],
)
def test_what_entries_have_is_taken(given: dict[str, object]) -> None:
    assert parse(given)


def test_a_language_is_asked_for_by_any_tag_of_it() -> None:
    assert parse({"language": "de-CH"}) == parse({"language": "de"})


@pytest.mark.parametrize(
    "time", ["2201-01-01", "0001-01-01", "1899", "2201-05", "2201-06-10T04:12:00Z"]
)
@pytest.mark.parametrize("name", ["date_from", "date_to", "date"])
def test_a_year_that_nobody_means_is_out_of_range(name: str, time: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse({name: time})
    assert caught.value.error_code == "time_out_of_range"


@pytest.mark.parametrize("text", ["kind:nonsense", "origin:alien"])
def test_such_a_field_of_a_question_is_text_and_said_to_be(text: str) -> None:
    (note,) = grammar.parse(f"beam {text}", CLOCK).diagnostics
    assert note.code == "field_unreadable"


def test_swapped_ends_of_a_date_are_said_to_be_swapped() -> None:
    (note,) = grammar.parse("beam date:2026-03-05..2026-03-01", CLOCK).diagnostics
    assert note.code == "date_unreadable"
    assert "ends are swapped" in note.message
    (note,) = grammar.parse("beam date:soon..2026-03-01", CLOCK).diagnostics
    assert "swapped" not in note.message
