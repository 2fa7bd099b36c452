"""What a device's card says of its last trip, and whether that is over."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from shared.cards.card_rows import CardEntry
from shared.cards.card_things import CardThing
from shared.cards.thing_card import BestHit, make_thing_card
from shared.search.response.card import Card

BEGIN = datetime(2026, 3, 2, 6, tzinfo=UTC)
QD16 = CardThing("device", "qd16", "QD16", "named")
NAMED = {"kind": "device", "name": "QD16", "canonical": "qd16"}
OTHER = {"kind": "device", "name": "HX2", "canonical": "hx2"}


def entry(number: int, title: str, text: str, **more: Any) -> CardEntry:
    """Return an entry, an hour behind the one before."""
    names = "QD16" in title + text
    return CardEntry(
        entry_id=UUID(int=number),
        source="api",
        external_id=str(number),
        revision=1,
        entry_time=BEGIN + timedelta(hours=number),
        event_time=None,
        title=title,
        text=text,
        entries=1,
        first_time=BEGIN,
        kinds=None,
        months=None,
        **{
            "thread_id": None,
            "kind": "logbook",
            "is_naming": names,
            "entities": [NAMED] if names else [],
            **more,
        },
    )


def card_of(*entries: CardEntry) -> Card:
    newest_first = sorted(entries, key=lambda one: one.entry_time, reverse=True)
    return make_thing_card(QD16, newest_first, [], BestHit(None, 0.0), "UTC", ())


def told(*entries: CardEntry) -> dict[str, str]:
    return {
        one.kind: one.text
        for one in reversed(card_of(*entries).lines)
        if one.kind in {"last_trip", "last_fix"}
    }


@pytest.mark.requirement("S4-28")
def test_what_is_done_to_a_broken_thing_is_a_fix_only_where_it_mends() -> None:
    trip = entry(1, "QD16", "QD16 tripped at 06:10. Cover removed and valve closed.")

    assert told(trip) == {"last_trip": "QD16 tripped at 06:10."}

    fixed = entry(2, "QD16", "Strainer cleaned.")
    assert told(trip, fixed)["last_fix"] == "Strainer cleaned."


def test_that_the_beam_was_lost_is_told_of_what_the_next_sentence_names() -> None:
    lost = entry(1, "Ring down", "02:02 beam lost. QD16 is warm, 31 degrees.")
    stuck = entry(2, "Quiet night", "The lift was stuck for an hour. QD16 is warm.")

    assert told(lost, stuck)["last_trip"] == "02:02 beam lost."


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Racks surveyed", "Looked at the racks after the fault of QD16."),
        ("Umlauf", "Nach dem Ausfall von QD16 alle Netzteile angesehen."),
        ("Plan", "QD16 is in the list for the next planned outage."),
        ("Quiet", "QD16 had no beam trouble."),
        ("Re: postmortem of the QD16 trip", "Looked at the fast data."),
        ("Bericht", "Bericht zum Ausfall von QD16 liegt aus."),
    ],
)
def test_what_broke_before_or_is_planned_is_no_new_trip(title: str, text: str) -> None:
    trip = entry(1, "QD16 tripped", "Thermal interlock of QD16.")

    assert (
        told(trip, entry(9, title, text))["last_trip"] == "Thermal interlock of QD16."
    )


def test_a_procedure_tells_of_nothing_that_happened() -> None:
    steps = entry(1, "QD16: after a trip", "QD16 tripped? Reset it.", kind="procedure")

    assert told(steps) == {}
    assert card_of(steps).state == "unknown"


def test_only_a_thread_that_began_with_a_thing_tells_of_it_in_each_reply() -> None:
    thread = UUID(int=99)
    others = (
        entry(1, "Gun heater", "The heater dropped out.", thread_id=thread),
        entry(2, "Re: Gun heater", "QD16 was odd before.", thread_id=thread),
        entry(3, "Re: Gun heater", "It tripped again.", thread_id=thread),
    )
    assert told(*others) == {}

    own = (
        entry(1, "QD16 warm", "Looked at.", thread_id=thread),
        entry(2, "Re: QD16 warm", "It tripped again.", thread_id=thread),
    )
    assert told(*own) == {"last_trip": "It tripped again."}


def test_what_a_heading_names_owns_the_parts_that_its_text_names() -> None:
    text = "Samples of HX2 failed at noon."
    both = {"entities": [NAMED, OTHER]}

    assert told(entry(1, "QD16: samples", text, **both))["last_trip"] == text
    assert told(entry(1, "QD16 and samples", text, **both)) == {}


def test_the_culprit_of_anothers_fault_is_told_where_it_never_tripped() -> None:
    culprit = entry(1, "Orbit drifted", "Loop open. Culprit was QD16, it toggles.")

    assert told(culprit)["last_trip"].startswith("Culprit was QD16")

    trip = entry(0, "QD16 tripped", "QD16 tripped.")
    assert told(trip, culprit)["last_trip"] == "QD16 tripped."


@pytest.mark.requirement("S4-28")
def test_what_a_summary_tells_again_is_no_second_trip() -> None:
    mended = entry(1, "QD16 tripped", "06:40 QD16 tripped. QD16 is back at 06:55.")
    summary = entry(4, "Early shift", "One trip of QD16.", kind="shift_summary")
    alone = entry(20, "Early shift", "One trip of QD16.", kind="shift_summary")

    card = card_of(mended, summary)
    assert (card.state, told(mended, summary)["last_trip"]) == (
        "resolved",
        "06:40 QD16 tripped.",
    )
    # Of a trip that no entry of its shift tells, it is the one that does.
    assert card_of(mended, alone).state == "open"
