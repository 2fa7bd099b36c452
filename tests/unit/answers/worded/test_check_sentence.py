"""A model's sentence is held against those that it cites."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from shared.answers.evidence.evidence import Candidate, EvidenceEntry
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


def sentences(text: str = VALVE, number: int = 1) -> list[Candidate]:
    return [one for one in entry(text, number).candidates() if one.start is not None]


def flaw(said: str, *cited: Candidate) -> str | None:
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
def test_what_is_denied_in_another_language_is_denied_here(
    language: str, written: str, said: str
) -> None:
    assert flaw_in(language, written, said) == "denial"
    assert flaw_in(language, written, written) is None


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("language", "written", "said", "wrong"),
    [
        (
            "en",
            "The seal was replaced on Monday.",
            "The seal was replaced on Tuesday.",
            "number",
        ),
        (
            "en",
            "The seal was replaced on 4 June.",
            "The seal was replaced on June 4th.",
            None,
        ),
        (
            "en",
            "The seal was replaced on 4 June.",
            "The seal was replaced on 5 June.",
            "number",
        ),
        (
            "en",
            "Both seals were replaced on 4 and 5 June.",
            "Seals were replaced on 5 June.",
            None,
        ),
        (
            "en",
            "The seal was replaced on 2026-06-04.",
            "The seal was replaced on 4 June 2026.",
            None,
        ),
        (
            "en",
            "The seal was replaced on 2026-06-04.",
            "Seal replaced on Thursday 4 June.",
            None,
        ),
        (
            "en",
            "The seal was replaced on 2026-06-04.",
            "Seal replaced on 4 June 2025.",
            "number",
        ),
        (
            "en",
            "The seal was replaced yesterday.",
            "The seal was replaced on Sunday, 1 March.",
            None,
        ),
        (
            "en",
            "The seal was replaced yesterday.",
            "The seal was replaced on Saturday.",
            "number",
        ),
        (
            "en",
            "In March 3 seals were replaced.",
            "3 seals were replaced in March.",
            None,
        ),
        ("en", "The seal holds up to 3.5.", "The seal holds up to 3.5 bar.", None),
        (
            "de",
            "Die Dichtung wurde am Montag ersetzt.",
            "Die Dichtung wurde am Dienstag ersetzt.",
            "number",
        ),
        (
            "de",
            "Die Dichtung wurde am Montag ersetzt.",
            "Dichtung am Montagmorgen ersetzt.",
            None,
        ),
        (
            "de",
            "Die Dichtung wurde am 4. Juni ersetzt.",
            "Dichtung am 4. Juli ersetzt.",
            "number",
        ),
        (
            "de",
            "Die Dichtung wurde am 4.6. ersetzt.",
            "Dichtung am 4. Juni ersetzt.",
            None,
        ),
        (
            "de",
            "Die Dichtung wurde ersetzt.",
            "Am 2. M\u00e4rz 2026 um 11:04 Uhr wurde die Dichtung ersetzt.",
            None,
        ),
        (
            "fr",
            "Le joint a \u00e9t\u00e9 remplac\u00e9 lundi.",
            "Le joint a \u00e9t\u00e9 remplac\u00e9 mardi.",
            "number",
        ),
        (
            "fr",
            "Le joint a \u00e9t\u00e9 remplac\u00e9 le 4 juin.",
            "Joint remplac\u00e9 le 4 juillet.",
            "number",
        ),
        (
            "fr",
            "Le joint a \u00e9t\u00e9 remplac\u00e9 le 4 juin.",
            "The joint was remplac\u00e9 on 4 June.",
            None,
        ),
        (
            "fr",
            "Le joint a \u00e9t\u00e9 remplac\u00e9.",
            "Joint remplac\u00e9 le 2 mars 2026.",
            None,
        ),
        (
            "it",
            "La guarnizione \u00e8 stata sostituita luned\u00ec.",
            "Guarnizione sostituita marted\u00ec.",
            "number",
        ),
        (
            "it",
            "La guarnizione \u00e8 stata sostituita il 4 giugno.",
            "Guarnizione sostituita il 4 luglio.",
            "number",
        ),
        (
            "it",
            "La guarnizione non \u00e8 mai stata sostituita.",
            "La guarnizione non \u00e8 mai sostituita.",
            None,
        ),
        (
            "it",
            "La guarnizione \u00e8 stata sostituita.",
            "Guarnizione sostituita il 2 marzo 2026 alle ore 11:04.",
            None,
        ),
        (
            "es",
            "La junta se cambi\u00f3 el lunes.",
            "La junta se cambi\u00f3 el martes.",
            "number",
        ),
        (
            "es",
            "La junta se cambi\u00f3 el 4 de junio.",
            "La junta se cambi\u00f3 el 4 de julio.",
            "number",
        ),
        (
            "es",
            "La junta se cambi\u00f3.",
            "La junta se cambi\u00f3 el 2 de marzo de 2026 a las 11:04.",
            None,
        ),
    ],
)
def test_a_day_is_one_of_its_source_in_whatever_words(
    language: str, written: str, said: str, wrong: str | None
) -> None:
    # Written on Monday, 2 March 2026, at 11:04 here.
    assert flaw_in(language, written, said) == wrong


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("language", "written", "said", "wrong"),
    [
        (
            "en",
            "The water stood at minus five \u00b0C at night.",
            "The water stood at -5 \u00b0C at night.",
            None,
        ),
        (
            "en",
            "The water stood at minus five \u00b0C at night.",
            "The water stood at 5 \u00b0C at night.",
            "number",
        ),
        (
            "en",
            "The water stood at -5 \u00b0C at night.",
            "The water stood at five \u00b0C below zero at night.",
            None,
        ),
        (
            "en",
            "The offset of the probe was set to -3.",
            "The offset of the probe was set to 3.",
            "number",
        ),
        (
            "en",
            "The offset of the probe was set to 3.",
            "The offset of the probe was set to minus three.",
            "number",
        ),
        (
            "de",
            "Das Wasser hatte nachts minus 5 \u00b0C.",
            "Das Wasser hatte nachts 5 \u00b0C.",
            "number",
        ),
        (
            "de",
            "Das Wasser hatte nachts -5 \u00b0C.",
            "Das Wasser hatte nachts minus f\u00fcnf \u00b0C.",
            None,
        ),
        (
            "fr",
            "L'eau \u00e9tait \u00e0 moins 5 \u00b0C.",
            "L'eau \u00e9tait \u00e0 5 \u00b0C.",
            "number",
        ),
        (
            "fr",
            "L'eau \u00e9tait \u00e0 -5 \u00b0C.",
            "L'eau \u00e9tait \u00e0 moins cinq \u00b0C.",
            None,
        ),
        (
            "fr",
            "L'eau \u00e9tait \u00e0 au moins 5 \u00b0C.",
            "L'eau \u00e9tait \u00e0 au moins cinq \u00b0C.",
            None,
        ),
        ("it", "L'acqua era a meno cinque \u00b0C.", "L'acqua era a -5 \u00b0C.", None),
        ("it", "L'acqua era a -5 \u00b0C.", "L'acqua era a 5 \u00b0C.", "number"),
        (
            "es",
            "El agua estaba a menos 5 \u00b0C.",
            "El agua estaba a 5 \u00b0C.",
            "number",
        ),
        (
            "es",
            "El agua estaba a -5 \u00b0C.",
            "El agua estaba a menos cinco \u00b0C.",
            None,
        ),
        ("en", "The pump tripped three times.", "The pump tripped 3 times.", None),
        ("en", "The pump tripped twice.", "The pump tripped three times.", "number"),
        (
            "en",
            "It took 25 minutes to pump down.",
            "It took twenty-five minutes to pump down.",
            None,
        ),
        ("en", "It tripped due to heat.", "It tripped due to heat.", None),
        ("de", "Die Pumpe fiel zweimal aus.", "Die Pumpe fiel dreimal aus.", "number"),
        ("de", "Der Tank fasst 1.250 Liter.", "The Tank fasst 1,250 Liter.", None),
        (
            "de",
            "Die Pumpe fiel um 11.30 Uhr aus.",
            "Die Pumpe fiel um 11:30 Uhr aus.",
            None,
        ),
        (
            "fr",
            "La pompe a d\u00e9clench\u00e9 trois fois.",
            "La pompe a d\u00e9clench\u00e9 3 fois.",
            None,
        ),
        (
            "fr",
            "La pompe a d\u00e9clench\u00e9 trois fois.",
            "La pompe a d\u00e9clench\u00e9 quatre fois.",
            "number",
        ),
        (
            "fr",
            "La pompe a d\u00e9clench\u00e9 \u00e0 9h30.",
            "La pompe a d\u00e9clench\u00e9 \u00e0 9:30.",
            None,
        ),
        (
            "fr",
            "Le joint de la pompe est nouveau.",
            "Le joint neuf de la pompe est nouveau.",
            None,
        ),
        (
            "fr",
            "Les neuf pompes ont d\u00e9clench\u00e9.",
            "Les 9 pompes ont d\u00e9clench\u00e9.",
            None,
        ),
        (
            "it",
            "La pompa \u00e8 scattata tre volte.",
            "La pompa \u00e8 scattata 3 volte.",
            None,
        ),
        (
            "it",
            "La pompa \u00e8 scattata sei volte.",
            "La pompa \u00e8 scattata 6 volte.",
            None,
        ),
        (
            "it",
            "La pompa \u00e8 scattata tre volte.",
            "La pompa \u00e8 scattata due volte.",
            "number",
        ),
        (
            "es",
            "La bomba se dispar\u00f3 once veces.",
            "La bomba se dispar\u00f3 11 veces.",
            None,
        ),
        (
            "es",
            "La bomba se dispar\u00f3 tres veces.",
            "La bomba se dispar\u00f3 cuatro veces.",
            "number",
        ),
        (
            "es",
            "Tard\u00f3 treinta y cinco minutos en parar.",
            "Tard\u00f3 35 minutos en parar.",
            None,
        ),
    ],
)
def test_a_number_is_one_of_its_source_in_digits_or_words_and_has_its_sign(
    language: str, written: str, said: str, wrong: str | None
) -> None:
    assert flaw_in(language, written, said) == wrong


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("language", "written", "said", "wrong"),
    [
        (
            "en",
            "The level of the tank rose above the limit.",
            "The level of the tank fell below the limit.",
            "words",
        ),
        (
            "en",
            "The heater of HC-2 is on again.",
            "The heater of HC-2 is off again.",
            "words",
        ),
        (
            "en",
            "The pressure stayed above 5 mbar.",
            "The pressure stayed below five mbar.",
            "words",
        ),
        (
            "en",
            "The pressure came close to 5 mbar.",
            "With the door open the pressure came close to 5 mbar.",
            None,
        ),
        (
            "en",
            "The valve was opened and did not leak.",
            "The valve was closed and did not leak.",
            "words",
        ),
        (
            "en",
            "The heater was switched on, and so on.",
            "The heater was switched on.",
            None,
        ),
        (
            "de",
            "Das Ventil VG-2 wurde ge\u00f6ffnet.",
            "Das Ventil VG-2 wurde geschlossen.",
            "words",
        ),
        ("de", "Das Ventil VG-2 wurde ge\u00f6ffnet.", "Ventil VG-2 closed.", "words"),
        ("de", "Das Ventil VG-2 wurde ge\u00f6ffnet.", "Ventil VG-2 ist offen.", None),
        ("de", "Die Pumpe ist gestartet.", "Die Pumpe ist gestoppt.", "words"),
        ("de", "Der Druck steigt wieder.", "Der Druck f\u00e4llt wieder.", "words"),
        (
            "de",
            "Der Strom stieg, dann fiel die Pumpe aus.",
            "Die Pumpe fiel aus, der Strom stieg.",
            None,
        ),
        (
            "de",
            "Der Druck blieb \u00fcber 5 mbar.",
            "Der Druck blieb unter 5 mbar.",
            "words",
        ),
        (
            "fr",
            "La vanne VG-2 a \u00e9t\u00e9 ouverte.",
            "La vanne VG-2 a \u00e9t\u00e9 ferm\u00e9e.",
            "words",
        ),
        (
            "fr",
            "La vanne VG-2 a \u00e9t\u00e9 ouverte.",
            "La vanne VG-2 est ouverte.",
            None,
        ),
        (
            "fr",
            "La pompe a d\u00e9marr\u00e9 \u00e0 midi.",
            "La pompe s'est arr\u00eat\u00e9e \u00e0 midi.",
            "words",
        ),
        ("fr", "La pression monte encore.", "La pression baisse encore.", "words"),
        (
            "fr",
            "Le courant reste \u00e0 moins de 5 mA.",
            "Le courant reste \u00e0 plus de 5 mA.",
            "words",
        ),
        (
            "it",
            "La valvola VG-2 \u00e8 stata aperta.",
            "La valvola VG-2 \u00e8 stata chiusa.",
            "words",
        ),
        ("it", "La valvola VG-2 era aperta.", "Aperta la valvola VG-2.", None),
        ("it", "La pompa \u00e8 accesa.", "La pompa \u00e8 spenta.", "words"),
        (
            "it",
            "La pressione \u00e8 salita di nuovo.",
            "La pressione \u00e8 scesa di nuovo.",
            "words",
        ),
        ("it", "La pompa si \u00e8 fermata.", "La pompa si \u00e8 fermata.", None),
        (
            "es",
            "La v\u00e1lvula VG-2 fue abierta.",
            "La v\u00e1lvula VG-2 fue cerrada.",
            "words",
        ),
        (
            "es",
            "La v\u00e1lvula VG-2 se abri\u00f3.",
            "La v\u00e1lvula VG-2 abierta, se abri\u00f3.",
            None,
        ),
        ("es", "La bomba est\u00e1 encendida.", "La bomba est\u00e1 apagada.", "words"),
        (
            "es",
            "La presi\u00f3n subi\u00f3 de nuevo.",
            "La presi\u00f3n baj\u00f3 de nuevo.",
            "words",
        ),
    ],
)
def test_a_sentence_with_the_opposite_of_a_word_of_its_source_does_not_hold(
    language: str, written: str, said: str, wrong: str | None
) -> None:
    assert flaw_in(language, written, said) == wrong


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("language", "written", "said", "wrong"),
    [
        (
            "en",
            "RFC2 and RFC3 tripped on VAC.",
            "RFC2, RFC3: VAC n'a pas tripped.",
            "denial",
        ),
        (
            "en",
            "RFC2 and RFC3 tripped on VAC.",
            "RFC2, RFC3: VAC non tripped.",
            "denial",
        ),
        ("en", "RFC2 never tripped on VAC.", "RFC2: VAC non ha mai tripped.", None),
        ("en", "Neither RFC2 nor RFC3 tripped.", "Weder RFC2 noch RFC3 tripped.", None),
        (
            "de",
            "Weder RFC2 noch RFC3 fiel aus.",
            "Neither RFC2 nor RFC3 fiel aus.",
            None,
        ),
        ("de", "RFC2 fiel aus.", "RFC2 nunca fiel aus.", "denial"),
        (
            "en",
            "Pump no. 3 was replaced at noon.",
            "Pump 3 was replaced at noon.",
            None,
        ),
        (
            "en",
            "The PAS key of the hall was lost.",
            "The key of the hall was lost.",
            None,
        ),
        (
            "en",
            "The pump and its seal were replaced.",
            "Not only the pump, its seal was replaced.",
            None,
        ),
        (
            "fr",
            "La pompe a \u00e9t\u00e9 remplac\u00e9e.",
            "La pompe n'a pas \u00e9t\u00e9 remplac\u00e9e.",
            "denial",
        ),
        ("fr", "La pompe ne fonctionne plus.", "La pompe fonctionne.", "denial"),
        ("fr", "La pompe ne fonctionne plus.", "La pompe ne fonctionne pas.", None),
        ("fr", "La pompe tourne sans fuite.", "La pompe tourne sans fuite.", None),
        (
            "it",
            "La pompa non \u00e8 mai stata sostituita.",
            "La pompa non \u00e8 stata sostituita.",
            None,
        ),
        (
            "it",
            "La pompa RX-2 \u00e8 stata sostituita.",
            "La pompa RX-2 nunca sostituita.",
            "denial",
        ),
        ("es", "La bomba no fue cambiada.", "La bomba fue cambiada.", "denial"),
        (
            "es",
            "No se cambi\u00f3 nunca la bomba.",
            "La bomba nunca se cambi\u00f3.",
            None,
        ),
        (
            "es",
            "Sin embargo la bomba se cambi\u00f3.",
            "La bomba se cambi\u00f3.",
            None,
        ),
    ],
)
def test_what_is_denied_in_one_language_is_no_more_and_no_less_in_another(
    language: str, written: str, said: str, wrong: str | None
) -> None:
    assert flaw_in(language, written, said) == wrong


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
def test_a_part_of_a_name_is_not_that_name(
    written: str, said: str, found: str | None
) -> None:
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
def test_who_denies_more_often_than_the_source_denies_what_it_says(
    said: str, found: str | None
) -> None:
    (one,) = sentences("The feeder had three dips, nothing dropped.")
    assert flaw(said, one) == found


def test_a_title_that_is_not_cited_denies_nothing() -> None:
    titled = entry("The tower is in free cooling mode.", title="Nothing to report")
    title, text = titled.candidates()
    said = "The tower is not in free cooling mode."
    assert flaw(said, text) == "denial"
    assert flaw("There is nothing to report.", title) is None
