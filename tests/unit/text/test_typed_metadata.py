"""Metadata by type: as their source declares it, or as it is plain."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ConfigurationError, InvalidRequestError
from shared.search.query.filters import filters
from shared.search.query.filters.fact_filters import QuantityBounds
from shared.settings.settings import Settings
from shared.settings.text_expectations import find_expectations
from shared.text.reading.typed_metadata import NOTHING, Declared, Kind
from shared.times.calendar import Clock

ZURICH = Declared(
    (("run", "number"), ("at", "date"), ("name", "text")), "Europe/Zurich"
)
CLOCK = Clock(datetime(2026, 3, 2, 20, tzinfo=UTC), "Europe/Zurich")


def stamp(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("name", "value", "text", "number"),
    [
        ("run", "012", "12", 12.0),
        ("run", " +12.50 ", "12.5", 12.5),
        ("run", "1e3", "1000", 1000.0),
        ("run", "12a", "12a", None),
        ("name", "012", "012", None),
        ("name", "12", "12", None),
        ("other", "12.0", "12", 12.0),
        ("other", "012", "012", None),
    ],
)
def test_a_number_is_one_where_it_is_declared_or_plain(name, value, text, number):
    assert ZURICH.read(name, value) == (text, number, None)


@pytest.mark.parametrize(
    ("name", "value", "text", "moment"),
    [
        ("at", "2024-07-01", "2024-07-01", "2024-07-01T00:00:00+02:00"),
        ("at", "01.07.2024", "2024-07-01", "2024-07-01T00:00:00+02:00"),
        ("at", "1 Jul 2024", "2024-07-01", "2024-07-01T00:00:00+02:00"),
        ("at", "2024-07-01 10:00", "2024-07-01T08:00:00Z", "2024-07-01T10:00:00+02:00"),
        ("at", "1719820800", "2024-07-01T08:00:00Z", "2024-07-01T10:00:00+02:00"),
        # Unlike the others it may be July or January.
        ("at", "07/01/2024", "07/01/2024", None),
        ("at", "soon", "soon", None),
        # What nobody declares stays as it is written.
        ("other", "2024-07-01", "2024-07-01", "2024-07-01T00:00:00+02:00"),
        ("other", "2024-07-01 10:00", "2024-07-01 10:00", "2024-07-01T10:00:00+02:00"),
        ("other", "01.07.2024", "01.07.2024", None),
        ("other", "2024-07-99", "2024-07-99", None),
        ("name", "2024-07-01", "2024-07-01", None),
        ("run", "2024-07-01", "2024-07-01", None),
    ],
)
def test_a_date_is_one_where_it_is_declared_or_plain(name, value, text, moment) -> None:
    at = None if moment is None else stamp(moment)
    assert ZURICH.read(name, value) == (text, None, at)


@given(st.sampled_from(["run", "at", "name", "x"]), st.text(max_size=80))
def test_any_value_is_read_and_never_as_two_things(name: str, value: str) -> None:
    read = ZURICH.read(name, value)
    assert read.number is None or read.moment is None
    if name == "name":
        assert read == (value, None, None)


def test_a_source_declares_what_its_metadata_are() -> None:
    given_one = "{olog: {timezone: Europe/Berlin, metadata: {run: number}}}"
    settings = Settings.load({"LOGCHORD_SOURCES": given_one})
    told = find_expectations(settings, "olog", "default")
    assert (told.metadata, told.zone) == ((("run", "number"),), "Europe/Berlin")
    assert find_expectations(settings, "elog", "default")[2:] == ((), "UTC")
    with pytest.raises(ConfigurationError):
        Settings.load({"LOGCHORD_SOURCES": "{olog: {metadata: {run: integer}}}"})


def bounds(**ends: object) -> QuantityBounds:
    (one,) = filters.parse({"metadata.at": ends}, max_values=1, clock=CLOCK).ranges
    return one


def test_a_range_is_of_dates_where_its_ends_are() -> None:
    assert bounds(gte=1, lte="2.5") == QuantityBounds("metadata.at", 1.0, 2.5)
    since = stamp("2024-01-01T00:00:00+01:00")
    # A day that is an end counts in.
    until = stamp("2024-02-02T00:00:00+01:00") - 0.001
    got = bounds(gte="2024-01-01", lte="2024-02-01")
    assert got == QuantityBounds("metadata.at=date", since, until)
    assert bounds(gte="yesterday").least == stamp("2026-03-01T00:00:00+01:00")


@pytest.mark.parametrize(
    "ends",
    [{"gte": "soon"}, {"gte": 1, "lte": "2024-01-01"}, {"gte": True}, {"lte": None}],
    ids=str,
)
def test_a_range_of_neither_is_refused(ends: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError, match=r"a number nor|Both ends"):
        bounds(**ends)


def test_nothing_declared_is_what_it_looks_like() -> None:
    kinds: list[Kind] = ["number", "date", "text"]
    assert [NOTHING.read(one, "0042").text for one in kinds] == ["0042"] * 3
