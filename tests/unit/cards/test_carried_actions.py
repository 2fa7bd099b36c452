"""What a handover asks for, when it surfaces again, and what took it up."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from api.entries.shift_digest import surfaces_before
from shared.cards.carried_actions import make_query
from shared.text.facility.facility import PLAIN
from shared.text.reading.actions import find_actions
from shared.times.calendar import Clock
from shared.times.shifts import Shift, plan
from tests.support.linear_cost import assert_linear

ZURICH = ZoneInfo("Europe/Zurich")
SHIFTS = [
    Shift(name=name, begins=begins)
    for name, begins in (("night", "23:00"), ("early", "07:00"), ("late", "15:00"))
]


@pytest.mark.parametrize(
    "text",
    [
        # As handovers of logbooks ask.
        "Handover to Liam: watch RFC2, otherwise nothing pending.",
        "Vacuum group should look at cell 3 before the access on Thursday.",
        "To do: orbit reference of this morning should be saved by physics.",
        "Please call Oskar if it drops below 20.",
        "Girder jacks in sector 5 so alignment must be checked after.",
        "Pending for the day: list of PLC cycle times from controls.",
        "As we all know by now the RH engine breathers do need\nreplacing.",
        "Next shift to check RF4.",
        "Follow up with the vacuum group on FE9.",
        "Bitte den Füllstand an P-201 prüfen.",
        "Die Pumpe muss morgen geprüft werden.",
        "Offen: Lager an einer Umwälzpumpe beobachten.",
        "Merci de surveiller le débit de P-201.",
        "Il faut encore remplacer le filtre.",
        "À faire : vérifier P-201.",
        "Si prega di controllare la pressione.",
        "La guarnizione è da sostituire.",
        "Por favor, revisar la bomba.",
        "Hay que cambiar el filtro.",
    ],
)
def test_a_sentence_that_asks_for_something_is_found(text: str):
    whole = f"Quiet. {text}"
    assert [whole[start:end] for start, end in find_actions(whole)] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Nothing else open.",
        "Pending: none.",
        "Please do nothing clever.",
        "The eggs are hidden, please do not search inside the racks.",
        "First, RF4 circulator flow, it should stay above 15.",
        "The next shift has read it aloud once.",
        "Refill done by 02:21.",
        "Check valve leaking.",
        "Check RF2: done",
        "Should we check it?",
        "Oil cooler outlet valves were required to be adjusted.",
        "Monitor well 6MW46 was then placed on excursion status.",
        "A followup report will be made to NRC region 4.",
        "> Please check RF2.",
        "Merci de ne pas toucher la vanne.",
        "Il ne faut pas arrêter la pompe.",
        "À faire : rien.",
        "Non bisogna fermare la pompa.",
        "No hay que tocar la válvula.",
        "Merci à Oskar pour son aide.",
    ],
)
def test_what_asks_for_nothing_is_no_action(text: str):
    assert [*find_actions(text)] == []


def test_a_list_below_its_head_is_what_is_to_be_done():
    text = "Beam ok.\nTo do:\n- RF2 tuner\n- Oskar about the dewar\nAll quiet."
    found = [text[start:end] for start, end in find_actions(text)]
    assert found == ["RF2 tuner", "Oskar about the dewar"]


@pytest.mark.parametrize("piece", ["please ", "bitte x ", "muss a ", "to do: ", "- "])
def test_actions_are_found_in_linear_time(piece: str):
    assert_linear(lambda text: [*find_actions(text)], piece * (20_000 // len(piece)))


@pytest.mark.requirement("I25")
@pytest.mark.parametrize(
    ("written", "surfaces"),
    [
        # Now is 07:10 of the early shift: two shifts have begun since, or three.
        ("2026-03-28T15:00", False),
        ("2026-03-28T14:59", True),
        ("2026-03-29T06:50", False),
    ],
)
def test_an_action_surfaces_when_the_third_shift_begins_and_not_before(
    written: str, *, surfaces: bool
):
    # The night before has an hour less, for clocks go forward.
    now = datetime(2026, 3, 29, 7, 10, tzinfo=ZURICH).astimezone(UTC)
    clock = Clock(now=now, zone="Europe/Zurich", shifts=plan(SHIFTS, "Europe/Zurich"))
    at = datetime.fromisoformat(written).replace(tzinfo=ZURICH)

    assert (at < surfaces_before(clock, now)) is surfaces


def test_without_a_plan_of_shifts_days_are_counted():
    now = datetime(2026, 3, 29, 7, 10, tzinfo=UTC)
    assert surfaces_before(Clock(now=now), now) == datetime(2026, 3, 27, tzinfo=UTC)


def test_what_takes_an_action_up_names_its_device_and_its_work_or_most_of_its_words():
    device = {"kind": "device", "name": "RF4", "canonical": "rf4"}
    named = make_query("Please check the RF4 flow.", "en", [device], PLAIN)
    unnamed = make_query("Please call Oskar about tank levels.", "en", [device], PLAIN)

    assert named == "('=device=rf 4' | '=device~rf 4' | 'rf4') & ('check' | 'flow')"
    assert "('call' & 'oskar' & 'about')" in unnamed
    assert "rf4" not in unnamed
    assert make_query("Please!", "en", [], PLAIN) == ""
