"""Shifts and times of day, as texts say them: read, or left alone."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.enrich import entry_facts
from shared.entries.reading.read_entries import Content
from shared.text.facility.facility import Facility
from shared.text.facts import Fact
from shared.text.reading.typed_metadata import Declared
from shared.times import event_time, shifts
from shared.times.shifts import NO_SHIFTS, Shift

PLAN = shifts.plan(
    [
        Shift(name="Owl", begins="00:00"),
        Shift(name="Day", begins="08:00"),
        Shift(name="Swing", begins="16:00"),
    ],
    "America/Chicago",
)
# 09:00 there.
WRITTEN = datetime(2024, 6, 11, 14, 0, tzinfo=UTC)
FACILITY = Facility(shifts=PLAN)
CONTENT: dict[str, Any] = {
    "entry_id": UUID(int=1),
    "tenant": "default",
    "revision": 1,
    "doc_version": 1,
    "source": "olog",
    "external_id": "1",
    "title": "",
    "text": "",
    "text_format": "plain",
    "marked": None,
    "said_language": None,
    "authors": [],
    "tags": [],
    "logbooks": [],
    "kind": "logbook",
    "origin": "human",
    "shift": None,
    "level": None,
    "category": None,
    "metadata": {},
    "entry_time": WRITTEN,
    "event_time": None,
    "thread_id": None,
    "readers": None,
    "visible_from": None,
    "deleted": False,
    "has_attachments": False,
}


def known(
    field: str, facility: Facility = FACILITY, zone: str = "UTC", **said: object
) -> list[Fact]:
    """What is known of an entry's field."""
    content = Content(**{**CONTENT, **said})
    at = Declared((), zone)
    found = entry_facts.find(
        content, content.text, (), "en", facility, declared=at
    ).facts
    return [one for one in found if one.field == field]


@pytest.mark.parametrize(
    ("text", "shift"),
    [
        ("owl shift: RF tripped at 03:12", "Owl"),
        ("Owl Shift Summary", "Owl"),
        ("RF tripped during the owl shift.", "Owl"),
        ("Two trips on swing shift", "Swing"),
        ("quiet. Night shift: no beam", "Owl"),
        ("Strahlverlust in der Nachtschicht", "Owl"),
        ("== Day shift ==", "Day"),
        # Other shifts are named, or it is for them to do.
        ("owl shift to day shift handover", None),
        ("for the owl shift: watch HCM03", None),
        ("owl shift please watch HCM03", None),
        ("handover to the owl shift", None),
        ("during last owl shift", None),
        ("the day shifted", None),
        ("a new day", None),
        ("shift", None),
    ],
)
def test_a_shift_is_read_where_a_text_is_of_one(text: str, shift: str | None) -> None:
    found = event_time.shift(text, PLAN)
    assert (found and found.value) == shift


@pytest.mark.parametrize(
    ("text", "wall"),
    [
        ("RF tripped at 03:12", "2024-06-11T08:12:00+00:00"),
        ("03:12 RF tripped", "2024-06-11T08:12:00+00:00"),
        ("today RF tripped at 03:12", "2024-06-11T08:12:00+00:00"),
        ("RF tripped @03:12:40.", "2024-06-11T08:12:40+00:00"),
        ("RF trip at 3:12 am, at 03:12 sharp", "2024-06-11T08:12:00+00:00"),
        ("HF aus um 03:12 Uhr", "2024-06-11T08:12:00+00:00"),
        # The evening before.
        ("RF tripped at 23:10", "2024-06-11T04:10:00+00:00"),
        # Of the afternoon, perhaps; two of them; how long; another day; later; a plan.
        ("RF tripped at 3:12", None),
        ("tripped at 03:12, back at 03:40", None),
        ("between 03:12-03:40", None),
        ("since 03:12", None),
        ("yesterday at 03:12", None),
        ("on 2024-06-02 at 03:12", None),
        ("on June 2 at 03:12", None),
        ("at 14:00 in the control room", None),
        ("will go on at 08:30", None),
        ("at 03:12 UTC", None),
        ("at 03:12 CEST", None),
        ("ratio at 16:10:9:1", None),
        ("", None),
    ],
)
def test_a_time_is_read_where_one_alone_is_said(text: str, wall: str | None) -> None:
    found = event_time.moment(text, WRITTEN, PLAN.zone)
    assert (found and found.value) == wall


def test_where_clocks_change_no_time_is_sure() -> None:
    back = datetime(2024, 11, 3, 12, tzinfo=UTC)
    ahead = datetime(2024, 3, 10, 12, tzinfo=UTC)
    assert event_time.moment("trip at 01:30", back, PLAN.zone) is None
    assert event_time.moment("trip at 02:30", ahead, PLAN.zone) is None
    after = event_time.moment("trip at 03:30", back, PLAN.zone)
    assert after is not None
    assert after.value == "2024-11-03T09:30:00+00:00"


@given(st.text(alphabet="owl shift:03129-\nAatLRM*[]!.", max_size=60))
def test_any_text_is_read_and_what_is_found_stands_there(text: str) -> None:
    found = event_time.moment(text, WRITTEN, PLAN.zone)
    if found:
        at = datetime.fromisoformat(found.value)
        assert WRITTEN - event_time.LATEST <= at <= WRITTEN
    for one in (found, event_time.shift(text, PLAN)):
        assert one is None or text[one.start : one.end].strip()


def test_what_the_text_says_is_known_and_how_it_was_found() -> None:
    text = "owl shift: RF tripped at 03:12"
    assert known("shift", text=text) == [Fact("shift", "Owl", "read", 0, 9)]
    assert known("shift", text="RF tripped at 03:12") == [
        Fact("shift", "Owl", "read", 14, 19)
    ]
    assert known("shift", text="RF tripped") == [Fact("shift", "Day", "plan")]
    # In the title it has no place in the text.
    assert known("shift", title="Owl shift") == [Fact("shift", "Owl", "read")]


def test_what_the_source_says_wins() -> None:
    text = "FATAL: owl shift lost the beam at 03:12"
    said = known("level", text=text, level="trip")
    assert said == [Fact("level", "trip", "said")]
    assert known("shift", text=text, shift="B") == [Fact("shift", "B", "said")]
    # When it happened, too, but for a shift that the text says.
    noon = datetime(2024, 6, 11, 17, 0, tzinfo=UTC)
    lost = known("shift", text="lost at 03:12", event_time=noon)
    assert lost == [Fact("shift", "Day", "plan")]


def test_without_a_plan_no_shift_is_read() -> None:
    assert event_time.shift("owl shift: quiet", NO_SHIFTS) is None
    assert known("shift", Facility(), text="owl shift: RF tripped at 03:12") == []


def test_places_are_those_of_the_text_as_it_came() -> None:
    marked = "<p>during the <b>owl shift</b> it tripped</p>"
    text = "during the owl shift it tripped"
    (said,) = known("shift", text=text, marked=marked)
    assert marked[said.start : said.end] == "owl shift"


def test_a_time_of_the_text_is_when_it_happened_unless_the_source_says_one() -> None:
    text = "lost at 03:12"
    assert known("event_time", zone="America/Chicago", text=text) == [
        Fact("event_time", "2024-06-11T08:12:00+00:00", "read", 8, 13)
    ]
    # Without a plan of shifts, too: clocks are those of the source.
    assert known("event_time", Facility(), text=text) == [
        Fact("event_time", "2024-06-11T03:12:00+00:00", "read", 8, 13)
    ]
    assert known("event_time", text=text, event_time=WRITTEN) == []
    assert known("event_time", text="lost at 03:12 yesterday") == []
