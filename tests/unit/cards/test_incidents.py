"""Threads as the incidents that they tell of: golden timelines, and states."""

from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.cli.render.timeline import later
from shared.cards import incident
from shared.cards.incident import Incident, IncidentEntry
from shared.text.facility.incident_words import Own
from shared.text.reading import incidents

ZONE = ZoneInfo("Europe/Berlin")


def at(clock: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(clock).replace(tzinfo=ZONE, fold=fold)


def told(*entries: tuple[str, str] | tuple[str, str, str]) -> Incident:
    """Return what entries tell that were written then; a third text is the title."""
    written = [
        IncidentEntry(
            entry_id=UUID(int=number),
            source="api",
            entry_time=at(when).astimezone(UTC),
            event_time=None,
            title=title[0] if title else "",
            text=text,
        )
        for number, (when, text, *title) in enumerate(entries)
    ]
    return incident.build_incident(written, lambda _: ZONE.key)


def steps(found: Incident) -> list[tuple[int, str, str, str]]:
    return [
        (
            one.entry_id.int,
            f"{one.time.astimezone(ZONE):%d %H:%M}",
            one.step,
            one.quote,
        )
        for one in found.timeline
    ]


def state(text: str) -> str:
    return told(("2026-03-02T06:05", text)).state


RF_TRIP = (
    (
        "2026-03-02T05:20",
        "SR RF cavity 2 tripped at 05:10, beam lost.\nReset failed, called RF expert.",
        "RF trip",
    ),
    (
        "2026-03-02T06:05",
        (
            "Cause: arc in the window, see plot. Replaced the arc detector fuse.\n"
            "05:57 Beam back, 400 mA."
        ),
        "Re: RF trip",
    ),
    ("2026-03-02T06:30", "Will watch the window temperature.", "Re: RF trip"),
)


@pytest.mark.requirement("I12")
def test_what_an_answer_quotes_is_no_step_of_its_own():
    found = told(
        ("2019-03-02T06:05", "06:05 klystron 2 tripped. Reset at 06:20."),
        (
            "2026-03-02T09:00",
            "> 06:05 klystron 2 tripped. Reset at 06:20.\n\nStill so?",
        ),
    )
    assert {one.entry_id.int for one in found.timeline if "trip" in one.quote} == {0}
    assert not any(one.quote.startswith(">") for one in found.timeline)


def test_an_rf_trip_is_told_step_by_step_and_is_watched_at_last():
    found = told(*RF_TRIP)

    assert steps(found) == [
        (0, "02 05:10", "trip", "SR RF cavity 2 tripped at 05:10, beam lost."),
        (0, "02 05:20", "note", "Reset failed"),
        (0, "02 05:20", "action", "called RF expert."),
        (1, "02 05:57", "cause", "Cause: arc in the window, see plot."),
        (1, "02 05:57", "action", "Replaced the arc detector fuse."),
        (1, "02 05:57", "restored", "05:57 Beam back, 400 mA."),
        (2, "02 06:30", "note", "Will watch the window temperature."),
    ]
    assert found.state == "monitoring"
    assert [told(*RF_TRIP[:count]).state for count in (1, 2)] == ["open", "resolved"]
    sure = [one.time_from for one in found.timeline]
    assert sure == ["quote", "entry", "entry", "beside", "beside", "quote", "entry"]


@pytest.mark.requirement("I12")
def test_a_vacuum_leak_goes_on_over_three_shifts_and_a_midnight():
    found = told(
        (
            "2026-03-01T22:40",
            "Pressure rise in sector 7 at 21:55, gate valves closed 22:05.",
        ),
        (
            "2026-03-02T00:20",
            (
                "Leak found at 23:50 at the flange of the screen monitor. Flange"
                " tightened at 00:10, but still leaking."
            ),
        ),
        (
            "2026-03-02T07:10",
            (
                "Gasket replaced at 03:30, pumping since 04:15. Not resolved until the"
                " pressure is below 1e-9 mbar."
            ),
        ),
        ("2026-03-02T15:00", "Leak repaired, sector 7 released at 14:45."),
    )

    assert steps(found) == [
        (0, "01 21:55", "trip", "Pressure rise in sector 7 at 21:55"),
        (0, "01 22:05", "action", "gate valves closed 22:05."),
        (
            *(1, "01 23:50", "cause"),
            "Leak found at 23:50 at the flange of the screen monitor.",
        ),
        (1, "02 00:10", "action", "Flange tightened at 00:10"),
        (1, "02 00:10", "note", "still leaking."),
        (2, "02 03:30", "action", "Gasket replaced at 03:30"),
        (2, "02 04:15", "action", "pumping since 04:15."),
        (
            *(2, "02 07:10", "note"),
            "Not resolved until the pressure is below 1e-9 mbar.",
        ),
        (3, "02 14:45", "restored", "Leak repaired, sector 7 released at 14:45."),
    ]
    assert found.state == "resolved"


@pytest.mark.requirement("I12")
def test_a_german_thread_is_read_like_an_english_one():
    found = told(
        (
            "2026-03-02T23:30",
            "Störung Kavität 3 um 23:12 Uhr, Strahl verloren. Ursache noch unklar.",
        ),
        (
            "2026-03-03T00:40",
            "Modulator quittiert und neu gestartet, weiter gestoert.",
        ),
        (
            "2026-03-03T01:30",
            (
                "Ursache: Überschlag im Koppler. Stecker getauscht um 01:02 Uhr, Strahl"
                " um 01:20 Uhr wieder da. Wird weiter beobachtet."
            ),
        ),
        ("2026-03-03T08:00", "Ruhige Nacht, Problem behoben."),
    )

    assert [(one[0], *one[1:3]) for one in steps(found)] == [
        (0, "02 23:12", "trip"),
        (0, "02 23:30", "note"),
        (1, "03 00:40", "action"),
        (1, "03 00:40", "note"),
        (2, "03 01:02", "cause"),
        (2, "03 01:02", "action"),
        (2, "03 01:20", "restored"),
        (2, "03 01:30", "note"),
        (3, "03 08:00", "restored"),
    ]
    assert found.state == "resolved"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Beam back.", "resolved"),
        ("Repaired and released for operation.", "resolved"),
        ("Fault cleared.", "resolved"),
        ("Strahl wieder da.", "resolved"),
        ("Der Fehler ist behoben.", "resolved"),
        ("Beam restored at 05:57. RF had tripped at 05:10.", "resolved"),
        ("Not resolved.", "open"),
        ("Still not fixed.", "open"),
        ("The pump was never repaired.", "open"),
        ("RF did not come back.", "open"),
        ("Reset was unsuccessful.", "open"),
        ("Will be repaired on Monday.", "open"),
        ("No beam until the leak is fixed.", "open"),
        ("Noch nicht behoben.", "open"),
        ("Wird morgen repariert.", "open"),
        ("Cause not understood.", "open"),
        ("Beam back at 05:57. Tripped again at 06:01.", "open"),
        ("Beam back. Will keep an eye on it.", "monitoring"),
        ("We are watching the pressure.", "monitoring"),
        ("Bleibt unter Beobachtung.", "monitoring"),
        ("Is the beam back?", "unknown"),
        ("The trip limit was discussed with the BPM monitor crew.", "unknown"),
        ("No trips, keine Störungen.", "unknown"),
        ("Reflected power drifted for ten minutes, nothing tripped.", "unknown"),
        ("Nichts ausgefallen, ruhige Nacht.", "unknown"),
        ("Added a warning at 4.5 bar and an alarm at 4.2 bar to the PLC.", "unknown"),
        ("A new flow interlock was installed.", "unknown"),
        ("Ein Alarm bei 4,2 bar wurde eingerichtet.", "unknown"),
        ("Added oil to the pump, then an alarm at 4.2 bar.", "open"),
        ("An alarm at 4.2 bar, access is set for the morning.", "open"),
        ("Es wurde nichts Besonderes beobachtet.", "unknown"),
        ("Lunch is served.", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_state_is_what_is_said_last_and_not_denied(text: str, expected: str):
    assert state(text) == expected


def test_a_newer_entry_that_says_nothing_leaves_the_state_as_it_is():
    found = told(("2026-03-02T05:00", "RF tripped."), ("2026-03-02T06:00", "See plot."))
    assert found.state == "open"
    assert steps(found)[-1] == (1, "02 06:00", "note", "See plot.")


def test_a_title_is_read_where_the_text_is_silent_and_once_in_a_thread():
    found = told(
        ("2026-03-02T05:00", "Arc detector of cavity 2 has seen light.", "RF trip"),
        ("2026-03-02T06:00", "Plots attached.", "Re: RF trip"),
    )
    assert [one[2:] for one in steps(found)] == [
        ("trip", "RF trip"),
        ("note", "Plots attached."),
    ]


@pytest.mark.requirement("I12")
@pytest.mark.parametrize(
    ("written", "clock", "expected"),
    [
        # Back an hour at 03:00: 02:30 comes twice, and may be either by four.
        (at("2026-10-25T04:00"), "02:30", None),
        (at("2026-10-25T02:40"), "02:30", at("2026-10-25T02:30")),
        (at("2026-10-25T04:00"), "02:30 CET", at("2026-10-25T02:30", fold=1)),
        (at("2026-10-25T04:00"), "02:30 CEST", at("2026-10-25T02:30")),
        (at("2026-10-25T04:00"), "01:30", at("2026-10-25T01:30")),
        (at("2026-10-25T00:10"), "23:50", at("2026-10-24T23:50")),
        # On an hour at 02:00: no clock shows 02:30.
        (at("2026-03-29T04:00"), "02:30", None),
        (at("2026-03-29T03:10"), "01:50", at("2026-03-29T01:50")),
        (at("2026-03-02T05:10"), "05:12", at("2026-03-02T05:12")),
        (at("2026-03-02T05:10"), "06:30", None),
    ],
)
def test_a_clock_time_is_the_last_one_before_it_was_written_or_nothing(
    written: datetime, clock: str, expected: datetime | None
):
    utc = written.astimezone(UTC)
    (found,) = incidents.find_statements(f"RF tripped at {clock}.", utc, ZONE.key)
    assert (found.at, found.time_from) == (
        (utc, "entry") if expected is None else (expected.astimezone(UTC), "quote")
    )


def test_the_gap_over_the_change_of_the_clocks_is_what_really_went_by():
    found = told(("2026-10-25T04:00", "RF tripped at 01:30. Beam back at 03:15."))
    first, last = found.timeline
    assert later(last.time - first.time) == "2 h 45 min later"


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("Perte du faisceau \u00e0 2h40.", "02:40"),
        ("La pompe a d\u00e9clench\u00e9 vers 3 h 05.", "03:05"),
        ("MOD-2 a d\u00e9clench\u00e9 \u00e0 04h.", "04:00"),
        ("2h40 : perte du faisceau.", "02:40"),
        ("La pompa si \u00e8 fermata alle 2h40.", "02:40"),
        # How long it was, of another day, or to come.
        ("Perte du faisceau, arr\u00eat de 2 h 40.", None),
        ("Perte du faisceau apr\u00e8s 2h40 de service.", None),
        ("Hier \u00e0 2h40 perte du faisceau.", None),
        ("Pompe en panne, remplacement pr\u00e9vu \u00e0 2h40.", None),
        ("Pompe en panne, r\u00e9union demain \u00e0 2h40.", None),
    ],
)
def test_a_time_is_read_as_the_french_write_it(text: str, clock: str | None):
    written = at("2026-03-02T06:00")
    (first, *_) = incidents.find_statements(text, written, ZONE.key)
    expected = written if clock is None else at(f"2026-03-02T{clock}")
    assert (first.step, first.at) == ("trip", expected)


@pytest.mark.parametrize(
    "text",
    [
        "Yesterday at 05:10 RF tripped.",
        "On 2026-02-27 RF tripped at 05:10.",
        "RF off for 05:10, tripped.",
        "RF tripped, beam expected at 05:10 should it hold.",
    ],
)
def test_of_another_day_a_plan_or_a_duration_no_time_is_read(text: str):
    first = incidents.find_statements(text, at("2026-03-02T06:00"), ZONE.key)[0]
    assert (first.step, first.at) == ("trip", at("2026-03-02T06:00"))


def test_facilities_add_words_of_their_own():
    own: Own = (("restored", ("bläst .. wieder",)), ("trip", ("hat geschnappt",)))
    when = at("2026-03-02T06:00")
    said = incidents.find_statements(
        "Kicker hat geschnappt. Blaest jetzt wieder.", when, "UTC", own
    )
    assert [one.step for one in said] == ["trip", "restored"]


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (0, ""),
        (47, "47 min later"),
        (60, "1 h later"),
        (125, "2 h 5 min later"),
        (3 * 1440, "3 days later"),
    ],
)
def test_gaps_are_told_in_words(minutes: int, expected: str):
    assert later(timedelta(minutes=minutes)) == expected


WORDS = st.sampled_from(
    [
        *("RF", "tripped", "at", "05:10", "25:99", "0512", "not", "beam", "back,"),
        *("due", "to", "arc.", "and\n", "after", ";", "->", "?", "\u2028", "reset"),
        *("will", "watch", "St\u00f6rung", "um", "behoben", "10", "<b>", "CET"),
        *("yesterday", "cause:", "cut", "\u00a0", "-", "e.g."),
    ]
)


@given(st.lists(WORDS, max_size=40).map(" ".join) | st.text(max_size=200))
def test_every_quote_stands_in_its_text_and_no_time_is_to_come(text: str):
    when = at("2026-03-02T06:00")
    for one in incidents.find_statements(text, when, ZONE.key):
        quote = incidents.quoted(text, one.start, one.end)
        assert quote
        assert quote in text
        assert when - timedelta(hours=12) <= one.at <= when + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        (
            "Perte du faisceau à 2h40. Le câble était percé. Réparé.",
            "resolved",
        ),
        (
            "MOD-2 a déclenché. Câble remplacé, redémarrage à 6h10.",
            "resolved",
        ),
        ("La porte ne ferme plus : contact cassé.", "open"),
        ("La pompe n'est pas réparée.", "open"),
        ("Perso il fascio. Pulito il filtro, fascio di nuovo alle 5:20.", "resolved"),
        ("La pompa è guasta.", "open"),
        ("La pompa non è riparata.", "open"),
        ("A non critical pump tripped.", "open"),
        (
            "El klistrón disparó. Se limpió y volvió a arrancar.",
            "resolved",
        ),
        ("El motor está quemado.", "open"),
        ("Beam dumped at 19:12. Back at 19:40.", "resolved"),
        ("GV-22 stuck. Solenoid replaced, the valve closes again.", "resolved"),
        # What is a word of these languages is another one here.
        ("Im Mai repariert.", "resolved"),
        ("Pump non vented. Fixed.", "resolved"),
    ],
)
def test_how_an_incident_stands_is_read_in_five_languages(text: str, stands: str):
    assert state(text) == stands


def test_a_sentence_goes_on_behind_the_point_of_a_day_or_a_shortened_word():
    whole = "Ausgefallen am 5. Mai, vgl. Nr. 3."
    text = f"{whole} Danach Ruhe."
    assert [text[slice(*one)] for one in incidents.sentences(text)] == [
        whole,
        "Danach Ruhe.",
    ]
    text = "Off for 20 min. Cause unclear."
    assert [text[slice(*one)] for one in incidents.sentences(text)] == [
        "Off for 20 min.",
        "Cause unclear.",
    ]
