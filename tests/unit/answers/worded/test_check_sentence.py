"""A model's sentence is held against those that it cites."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from shared.answers.evidence.evidence import EvidenceEntry, Sentence
from shared.answers.worded.check_sentence import Checker
from shared.search.results.hydrate import HitRow

CHECKER = Checker(zone="Europe/Berlin")
VALVE = (
    "Gate valve VG-8 closed at 11:04 because the compressed air had sagged to 3.0 bar."
    " The dryer of SR04 leaks 1,250 litres. It was not replaced."
)


def entry(
    text: str, number: int = 1, *, language: str = "en", **more: object
) -> EvidenceEntry:
    values: dict[str, object] = {
        "entry_id": UUID(int=number),
        "source": "api",
        "external_id": f"OPS-{number}",
        "revision": 1,
        "kind": "logbook",
        "category": None,
        "origin": "human",
        "title": "Beam lost",
        "text": text,
        "url": None,
        "authors": ["J. Ruiz"],
        "logbooks": [],
        "tags": [],
        "metadata": {},
        "entry_time": datetime(2026, 3, 2, 10, 4, tzinfo=UTC),
        "event_time": None,
        "thread_id": None,
        "language": language,
        **more,
    }
    return EvidenceEntry(HitRow(**values), 1.0, number)  # type: ignore[arg-type]


def sentences(text: str = VALVE, number: int = 1) -> list[Sentence]:
    return [one for one in entry(text, number).candidates() if one.start is not None]


def flaw(said: str, *cited: Sentence) -> str | None:
    return CHECKER.find_flaw(said, cited)


def flaw_in(language: str, written: str, said: str) -> str | None:
    """Return the flaw of a sentence about the one sentence of an entry."""
    found = entry(written, language=language).candidates()
    (one,) = [each for each in found if each.start is not None]
    return flaw(said, one)


CLOSED, LEAKS, KEPT = sentences()


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("said", "cited"),
    [
        (CLOSED.text, [CLOSED]),
        ("VG-8 closed as the compressed air sagged to 3 bar.", [CLOSED]),
        ("The dryer of SR04 leaks 1250 litres.", [LEAKS]),
        (
            "VG-8 closed because the air had sagged and the dryer leaks.",
            [CLOSED, LEAKS],
        ),
        ("On 2 March 2026 at 11:04 the gate valve VG-8 closed.", [CLOSED]),
        ("J. Ruiz wrote that the dryer of SR04 leaks.", [LEAKS]),
        ("The dryer was not replaced.", [LEAKS, KEPT]),
    ],
)
def test_what_its_sentences_say_holds(said, cited):
    assert flaw(said, *cited) is None


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("said", "cited", "wrong"),
    [
        ("VG-8 closed as the compressed air sagged to 2 bar.", [CLOSED], "number"),
        # Of the same entry, and of another sentence.
        ("VG-8 closed as the air sagged to 1,250 bar.", [CLOSED], "number"),
        ("Gate valve VG-9 closed because the air had sagged.", [CLOSED], "number"),
        ("The dryer of SR11 leaks 1250 litres.", [LEAKS], "number"),
        ("PV SR:C04-VAC closed because the air sagged.", [CLOSED], "number"),
        ("The operators drank coffee in the kitchen.", [CLOSED], "words"),
        ("VG-8 did not close although the air had sagged.", [CLOSED], "denial"),
        ("It was replaced.", [KEPT], "denial"),
        ("Three valves closed because the air had sagged to 3 bar.", [LEAKS], "number"),
        ("VG-8 closed.", [], "mark"),
    ],
)
def test_what_they_do_not_say_does_not(said, cited, wrong):
    assert flaw(said, *cited) == wrong


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("written", "said", "wrong"),
    [
        ("The air sagged to 3.0 bar.", "The air sagged to 3.0 mbar.", "number"),
        ("The gun was set to 30 kV.", "The gun was set to 30 V.", "number"),
        ("The water was at -5 \u00b0C.", "The water was at 5 \u00b0C.", "number"),
        (
            "Cooling pump P-2 was off for 5 h.",
            "Cooling pump P-2 off for 5 hours.",
            None,
        ),
        ("Ring current was 200 at noon.", "Ring current was 200 mA at noon.", None),
        ("The seal was replaced on Monday.", "The seal was replaced Friday.", "number"),
        ("Dichtung am Montag ersetzt.", "Dichtung am Monday ersetzt.", None),
        ("The seal was replaced in March.", "The seal was replaced in May.", "number"),
        # Written on 2 March 2026, a Monday.
        ("Dryer seal replaced, tight.", "Dryer seal replaced on Monday, tight.", None),
        ("The seal may be replaced.", "The seal may be replaced.", None),
        ("At 3 Novak shut the septum.", "Septum shut at 3 by Novak.", None),
        ("The pump tripped once.", "The pump tripped twenty times.", "number"),
        ("Die Pumpe fiel f\u00fcnf mal aus.", "Die Pumpe fiel 5 mal aus.", None),
        ("The valve of HC-2 opened at 30 V.", "Valve of HC-2 closed at 30 V.", "words"),
        ("Gate valve VG-2 opened.", "Gate valve VG-2 not closed.", "denial"),
        ("Valve opened, then closed.", "The valve closed then.", None),
        ("Pumpe VP-4 ausgeschaltet.", "Pumpe VP-4 eingeschaltet.", "words"),
    ],
)
def test_a_unit_a_sign_a_day_a_numeral_and_a_direction_are_those_of_its_source(
    written: str, said: str, wrong: str | None
) -> None:
    (one,) = sentences(written)
    assert flaw(said, one) == wrong


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("language", "written", "said"),
    [
        (
            "fr",
            "La pompe n'a pas \u00e9t\u00e9 remplac\u00e9e.",
            "La pompe a \u00e9t\u00e9 remplac\u00e9e.",
        ),
        ("fr", "La pompe n'a jamais fui.", "La pompe a fui."),
        (
            "it",
            "La pompa non \u00e8 stata sostituita.",
            "La pompa \u00e8 stata sostituita.",
        ),
        ("es", "La bomba nunca fue reemplazada.", "La bomba fue reemplazada."),
    ],
)
def test_what_is_denied_in_another_language_is_denied_here(language, written, said):
    assert flaw_in(language, written, said) == "denial"
    assert flaw_in(language, written, written) is None


def test_of_an_entry_the_sentences_are_found_that_a_statement_rests_on():
    found = CHECKER.nearest("The dryer of SR04 leaks.", [CLOSED, LEAKS, KEPT])
    assert found[0] is LEAKS


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("written", "said", "found"),
    [
        # Another device of the same number, or of the same kind.
        ("The dryer of HC-2 must be regenerated.", "HX-2", "name"),
        ("The dryer of HC-2 must be regenerated.", "HC-3", "number"),
        # Another spelling of the same one.
        ("The dryer of HC-2 must be regenerated.", "HC 02", None),
        ("The dryer of SR:C03-RF:HC2 must be regenerated.", "HC2", None),
    ],
)
def test_a_part_of_a_name_is_not_that_name(written, said, found) -> None:
    (one,) = sentences(written)
    assert flaw(f"The dryer of {said} must be regenerated.", one) == found


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("The feeder had three dips and nothing dropped.", None),
        ("The feeder had not three dips and nothing dropped.", "denial"),
        ("The feeder had three dips and it dropped.", "denial"),
    ],
)
def test_who_denies_more_often_than_the_source_denies_what_it_says(said, found) -> None:
    (one,) = sentences("The feeder had three dips, nothing dropped.")
    assert flaw(said, one) == found


def test_a_title_that_is_not_cited_denies_nothing() -> None:
    titled = entry("The tower is in free cooling mode.", title="Nothing to report")
    title, text = titled.candidates()
    said = "The tower is not in free cooling mode."
    assert flaw(said, text) == "denial"
    assert flaw("There is nothing to report.", title) is None
