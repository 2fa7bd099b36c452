"""Records of any shape become entries by a map, and what is unmapped is kept."""

import contextlib
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.adapter_contract.contract import Source
from shared.adapter_contract.entry import Entry
from shared.errors import MalformedEntryError
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.field_values import hash_id
from workers.adapters.mapping.map_settings import MapArgs
from workers.adapters.mapping.pointer import Pointer

NOTIFIED = {
    "external_id": "event_number",
    "title": ("facility", "category"),
    "text": "/body/content",
    "entry_time": ("date", "clock", "zone"),
    "tags": "/cfr/*/code",
    "authors": "/people/*",
    "metadata.link": "page",
}


def reading(fields=None, **settings) -> FieldMap:
    args = MapArgs.model_validate({"map": fields or NOTIFIED, **settings})
    source = Source(name="s", timezone="America/New_York", base_url="https://log.test/")
    return FieldMap.of(source, args)


def reason(fields, record, **settings) -> str | None:
    with pytest.raises(MalformedEntryError) as caught:
        reading(fields, **settings).entry(record, "x")
    return caught.value.reason


@pytest.mark.parametrize(
    ("place", "is_absent"),
    [
        ("page", False),
        ("Page", True),
        ("nothing", False),
        ("/body/content", False),
        ("/body/text", True),
        ("/cfr/*/code", False),
        ("/cfr/*/kode", True),
        # What is empty here may be filled elsewhere.
        ("/none/*/code", False),
        ("/nothing/deeper", False),
        ("/page/deeper", True),
        ("/cfr/7", True),
        ("", False),
    ],
)
def test_a_place_that_a_record_lacks_is_told_from_one_that_is_empty(place, is_absent):
    record = {
        "page": "p/1",
        "nothing": None,
        "body": {"content": "Pump off"},
        "cfr": [{"code": "A"}],
        "none": [],
    }
    assert Pointer(place).is_absent(record) is is_absent


def test_fields_are_found_by_name_and_pointer_and_the_rest_is_metadata() -> None:
    record = {
        "event_number": 35207,
        "facility": "NORTH",
        "category": None,
        "body": {"content": "Pump off", "format": "html"},
        "date": "1998-12-31",
        "clock": "11:43",
        "zone": "EST",
        "cfr": [{"code": "A", "why": "x"}, {"code": "B"}],
        "people": ["M. Ito", "Brandt, Ilse"],
        "page": "p/1",
        "units": [1, 2],
        "power": 12.5,
        "empty": "",
        "nothing": None,
    }
    found = reading()
    entry = found.entry(record, found.external_id(record) or "")
    assert entry == Entry(
        external_id="35207",
        entry_time=datetime(1998, 12, 31, 16, 43, tzinfo=UTC),
        title="NORTH",
        text="Pump off",
        authors=("M. Ito", "Brandt, Ilse"),
        tags=("A", "B"),
        metadata={
            "body.format": "html",
            "cfr": '[{"code":"A","why":"x"},{"code":"B"}]',
            "units": "[1,2]",
            "power": "12.5",
            "link": "p/1",
        },
    )


def test_a_time_of_parts_needs_them_all_and_its_parts_are_kept() -> None:
    record = {"t": 0, "day": "1999-01-04", "clock": None, "zone": ""}
    fields = {"entry_time": "t", "event_time": ("day", "clock", "zone")}
    entry = reading(fields).entry(record, "x")
    assert entry.event_time is None
    assert entry.metadata == {"day": "1999-01-04"}


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({}, "time_missing"),
        ({"t": " "}, "time_missing"),
        ({"t": "soon"}, "time_unreadable"),
        ({"t": True}, "time_unreadable"),
        ({"t": []}, "time_unreadable"),
        ({"t": float("nan")}, "time_unreadable"),
        ({"t": "9999-12-31"}, "time_out_of_range"),
        ({"t": 1, "title": {}}, "wrong_type"),
        ({"t": 1, "title": 10**5000}, "unreadable"),
        ({"t": 1, "tags": [[1]]}, "wrong_type"),
        ({"t": 1, "attachments": 3}, "wrong_type"),
        ({"t": 1, "metadata": "x"}, "wrong_type"),
        ([], "wrong_type"),
        (None, "wrong_type"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(record, why) -> None:
    fields = {
        "entry_time": "t",
        **{name: name for name in ("title", "tags", "attachments", "metadata")},
    }
    assert reason(fields, record) == why


def test_the_time_that_cannot_be_read_is_named() -> None:
    times = reading({"entry_time": "t", "event_time": "event_time"})
    with pytest.raises(MalformedEntryError, match=r"^event_time: '10:45' is"):
        times.entry({"t": 0, "event_time": "10:45"}, "x")


def test_a_naive_time_without_a_zone_is_refused() -> None:
    bare = FieldMap({"entry_time": "t"})
    with pytest.raises(MalformedEntryError) as caught:
        bare.entry({"t": "2024-06-10 01:00"}, "x")
    assert caught.value.reason == "naive_time"


def test_rows_of_a_database_are_read_with_their_types() -> None:
    row = {"T": datetime(2024, 6, 10, 1, 0), "COST": Decimal("1.50"), "D": date.min}  # noqa: DTZ001
    entry = reading({"entry_time": "T", "title": "COST"}).entry(row, "x")
    assert entry.entry_time == datetime(2024, 6, 10, 5, 0, tzinfo=UTC)
    assert (entry.title, entry.metadata) == ("1.50", {"D": "0001-01-01"})


def test_parents_that_are_zero_blank_or_oneself_are_none() -> None:
    fields = {"entry_time": "t", "reply_to": "p", "related": "r"}
    for none in ("0", 0, "", " ", "x", None):
        record = {"t": 1, "p": none, "r": [none, "7"]}
        entry = reading(fields).entry(record, "x")
        assert entry.reply_to is None
        assert "7" in entry.related
    assert reading(fields).entry({"t": 1, "p": 12}, "x").reply_to == "12"


def test_attachments_are_named_apart_and_foreign_schemes_have_no_address() -> None:
    files = ["a/trip.png", {"url": "a/trip.png", "size": 3}, "file:///etc/passwd"]
    entry = reading({"entry_time": "t", "attachments": "f"}).entry(
        {"t": 1, "f": files}, "x"
    )
    assert [(a.id, a.filename, a.url) for a in entry.attachments] == [
        ("a/trip.png", "trip.png", "https://log.test/a/trip.png"),
        ("a/trip.png#2", "trip.png", "https://log.test/a/trip.png"),
        ("file:///etc/passwd", "passwd", None),
    ]


def test_defaults_fill_what_is_missing_and_ignored_keys_are_left_out() -> None:
    found = reading(
        {"entry_time": "t", "kind": "k"},
        defaults={"kind": "incident", "logbook": "NRC", "metadata.site": "N"},
        ignore=["seen"],
    )
    entry = found.entry({"t": 1, "seen": "now"}, "x")
    assert (entry.kind, entry.logbooks) == ("incident", ("NRC",))
    assert entry.metadata == {"site": "N"}
    assert found.entry({"t": 1, "k": "device"}, "x").kind == "device"
    assert found.entry({"t": 1, "k": "gossip"}, "x").metadata["k"] == "gossip"


def test_a_deleted_record_needs_its_id_alone() -> None:
    found = reading({"deleted": "gone", "entry_time": "t"})
    assert found.entry({"gone": "2024-01-01"}, "x").deleted
    assert not found.entry({"gone": "0", "t": 1}, "x").deleted


def test_metadata_of_the_record_is_merged_last_and_wins() -> None:
    fields = {"entry_time": "t", "metadata": "meta", "metadata.a": "b"}
    entry = reading(fields).entry({"t": 1, "b": 1, "c": 2, "meta": {"a": 9}}, "x")
    assert entry.metadata == {"a": "9", "c": "2"}


@pytest.mark.parametrize(
    "settings",
    [
        {"map": {"titel": "x"}},
        {"map": {"title": "/a~2"}},
        {"defaults": {"entry_time": "now"}},
        {"mapp": {}},
    ],
)
def test_a_wrong_setting_is_refused(settings) -> None:
    with pytest.raises(ValidationError):
        MapArgs.model_validate(settings)


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", [{"a/b": [1, {"c": 2}], "": 0, "x": None}]),
        ("/a~1b/0", [1]),
        ("/a~1b/*/c", [2]),
        ("/a~1b/9", []),
        ("/", [0]),
        ("a/b", [[1, {"c": 2}]]),
        ("/x", []),
        ("/*/0", [1]),
    ],
)
def test_pointers_find_every_value(pointer, found) -> None:
    assert Pointer(pointer).all({"a/b": [1, {"c": 2}], "": 0, "x": None}) == found


def test_an_id_is_exact_and_one_of_parts_is_joined() -> None:
    found = reading({"external_id": ("book", "n")})
    assert found.external_id({"book": "A", "n": 7}) == "A/7"
    assert found.external_id({"book": "A"}) is None
    single = reading({"id": "n"})
    assert single.external_id({"n": " Ab/é "}) == " Ab/é "
    several: list[object] = [None, "", " ", True, [], {}, 1.5]
    for unusable in several:
        assert single.external_id({"n": unusable}) is None


def test_the_id_of_what_has_none_depends_on_its_content_alone() -> None:
    assert hash_id({"a": 1, "b": 2}) == hash_id({"b": 2, "a": 1})
    assert hash_id({"a": "\ud800"}).startswith("sha256:")
    assert hash_id(10**5000, b"\xff") == hash_id(b"\xff")
    assert len(hash_id(b"\xff")) == len("sha256:") + 32


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["t", "a", "b", "c", "meta"]), values) | values)
def test_reading_is_total(record) -> None:
    fields = {
        "entry_time": "t",
        "title": ("a", "b"),
        "text": "/c/text",
        "tags": "/c/*/name",
        "attachments": "b",
        "authors": "a",
        "metadata": "meta",
        "deleted": "/meta/deleted",
    }
    found = reading(fields)
    with contextlib.suppress(MalformedEntryError):
        entry = found.entry(record, "x")
        assert all(isinstance(v, str) for v in entry.metadata.values())
        assert entry == found.entry(record, "x")


def test_nesting_beyond_any_sense_is_refused() -> None:
    deep = json.loads("[" * 900 + "]" * 900)
    for _ in range(200_000):
        deep = [deep]
    assert reason({"entry_time": "t"}, {"t": 1, "a": deep}) == "unreadable"
