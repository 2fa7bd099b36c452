"""One question answered from evidence: a clear leader alone, the kind first."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from shared.answers.choice.answer_status import BEST_OF_KIND, SHIPPED
from shared.answers.choice.count_entries import count_entries
from shared.answers.choice.part_answer import (
    CLEAR_LEAD,
    COMPARED,
    PartAnswer,
    answer_part,
)
from shared.answers.choice.sentence_meaning import no_meanings
from shared.answers.evidence.evidence import EvidenceEntry, Sentence
from shared.answers.question.question import Question, read_part
from shared.text.facility.facility import PLAIN
from tests.unit.answers.choice.test_sentence_score import BEGIN, made


def answer(question: str, *entries: EvidenceEntry, **more: Any) -> PartAnswer:
    return answer_part(
        read_part(question, question, PLAIN),
        entries,
        more.pop("meanings", no_meanings),
        lambda _, words: tuple(words),
        more.pop("characters", 420),
        **more,
    )


LATER = BEGIN + timedelta(days=1)
CAUSE = "Valve 8 closed because the air had sagged."
OTHER = "Valve 8 closed in the test of the interlock."


@pytest.mark.requirement("S4-67")
@pytest.mark.parametrize(
    ("score", "is_alone"),
    [(1 - CLEAR_LEAD - 0.01, True), (1 - CLEAR_LEAD, False), (1.0, False)],
)
def test_a_clear_leader_answers_alone_and_else_both_do(score, *, is_alone) -> None:
    part = answer("Why did valve 8 close?", made(CAUSE, 1), made(OTHER, 2, score=score))
    told = {one.candidate.text for one in part.chosen}
    assert told == ({CAUSE} if is_alone else {CAUSE, OTHER})
    assert part.judgement.status == "grounded"
    assert part.judgement.code == ("single_lead" if is_alone else "blended")


@pytest.mark.parametrize(
    ("text", "code", "grade"),
    [
        ("BUCKET CYLINDER LEAKING", "missing_kind", "D"),
        ("Bucket cylinder leaked, wiper seal gone.", "single_lead", "B"),
        ("Bucket cylinder leaked due to wear.", "single_lead", "A"),
    ],
)
def test_what_only_says_that_it_happened_is_not_why(text, code, grade) -> None:
    part = answer("Why did the bucket cylinder leak?", made(text))
    assert (part.judgement.code, part.judgement.grade) == (code, grade)
    assert part.is_of_kind is (grade == "A")


def test_a_question_of_another_kind_is_answered_by_all() -> None:
    part = answer("valve 8 closed", made(CAUSE, 1), made(OTHER, 2, score=0.1))
    assert len(part.chosen) == 2


def test_only_the_best_by_words_are_compared_and_of_why_what_words_leave_open() -> None:
    compared: list[int] = []

    def count(_: Question, among: Sequence[Sentence]) -> dict[Sentence, float]:
        compared.append(len(among))
        return dict.fromkeys(among, 0.9)

    entries = [
        made(f"The pump in hall {n} leaked {n} litres of oil.", n) for n in range(1, 13)
    ]
    asked = answer("How much oil did the pump leak?", *entries, meanings=count)
    told = answer("Why did the pump leak oil?", *entries, meanings=count)
    assert (told.judgement.status, compared) == ("grounded", [COMPARED])
    why = answer("Why did the turbine leak oil?", *entries, meanings=count)
    assert compared == [COMPARED, len(why.chosen)]
    assert sum(one.cosine is not None for one in asked.best) == COMPARED
    assert all(one.cosine is None for one in why.best)
    now = answer("Does the pump still leak oil?", *entries, meanings=count)
    assert all(one.cosine is None for one in now.best)


def test_what_has_few_of_the_words_and_the_meaning_is_a_b() -> None:
    def near(_: Question, among: Sequence[Sentence]) -> dict[Sentence, float]:
        return dict.fromkeys(among, 0.95)

    part = answer(
        "Which pump was rejuvenated?", made("The pump was renewed."), meanings=near
    )
    assert (part.judgement.status, part.judgement.grade) == ("grounded", "B")
    assert part.judgement.unsupported == ("rejuvenated",)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("What was the RCS leak at Indian Point unit 2?", "ambiguous_query"),
        ("what was the rcs leak at indian point unit 2", "ambiguous_query"),
        ("What happened to the vest at Indian Point unit 2?", "single_lead"),
        ("What happened at Indian Point unit 2?", "single_lead"),
    ],
)
def test_an_entry_of_the_same_place_about_something_else_is_no_answer(question, code):
    found = made("A round was fired at Indian Point unit 2. It hit a vest.", 1)
    other = made("The RCS leak was small.", 2, score=0.5)
    part = answer(
        question, found, other, meanings=lambda _, among: dict.fromkeys(among, 0.7)
    )
    assert part.judgement.code == code


def test_the_pump_of_another_letter_is_no_answer() -> None:
    told = made("The 'A' RHR pump failed to start because of an interlock.")
    assert answer("Why did the A RHR pump fail?", told).judgement.grade == "A"
    part = answer("Why did the B RHR pump fail?", told)
    assert part.judgement.code == "unknown_name"
    assert [one.written for one in part.unnamed] == ["B RHR"]


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("why did byron unit 2 trip on high flux", "unknown_name"),
        ("Why did Byron unit 2 trip on high flux?", "unknown_name"),
        ("why did oconee unit 2 trip on high flux", "single_lead"),
        # Nobody counts units of reactors here.
        ("why did reactor unit 2 trip on high flux", "single_lead"),
    ],
)
def test_the_unit_of_another_plant_is_no_answer(question: str, code: str) -> None:
    oconee = made("Oconee unit 2 tripped on high flux because of a rod.", 1)
    byron = made("BYRON UNIT 1 REACTOR POWER WAS REDUCED.", 2, score=0.5)
    assert answer(question, oconee, byron).judgement.code == code


def test_a_reply_need_not_repeat_what_its_thread_is_about() -> None:
    thread = UUID(int=99)
    first = made("RFC2 leaks.", 1, score=0.5, thread_id=thread)
    reply = made(
        "RFC2 is dry since its O ring is new.", 2, reply=True, thread_id=thread
    )
    part = answer(
        "Why did RFC2 leak?",
        first,
        reply,
        characters=40,
        meanings=lambda _, among: dict.fromkeys(among, SHIPPED.sure_meaning),
    )
    assert [one.candidate.entry for one in part.chosen] == [reply]
    assert part.judgement.code == "single_lead"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What was the beam current?", "Beam current was low after the dump at 10:30."),
        ("What was the beam lifetime?", "Beam lifetime was poor in run 7."),
        ("How high was the dose rate?", "Dose rate was high behind V3 in hall 2."),
        ("What is the limit of the alarm?", "The limit of the alarm changed on 3 May."),
        ("What is the limit of the alarm?", "The limit of the alarm changed on May 3."),
    ],
)
def test_a_time_a_date_and_the_number_of_a_thing_are_no_value(question, text) -> None:
    part = answer(question, made(text))
    assert part.judgement.code == "missing_kind"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What was the beam current?", "Beam current 200 in the evening."),
        ("What is the limit of the alarm?", "The limit of the alarm is 5.40 now."),
        ("How high was the dose rate?", "Dose rate in hall 2 was 3 at 10:30."),
        ("How long is the new cable?", "The new cable is 12 m long."),
    ],
)
def test_a_number_of_nothing_else_is_a_value_and_a_length_is_long(question, text):
    assert answer(question, made(text)).judgement.grade == "A"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Was it klystron 2 or klystron 3 that tripped?", "Klystron 3 tripped on arc."),
        ("Did QF1 or QF2 trip?", "QF2 tripped at ten on a water fault."),
        # A word in capitals need not be a name.
        ("Why did the Klystrons trip?", "A klystron tripped because of an arc."),
        ("Why Did The Pumps Trip?", "The pump tripped because of heat."),
        ("Why didn't the shutter open?", "The shutter did not open, due to low air."),
    ],
)
def test_one_of_two_that_are_offered_is_enough_and_a_word_is_no_name(question, text):
    assert answer(question, made(text)).judgement.grade == "A"


def test_none_of_what_is_offered_is_no_answer() -> None:
    part = answer("Did QF1 or QF2 trip?", made("QF3 tripped on a water fault."))
    assert part.judgement.code == "unknown_name"
    assert [one.written for one in part.unnamed] == ["QF1", "QF2"]


@pytest.mark.requirement("U19")
@pytest.mark.parametrize(
    ("language", "question", "text"),
    [
        (
            "en",
            "When was the dryer replaced?",
            "The dryer was replaced on March 3, 2024.",
        ),
        (
            "en",
            "When was the dryer replaced?",
            "The dryer was replaced in January 2024.",
        ),
        ("en", "When was the dryer replaced?", "The dryer was replaced at 3 pm."),
        ("en", "When was the dryer replaced?", "The dryer was replaced at 1330 hours."),
        ("en", "When was the dryer replaced?", "The dryer was replaced last week."),
        (
            "de",
            "Wann wurde der Trockner ersetzt?",
            "Der Trockner wurde um 14 Uhr ersetzt.",
        ),
        (
            "de",
            "Wann wurde der Trockner ersetzt?",
            "Der Trockner wurde im M\u00e4rz ersetzt.",
        ),
        (
            "fr",
            "Quand la pompe a chauff\u00e9 ?",
            "La pompe a chauff\u00e9 le 3 f\u00e9vrier.",
        ),
        (
            "fr",
            "Quand la pompe a chauff\u00e9 ?",
            "La pompe a chauff\u00e9 \u00e0 14h30.",
        ),
        ("fr", "Quand la pompe a chauff\u00e9 ?", "La pompe a chauff\u00e9 hier."),
        ("it", "Quando la pompa \u00e8 caduta?", "La pompa \u00e8 caduta il 4 giugno."),
        (
            "es",
            "\u00bfCu\u00e1ndo par\u00f3 la bomba?",
            "La bomba par\u00f3 el 4 de junio.",
        ),
        ("en", "How long was the beam down?", "The beam was down for 1h30."),
        ("en", "How long was the beam down?", "Beam was down for a couple of hours."),
        (
            "fr",
            "Combien de temps la pompe a chauff\u00e9 ?",
            "La pompe a chauff\u00e9 3 heures.",
        ),
        ("it", "Quanto tempo la pompa era ferma?", "La pompa era ferma sei ore."),
        (
            "es",
            "\u00bfCu\u00e1nto tiempo par\u00f3 la bomba?",
            "La bomba par\u00f3 tres horas.",
        ),
        ("it", "Dove perde la pompa?", "La pompa perde nella sala 2."),
        ("fr", "O\u00f9 fuit la pompe ?", "La pompe fuit dans la salle 2."),
        (
            "fr",
            "Qui a r\u00e9par\u00e9 la pompe ?",
            "Le groupe vide a r\u00e9par\u00e9 la pompe.",
        ),
        ("fr", "Combien de pompes sont vides ?", "Deux pompes sont vides."),
        ("es", "\u00bfCu\u00e1ntas bombas se pararon?", "Se pararon dos bombas."),
        ("en", "Who repaired the chiller?", "Peter Novak repaired the chiller."),
        ("en", "Who repaired the chiller?", "The chiller was repaired by Novak."),
        (
            "de",
            "Wer hat die Pumpe getauscht?",
            "Kollege Novak hat die Pumpe getauscht.",
        ),
        (
            "en",
            "Who will repair the dryer?",
            "The dryer will be repaired by the company.",
        ),
    ],
)
def test_a_time_a_place_and_a_person_are_told_in_five_languages(
    language: str, question: str, text: str
) -> None:
    part = answer(question, made(text, language=language))
    assert part.judgement.grade == "A"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who repaired the dryer?", "The dryer must be repaired by the company."),
        ("Who repaired the dryer?", "The dryer will be repaired tomorrow."),
        ("When was the dryer replaced?", "The dryer should be replaced on Monday."),
        ("When was the dryer replaced?", "Der Trockner soll Montag ersetzt werden."),
        ("When was it generated?", "The pump has 4 generators and 2 margins."),
        ("Wann kam der Filter?", "Hier kam der Filter f\u00fcr alle 2 Pumpen."),
    ],
)
def test_what_is_still_to_be_done_was_done_by_nobody_and_never(question, text) -> None:
    part = answer(question, made(text, authors=("Will Baker",)))
    assert part.judgement.status != "grounded"


def test_none_of_the_kind_is_no_answer() -> None:
    part = answer("Where was the dryer replaced?", made("The dryer was replaced."))
    assert (part.judgement.status, part.judgement.code) == (
        "insufficient",
        "missing_kind",
    )
    assert not part.is_of_kind


def test_a_thread_with_far_fewer_of_the_words_is_of_something_else() -> None:
    part = answer(
        "Why did the helium level drop?",
        made("The helium level fell. A valve was open.", 1),
        made("The gun supply had dropped out because of a fuse.", 2),
    )
    assert {one.candidate.entry.rank for one in part.chosen} == {1}


def test_a_name_that_nobody_has_is_told_and_nothing_chosen() -> None:
    part = answer("Why did valve 9 close?", made(CAUSE))
    assert part.judgement.code == "unknown_name"
    assert [one.written for one in part.unnamed] == ["valve 9"]
    assert part.chosen == []


@pytest.mark.parametrize("others", [BEST_OF_KIND, BEST_OF_KIND - 1])
def test_a_count_far_from_the_question_fills_no_slot(others: int) -> None:
    part = answer(
        "How many times was the dryer replaced?",
        *(made(f"Dryer {n} was replaced on 3 May.", n) for n in range(1, others + 1)),
        made("The dryer was replaced three times.", 99, score=0.1),
    )
    assert part.is_of_kind is (others < BEST_OF_KIND)
    assert (part.judgement.code == "missing_kind") is not part.is_of_kind


def test_a_person_of_whom_nothing_asked_is_said_fills_no_slot() -> None:
    part = answer(
        "Who delivers the membrane of the filter?",
        made("The membrane of the filter is replaced.", 1),
        made("The group measures the sample all the same.", 2),
    )
    assert (part.judgement.status, part.judgement.code) == (
        "insufficient",
        "missing_kind",
    )


def test_what_has_none_of_the_words_is_refused_by_them() -> None:
    part = answer("lightning struck", made("Emergency lighting on for a second.", 1))
    assert part.judgement.code == "unsupported_words"


def test_a_time_of_day_in_hours_is_not_how_long_it_took() -> None:
    later = "Some 20 minutes later the alignment of injection was restored."
    event = made(
        "At approximately 0230 hours injection was removed from its alignment. "
        f"{later} From 1330 to 1509 hours removed injection was discussed."
    )
    part = answer("How long was injection removed from its alignment?", event)
    assert part.chosen[0].candidate.text == later
    assert [one.is_of_kind for one in part.chosen] == [True, False, False]


def test_an_entry_asked_for_by_its_number_is_named() -> None:
    mouse = made("The mouse was caught at nine.", external_id="OPS-20606")
    part = answer("OPS-20606", mouse)
    assert (part.judgement.status, part.unnamed) == ("grounded", ())
    assert answer("OPS-20607", mouse).judgement.code == "unknown_name"


@pytest.mark.parametrize(
    ("question", "text", "grade"),
    [
        (
            "When was the valve of chiller 2 replaced?",
            "Chiller 2: valve replaced.",
            "B",
        ),
        ("Wann wurde das Ventil V412 getauscht?", "Ventil V412 getauscht.", "B"),
        ("Quand a été remplacée PI-7 ?", "PI-7 a été remplacée.", "B"),
        # Somebody wrote when it was.
        ("When was the valve replaced?", "The valve was replaced at 10:15.", "A"),
        # It was not done, nobody knows, or it is asked when it will be.
        ("When was the valve replaced?", "The valve must be replaced.", "D"),
        ("When was the valve replaced?", "The valve was not replaced.", "D"),
        ("When was the valve replaced?", "Was the valve replaced?", "D"),
        ("When will the valve be replaced?", "The valve was replaced.", "D"),
        ("When was the valve of chiller 2 replaced?", "The valve was replaced.", "D"),
    ],
)
def test_what_an_entry_says_was_done_was_done_when_it_was_written(
    question: str, text: str, grade: str
) -> None:
    part = answer(question, made(text))
    assert part.judgement.grade == grade
    assert any(one.is_dated for one in part.chosen) is (grade == "B")


def test_a_time_that_somebody_wrote_is_better_than_that_of_an_entry() -> None:
    written = made("Valve replaced.", 1)
    told = made("The old valve was replaced on 3 May.", 2, score=0.5)
    part = answer("When was the valve replaced?", written, told)
    assert not any(one.is_dated for one in part.chosen)
    assert part.chosen[0].candidate.text == "The old valve was replaced on 3 May."


def test_of_the_last_time_the_newest_entry_tells() -> None:
    first = made("Bucket replaced by Novak.", 1)
    last = made("Bucket replaced again.", 2, entry_time=LATER)
    part = answer("When was the bucket last replaced?", first, last)
    assert part.chosen[0].candidate.entry is last


def test_how_something_is_done_a_procedure_tells() -> None:
    told = made(
        "After a quench: wait for helium, then ramp slowly.", 1, kind="procedure"
    )
    happened = made("Quench at noon, recovered from the quench by ramping slowly.", 2)
    part = answer("How do we handle a quench?", happened, told)
    assert part.chosen[0].candidate.entry is told
    part = answer("What happened with the quench at noon?", happened, told)
    assert part.chosen[0].candidate.entry is happened


def test_the_steps_of_a_procedure_are_told_in_turn_from_the_one_that_is_asked_for():
    steps = "Alarm in the cellar: shut HV-1. Call the crew. Pump P-12 starts alone."
    told = made(f"Keys hang at the door. {steps}", 1, kind="procedure")
    part = answer("What do we do when there is an alarm in the cellar?", told)
    assert " ".join(one.candidate.text for one in part.chosen) == steps
    assert part.judgement.grade == "A"
    # How it went once is no procedure.
    part = answer("What do we do when there is an alarm in the cellar?", made(steps))
    assert part.judgement.grade == "B"


def test_what_has_few_of_the_words_leads_no_answer_by_its_kind_alone() -> None:
    told = made("Valve of the old chiller replaced, compressor noisy.", 1)
    other = made("The chiller of hall 4 was not tested since November 1997.", 2)
    part = answer("When was the compressor valve of the chiller replaced?", told, other)
    assert part.chosen[0].candidate.entry is told


@pytest.mark.parametrize(
    ("text", "unsaid"),
    [
        ("Both diesel generators were inoperable at Ginna.", ("pump",)),
        ("The AFW pump was inoperable at Ginna.", ()),
        # It is called otherwise in German.
        ("Die Kreiselpumpe war in Ginna außer Betrieb und wurde getauscht.", ()),
    ],
)
def test_asked_which_pump_an_entry_without_a_pump_is_no_answer(text, unsaid) -> None:
    language = "de" if text.startswith("Die") else "en"
    part = answer("Which pump was inoperable at Ginna?", made(text, language=language))
    assert part.judgement.unsaid == unsaid


def test_how_something_stands_the_newest_entry_tells() -> None:
    first = made("LMOD4 tripped on its heater.", 1)
    last = made("LMOD4 locked out for a new transformer.", 2, entry_time=LATER)
    part = answer("What is the status of LMOD4?", first, last)
    assert part.chosen[0].candidate.entry is last
    assert part.judgement.status == "grounded"


@pytest.mark.parametrize(
    ("question", "text", "reckoned"),
    [
        (
            "How long was the beam off after the UPS test?",
            "Beam dumped at 19:12 in the UPS test. Back at 19:40.",
            "19:12 to 19:40: 28 min",
        ),
        (
            "Wie lange war der Strahl weg?",
            "23:50 war der Strahl weg. Strahl zurück um 01:10.",
            "23:50 to 01:10: 1 h 20 min",
        ),
        # Somebody wrote how long it was, or it is not clear which times are meant.
        ("How long was the beam off?", "Beam lost 5:10, back at 5:30, so 20 min.", ""),
        ("How long was the beam off?", "Beam lost 5:10, 5:40. Back at 5:50.", ""),
        ("How long was the beam off?", "Beam lost at 5:10.", ""),
        ("How long is the beam pipe?", "Beam lost at 5:10. Back at 5:40.", ""),
    ],
)
def test_how_long_it_was_off_is_reckoned_from_two_times(question, text, reckoned):
    # Whoever tells of times of day tells of the last hours.
    written = BEGIN + timedelta(hours=19 if "19:12" in text else 5)
    part = answer(question, made(text, entry_time=written), zone="Europe/Zurich")
    assert "".join(one.reckoned for one in part.chosen) == reckoned
    assert (part.judgement.grade == "B") is bool(reckoned)


def test_a_time_of_something_near_is_not_when_it_was_done() -> None:
    near = made("The filter was cleaned, the klystron started at 3:25.", 1)
    told = made("Ruiz changed the water filter of the klystron.", 2)
    part = answer("When was the water filter of the klystron changed?", near, told)
    assert [one.candidate.entry for one in part.chosen] == [told]
    assert part.chosen[0].is_dated


def test_asked_who_wrote_something_any_entry_of_it_tells() -> None:
    part = answer("Who wrote the night summary?", made("Night summary: all quiet."))
    assert (part.judgement.status, part.is_of_kind) == ("grounded", True)


@pytest.mark.parametrize(("authors", "grade"), [(["Hugo Moreau"], "B"), ([], "D")])
def test_whoever_wrote_in_the_first_person_did_it(authors, grade) -> None:
    text = "Closed at 03:36. I moved the mask on Friday."
    part = answer("Who moved the mask?", made(text, authors=authors))
    assert part.judgement.grade == grade
    assert any(one.is_signed for one in part.chosen) is (grade == "B")


@pytest.mark.parametrize(
    ("question", "title", "text", "grade"),
    [
        # What is told of is the loss, not the reboot.
        (
            "Why did the QF9 controller reboot?",
            "QF9 controller reboot",
            "Tune moved before the loss, so it is certain that this was the cause.",
            "B",
        ),
        (
            "Why did the QF9 controller reboot?",
            "QF9 controller reboot",
            "The controller rebooted because its watchdog fired.",
            "A",
        ),
        ("Why did valve 8 close?", "Valve 8 closed", "Cause: a cracked O ring.", "A"),
        # Nobody knows it.
        (
            "Why did valve 8 close?",
            "Valve 8 closed in the night",
            "The cause why valve 8 closed is unknown at this time.",
            "B",
        ),
        (
            "Why did valve 8 close?",
            "Valve 8 closed in the night",
            "We are investigating the cause.",
            "B",
        ),
        # It is told in other words than it is asked.
        ("Warum ist V8 geschlossen?", "V8", "V8 closed due to low air.", "B"),
        # A current is no voltage.
        (
            "What voltage had cavity 3?",
            "Cavity 3",
            "At 400 mA the voltage of cavity 3 was varied; 8 kV on klystron 2.",
            "A",
        ),
        (
            "What voltage had cavity 3?",
            "Cavity 3",
            "At 400 mA we varied the voltage of cavity 3. Klystron 2 has 8 kV.",
            "B",
        ),
    ],
)
def test_an_a_is_of_what_is_asked_about(question, title, text, grade) -> None:
    part = answer(question, made(text, title=title))
    assert part.judgement.grade == grade


LOTO = "LOTO applied to the main breaker of LMOD4, tag 0412."
SPERRE = "Hauptschalter von LMOD4 gesperrt, Schild 77 hängt."
CONSIGNE = "Alimentation LMOD4 consignée à 9 h 10 par Dubois."


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        (question, text, language)
        for text, language in ((LOTO, "en"), (SPERRE, "de"), (CONSIGNE, "fr"))
        for question in (
            "Is there a lock on LMOD4?",
            "Is LMOD4 locked out?",
            "Is LMOD4 tagged out?",
            "Was LMOD4 locked?",
            "Ist LMOD4 gesperrt?",
            "Y a-t-il une consignation sur LMOD4 ?",
            "C'è un lucchetto su LMOD4?",
            "¿Hay un candado en LMOD4?",
        )
    ]
    + [("Who put a lock on LMOD4?", CONSIGNE, "fr")],
)
def test_a_lock_is_one_by_any_of_its_names(question, text, language) -> None:
    part = answer(question, made(text, language=language))
    assert part.judgement.status == "grounded"


def test_another_word_for_what_was_done_says_as_much() -> None:
    part = answer("When was the pump exchanged?", made("Pump replaced on 3 May."))
    assert (part.judgement.grade, part.judgement.unsupported) == ("A", ())
    part = answer("Is there a lock on LMOD4?", made("LMOD4 tripped on its heater."))
    assert part.judgement.status == "clarify"


@pytest.mark.parametrize(
    ("question", "text", "code"),
    [
        ("When was asset Z repaired?", "Asset B repaired on 3 May.", "unknown_name"),
        ("When was asset Z repaired?", "Asset Z repaired on 3 May.", "single_lead"),
        ("Warum fiel Block 1 aus?", "Unit 1 fiel aus, weil Öl fehlte.", "single_lead"),
        ("Warum fiel Block 1 aus?", "Unit 2 fiel aus, weil Öl fehlte.", "unknown_name"),
    ],
)
def test_a_unit_is_told_from_another_by_its_letter_or_number(question, text, code):
    assert answer(question, made(text)).judgement.code == code


def test_where_something_was_found_is_not_what_found_it() -> None:
    found = made("Elf Enten wurden in Seabrook gefunden.", language="de")
    part = answer("Wie viele Enten wurden in Seabrook gefunden?", found)
    assert (part.judgement.status, part.judgement.unsaid) == ("grounded", ())


@pytest.mark.parametrize(
    ("question", "text", "language", "code"),
    [
        ("Is the septum interlock bypassed?", "Septum contactor exchanged.", "en", ""),
        ("Is the septum interlock bypassed?", "Pump interlock bypassed.", "en", ""),
        ("Is valve GV-08 closed?", "Valve GV-08 must be closed.", "en", ""),
        ("Is valve GV-08 closed?", "Valve GV-08 opened.", "en", "single_lead"),
        ("Is valve GV-08 open?", "Schieber GV-08 ist zu heiß.", "de", ""),
        ("Ist GV-08 offen?", "GV-08 reports closed.", "en", "single_lead"),
        (
            "La vanne GV-08 est-elle fermée ?",
            "Vanne GV-08 ouverte.",
            "fr",
            "single_lead",
        ),
        ("La valvola GV-08 è aperta?", "Valvola GV-08 chiusa.", "it", "single_lead"),
        (
            "¿Está abierta la válvula GV-08?",
            "Válvula GV-08 cerrada.",
            "es",
            "single_lead",
        ),
        (
            "Is the branch of QD16 valved off?",
            "Branch of QD16 open.",
            "en",
            "single_lead",
        ),
        ("Is the branch of QD16 valved off?", "Valve in branch of QD16.", "en", ""),
        ("Is the QD16 supply off?", "QD16 supply running again.", "en", "single_lead"),
        ("Is the QD16 supply on?", "Spares are on the QD16 supply.", "en", ""),
        ("Is the QD16 supply on?", "The QD16 supply was off, no flow.", "en", ""),
        ("Is HX-2 at full flow?", "Flow of HX-2 is 12 l/min.", "en", "single_lead"),
        ("Is HX-2 at full flow?", "Label of HX-2 renewed.", "en", ""),
        ("Is the leak of HX-2 repaired?", "Leak of HX-2 seen.", "en", ""),
    ],
)
def test_what_says_neither_a_state_nor_its_opposite_tells_none(
    question, text, language, code
) -> None:
    part = answer(question, made(text, language=language))
    refused = {"missing_kind", "unsupported_words"}
    assert part.judgement.code in ({code} if code else refused)


def test_the_last_entry_of_a_thread_that_tells_a_state_tells_it_alone() -> None:
    locked = made("Pump P-201 locked out.", 1, thread_id=UUID(int=9))
    seal = made(
        "New seal for P-201. Lock removed.",
        2,
        thread_id=UUID(int=9),
        entry_time=LATER,
        score=0.5,
    )
    hums = made("Pump P-201 hums.", 3, entry_time=LATER + timedelta(days=1))
    part = answer("Is pump P-201 locked out?", locked, seal, hums)
    assert [one.candidate.text for one in part.chosen] == ["Lock removed."]
    assert (part.judgement.status, part.judgement.grade) == ("grounded", "B")


@pytest.mark.parametrize(
    ("question", "text", "is_told"),
    [
        ("When will the summer shutdown begin?", "The group begins tonight.", False),
        (
            "When will the summer shutdown begin?",
            "Summer shutdown begins in July.",
            True,
        ),
        ("Wann beginnt der Sommerstillstand?", "Die Gruppe beginnt heute.", False),
        ("Quand commence l'arrêt d'été ?", "Le groupe commence ce soir.", False),
        ("Who will service the dryer?", "The vendor will check the pump.", False),
    ],
)
def test_a_time_or_person_of_something_else_fills_no_slot(question, text, *, is_told):
    plan = made("Exchange of the dryer in the summer shutdown.", 2)
    part = answer(question, made(text), plan)
    assert (part.judgement.status == "grounded") is is_told


@pytest.mark.parametrize(
    ("reply", "is_told"),
    [
        ("Re: QF9 firmware has a counter overflow", True),
        ("Re: QF9 controller reboot", False),
        ("Re: thanks to everybody on shift", False),
    ],
)
def test_what_a_reply_found_belongs_to_why(reply, *, is_told) -> None:
    first = made(
        "The QF9 controller rebooted at noon with beam. Nothing is in its log before"
        " the reboot of the QF9 controller. Tune moved as QF9 lost its controller.",
        title="QF9 controller reboot",
        thread_id=UUID(int=9),
    )
    found = made(
        "We know of it.", 2, title=reply, reply=True, thread_id=UUID(int=9), score=0.2
    )
    part = answer("Why did the QF9 controller reboot?", first, found)
    told = [one.candidate.entry for one in part.chosen]
    assert (found in told, len(told)) == (is_told, 3)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Warum schloss der Schieber GV-08?", "Valve GV-08 closed as the air sagged."),
        (
            "Warum löste der Modulator 3 aus?",
            "Modulator 3 tripped, its fuse had blown.",
        ),
        ("Wann begann der Zugangstag?", "The access day began at 08:10."),
    ],
)
def test_a_verb_in_two_parts_and_a_compound_are_said_in_other_languages(
    question, text
) -> None:
    assert answer(question, made(text)).judgement.status == "grounded"


@pytest.mark.parametrize(
    ("question", "text", "language", "is_told"),
    [
        (
            "How do we reset the feedback?",
            "The feedback opened by itself.",
            "en",
            False,
        ),
        ("How do we reset the feedback?", "Feedback reset at noon.", "en", False),
        (
            "How do we reset the feedback?",
            "Press RESET of the feedback twice.",
            "en",
            True,
        ),
        (
            "How do we reset the feedback?",
            "Reset the feedback by cycling its crate.",
            "en",
            True,
        ),
        ("How do I bleed the fuel pump?", "Bleed fuel pump.", "en", False),
        (
            "Wie setzt man den Regler?",
            "Regler setzen: Taste drücken, warten.",
            "de",
            True,
        ),
        ("Wie kann man den Regler setzen?", "Regler gestern gesetzt.", "de", False),
        (
            "Comment réarmer la pompe ?",
            "Réarmer la pompe: fermer la vanne.",
            "fr",
            True,
        ),
        ("Comment réarmer la pompe ?", "Pompe réarmée hier.", "fr", False),
        ("Come si apre la valvola?", "Valvola: si apre girando la chiave.", "it", True),
        ("¿Cómo se abre la válvula?", "Válvula: se abre girando la llave.", "es", True),
    ],
)
def test_how_to_do_something_is_told_by_steps_of_just_that(
    question, text, language, *, is_told
) -> None:
    part = answer(question, made(text, language=language))
    assert (part.judgement.status == "grounded") is is_told


def test_how_often_is_counted_by_sentences_that_say_all_of_it() -> None:
    question = read_part("How often did RF2 trip?", "How often did RF2 trip?", PLAIN)
    entries = [
        made("RF2 tripped at noon.", 1),
        made("RF2 trip again, the tuner hunts.", 2, thread_id=UUID(int=9)),
        made("RF2 hatte noch eine Auslösung.", 3, language="de", entry_time=LATER),
        made("RF2 ran all night, nothing tripped.", 4),
        made("RF2 must trip in the test.", 5),
        made("Did RF2 trip?", 6),
        made("RF3 tripped.", 7),
        made("RF2 behaves.", 8, title="No trips tonight"),
    ]
    counted = count_entries(question, entries, "UTC")
    assert counted is not None
    assert {one.candidate.entry.rank for one in counted.best} == {1, 2, 3}
    assert counted.counted == (
        "3 entries say “RF2”, “trip” or other words for it,"
        " from 2026-03-02 to 2026-03-03"
    )
    assert counted.judgement.grade == "B"
    assert count_entries(question, entries[3:], "UTC") is None


@pytest.mark.parametrize(
    "question",
    [
        "How many times did RF2 trip?",
        "Wie oft löste RF2 aus?",
        "Combien de fois RF2 a-t-il déclenché ?",
        "Quante volte è scattato RF2?",
        "¿Cuántas veces se disparó RF2?",
    ],
)
def test_how_often_is_asked_in_five_languages(question: str) -> None:
    read = read_part(question, question, PLAIN)
    assert count_entries(read, [made("RF2 tripped twice.")], "UTC") is not None


@pytest.mark.parametrize(
    ("text", "is_dated"),
    [
        ("LOTO applied to LMOD4.", True),
        ("LMOD4: lock and tag fitted for the heater.", True),
        ("LOTO of LMOD4 will be applied.", False),
        ("LMOD4 heater exchanged.", False),
    ],
)
def test_a_deed_told_by_its_noun_is_dated_by_its_entry(text, *, is_dated) -> None:
    part = answer("When was LMOD4 locked?", made(text))
    assert any(one.is_dated for one in part.chosen) is is_dated


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("What broke most often?", "Two fibres broke.", "en"),
        ("Which pump failed most frequently?", "Pump 3 failed.", "en"),
        ("What is the most common cause of trips?", "Cause of the trips: arcs.", "en"),
        ("Welche Pumpe leckte am h\u00e4ufigsten?", "Pumpe 3 leckte.", "de"),
        ("Quelle pompe fuit le plus souvent ?", "La pompe 3 fuit.", "fr"),
        ("Quale pompa perde pi\u00f9 spesso?", "La pompa 3 perde.", "it"),
        ("\u00bfQu\u00e9 bomba falla m\u00e1s a menudo?", "Falla la bomba 3.", "es"),
    ],
)
def test_one_entry_is_not_what_happened_most_often(question, text, language) -> None:
    part = answer(question, made(text, language=language))
    assert part.judgement.status != "grounded"


def test_what_an_entry_calls_the_most_frequent_is_told() -> None:
    counted = made("Pump 3 failed most often this year, five times.")
    part = answer("Which pump failed most often?", counted)
    assert part.judgement.status == "grounded"


@pytest.mark.parametrize(
    "question", ["What was the cause of the last trip?", "What caused the last trip?"]
)
def test_the_last_cause_is_told_by_the_thread_of_the_last_entry_about_it(
    question,
) -> None:
    tripped: dict[str, Any] = {"thread_id": UUID(int=9), "entry_time": LATER}
    later = LATER + timedelta(days=1)
    part = answer(
        question,
        made("Trip of cavity 2. Cause of the trip was backlash of the tuner.", 1),
        made("Cavity 4 tripped on flow.", 2, **tripped),
        made("Found the flow switch dirty, cleaned it.", 3, reply=True, **tripped),
        # They tell of no trip.
        made("No trip in 200 hours, because all is calm.", 4, entry_time=later),
        made("Drive at the hard stop, because of grease.", 5, entry_time=later),
        made("Moved to the spare channel, alarms stopped.", 6, entry_time=later),
    )
    threads = {one.candidate.entry.row.thread_id for one in part.chosen}
    assert threads == {UUID(int=9)}
    assert (part.judgement.status, part.judgement.grade) == ("grounded", "B")


@pytest.mark.parametrize(
    ("question", "text", "language", "is_told"),
    [
        (
            "Who stole the torque wrench?",
            "The operator reported that somebody stole the torque wrench.",
            "en",
            False,
        ),
        (
            "Who stole the torque wrench?",
            "Somebody stole the torque wrench, reported by Katrin Vogel.",
            "en",
            False,
        ),
        (
            "Who stole the torque wrench?",
            "Katrin Vogel says: the vendor stole the torque wrench.",
            "en",
            True,
        ),
        (
            "Wer hat die Pumpe ausgetauscht?",
            "Pumpe ausgetauscht, gemeldet von der Schicht, Techniker informiert.",
            "de",
            False,
        ),
        ("Who reported the leak?", "Leak reported by the operator.", "en", True),
    ],
)
def test_who_reports_a_deed_has_not_done_it(question, text, language, *, is_told):
    part = answer(question, made(text, language=language))
    assert (part.judgement.status == "grounded") is is_told


def test_what_is_told_of_another_thing_is_no_state_of_the_one_in_the_title() -> None:
    switch = "The new switch of the supply has been running for a day."
    part = answer("Is the gun heater on?", made(switch, title="Gun heater moved back"))
    assert part.judgement.code == "missing_kind"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Seal of P-201 renewed. It runs again as the first pump.", "en"),
        ("Lager der P-201 neu, 2 mm/s. Sie l\u00e4uft jetzt wieder.", "de"),
        ("Joint de P-201 chang\u00e9. Elle est r\u00e9par\u00e9e, ok.", "fr"),
    ],
)
def test_a_state_is_told_of_what_its_entry_names_before(text, language) -> None:
    hums = " ".join(f"Pump P-201 hums at {one} Hz." for one in range(BEST_OF_KIND))
    told = made(text, language=language, score=0.1)
    part = answer("Is P-201 running?", told, made(hums, 2))
    assert (part.judgement.status, part.judgement.grade) == ("grounded", "B")
