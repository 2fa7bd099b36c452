"""What a question says and no cited entry does refuses the answer."""

from dataclasses import replace

import pytest

from shared.access.scope import Scope
from shared.answers.choice.answer_status import Judgement
from shared.answers.choice.list_unsaid import (
    find_unsaid_deed,
    find_unsaid_denial,
    find_unsaid_doing,
    find_unsaid_number,
    find_unsaid_unit,
    list_unsaid,
)
from shared.answers.compose_answer import list_questions, say_refusal
from shared.answers.question.question import read_part, read_question
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.text.facility.facility import PLAIN
from shared.times.calendar import Clock
from tests.unit.answers.choice.test_answer_status import WHOLE, judge
from tests.unit.answers.worded.test_check_sentence import entry


def test_all_that_a_question_says_and_no_entry_does_is_listed() -> None:
    text = "Why did klystron 2 not trip at 18.4 bar?"
    asked = read_part(text, text, PLAIN)
    cited = [entry("Klystron 2 tripped at 18.4 mm.")]
    assert list_unsaid(asked, cited) == ("not trip", "18.4 bar")


@pytest.mark.parametrize(
    ("question", "text", "unsaid"),
    [
        ("When was gate valve 8 repaired?", "Gate valve 8 shut at 01:33.", "repaired"),
        ("When was gate valve 8 repaired?", "Gate valve 8 fixed at 01:33.", None),
        ("Who repaired gate valve 8?", "Gate valve 8 shut, says Ruiz.", "repaired"),
        ("Where was the chassis welded?", "The chassis is in rack 3.", "welded"),
        ("Did anyone get hurt?", "Everybody went out.", "hurt"),
        ("Did anyone get hurt?", "Nobody was injured.", None),
        # What is asked for is a time, and no word that says how it was asked.
        ("When was the beam back?", "Beam at 11:38.", None),
        ("When did the pump trip?", "The pump went off at ten.", None),
        # A cause is told in other words, and a state in many.
        ("Why was the pump exchanged?", "Bearing of the pump worn out.", None),
        ("Is the pump repaired?", "The pump runs again.", None),
        ("Wann wurde die Pumpe repariert?", "The pump was repaired at ten.", None),
        ("Wann wurde die Pumpe lackiert?", "The pump was off at ten.", "lackiert"),
        (
            "Quand la pompe a-t-elle \u00e9t\u00e9 r\u00e9par\u00e9e ?",
            "Off.",
            "r\u00e9par\u00e9e",
        ),
        ("Quando \u00e8 stata riparata la pompa?", "Off at ten.", "riparata"),
        ("\u00bfCu\u00e1ndo fue reparada la bomba?", "Off at ten.", "reparada"),
    ],
)
def test_what_nobody_wrote_was_done_has_no_time_doer_or_place(question, text, unsaid):
    asked = read_part(question, question, PLAIN)
    assert find_unsaid_deed(asked, [entry(text)]) == unsaid


def test_another_entry_of_the_thread_may_say_what_was_done() -> None:
    asked = read_part("When was it repaired?", "When was it repaired?", PLAIN)
    assert list_unsaid(asked, [entry("At 01:33.")], [entry("Repaired it.")]) == ()


@pytest.mark.parametrize(
    ("told", "unsaid"),
    [
        (["The turbine stopped.", "Dryer of the helium compressor wet."], True),
        (["The compressor stopped.", "The turbine is cold."], False),
        # It may be said in other words.
        (["The dryer of the compressor was wet.", "Ice in the turbine."], False),
    ],
)
def test_what_one_thing_did_is_not_told_of_another(told, *, unsaid) -> None:
    text = "Why did the helium compressor stop?"
    asked = read_part(text, text, PLAIN)
    found = find_unsaid_doing(asked, [next(entry(one).candidates()) for one in told])
    assert found == ("compressor stop" if unsaid else None)


@pytest.mark.parametrize(
    ("question", "text", "unsaid"),
    [
        ("Why did klystron 2 not trip?", "Klystron 2 tripped on arc.", "not trip"),
        ("Why did klystron 2 not trip?", "Nobody knows why it tripped.", "not trip"),
        ("Why didn't klystron 2 trip?", "Klystron 2 tripped on arc.", "not trip"),
        ("Why did klystron 2 trip?", "Klystron 2 tripped on arc.", None),
        ("Why would klystron 2 not stay on?", "Klystron 2 will not stay on.", None),
        ("Why did the shutter not open?", "The shutter failed to open.", None),
        ("Why didn't the shutter open?", "It opened at last, not before.", None),
        (
            "Wie lange wurde TSP-03 nicht gefeuert?",
            "TSP-03 wurde seit Monaten nicht mehr gefeuert.",
            None,
        ),
        # What stands behind the verb is not denied, and what another sentence denies
        # is no denial of this one.
        ("Why didn't the beam come back at noon?", "It didn't come back by six.", None),
        (
            "Why can\u2019t it be opened after a search?",
            "It can\u2019t be opened.",
            None,
        ),
        (
            "Why wasn't it restarted?",
            "It was restarted. It is not new.",
            "not restarted",
        ),
        # NOT in capitals excludes a word, and asks for no denial.
        ("pump trips NOT test", "The pump trips.", None),
        ("(pump OR fan) NOT (test OR drill)", "The pump trips.", None),
        ("pump did not trip NOT test", "The pump tripped.", "not trip"),
        # It is said as it was asked.
        ("Warum war TSP-03 nicht gefeuert?", "TSP-03 hat gefeuert.", "nicht gefeuert"),
        ("Why was it never reset?", "It was reset.", "never reset"),
        ("Why is it unable to open?", "It opened.", "unable to open"),
        # Where no verb stands behind it, nothing is looked for.
        ("Warum schloss das Ventil nicht?", "Das Ventil ist zu.", None),
    ],
)
def test_a_denial_is_looked_for_beside_its_verb(question, text, unsaid) -> None:
    asked = read_part(question, question, PLAIN)
    assert find_unsaid_denial(asked, [entry(text)]) == unsaid


def test_a_denial_that_no_entry_makes_refuses_whatever_is_alike() -> None:
    support = replace(WHOLE, unsaid=("not trip",))
    assert judge(support) == Judgement(
        "clarify", "unsupported_words", "D", ("not trip",), ("not trip",)
    )


@pytest.mark.parametrize(
    ("question", "text", "unsaid"),
    [
        ("How many volts did the stop cost?", "It cost 90 litres.", "volts"),
        ("How many litres did the stop cost?", "It cost 90 litres.", None),
        ("How many litres did the stop cost?", "It cost ninety litres.", None),
        ("Wie viele Liter fehlten?", "Es fehlten 3 bar.", "Liter"),
        ("How many volts are on the gun?", "The gun stands at 60 kV.", None),
        ("What is the temperature of the dump?", "It rose to 45 deg C.", None),
        ("What was the voltage at the stop?", "The stop cost 90 litres.", "voltage"),
        ("What was the vacuum pressure?", "It was at 3e-9 mbar.", None),
        # What is no unit is counted in whatever there is.
        ("How many data sets came out?", "1,312 came out.", None),
        ("How many hours were lost?", "60 hours were lost.", None),
        ("Why did it stick at 18.4 bar?", "It stuck at 18.4 mm.", "18.4 bar"),
        ("Why did it stick at 18.4 mm?", "It stuck at 18.4 mm.", None),
        ("Why does it read 61 mA?", "It reads 4 mA.", "61 mA"),
        # Whoever rounds, or has the number from elsewhere, is not contradicted.
        ("Why did it stick at 18 mm?", "It stuck at 18.4 mm.", None),
        ("Why did the beam drop to 200 mA?", "It dropped to 200.", None),
        ("Why is it at 0.3 A?", "It stands at 300 mA.", None),
        # What is reckoned from what is told.
        ("Why did it rise by 5 mA?", "It rose from 200 to 205 mA.", None),
        ("Why was it off for 3 hours?", "It was off from 4:00 to 7:00.", None),
        ("What is the price of a cathode?", "It was exchanged twice.", "price"),
        ("What is the price of a cathode?", "It is 4,000 dollars.", None),
        ("Was kostet die Kathode?", "Die Kathode kommt auf 4.000 \u20ac.", None),
        ("How much did the switch cost?", "It cost two hours of beam.", "cost"),
        ("How much time did the trip cost?", "It cost two hours.", None),
        ("What did the switch cost?", "It cost two hours of beam.", "cost"),
        ("What did it cost in euros?", "It was exchanged twice.", "cost"),
        ("What did the switch cost?", "It cost 4,000 dollars.", None),
        ("What did the trip cost us?", "It cost two hours.", None),
        ("Why did the voltage sag?", "The dryer leaked.", None),
        # A measure that is named is not always asked for.
        ("How was the fuel pressure fixed?", "Press transducer cleaned.", None),
        ("What happened to the pressure gauge?", "It was swapped.", None),
        ("What pressure did sector 4 reach?", "It was swapped.", "pressure"),
        ("Welche Temperatur hatte das Wasser?", "Es wurde getauscht.", "Temperatur"),
        ("How much did the track cost?", "Track adjusted. Cost 2525.51 AUD.", None),
        # Who names a measure without a size has not told it.
        ("What is the price of a cathode?", "At the price of its life.", "price"),
        ("What is the price of a cathode?", "Its price is 4,000.", None),
        # The same number in another unit is not the one that was asked for.
        ("Why at 18.4 bar?", "It stuck at 18.4 mm. Grease lay at 18.4.", "18.4 bar"),
    ],
)
def test_what_is_counted_is_looked_for_in_its_unit(question, text, unsaid) -> None:
    asked = read_part(question, question, PLAIN)
    assert find_unsaid_unit(asked, [entry(text)]) == unsaid


def test_it_is_told_and_nothing_is_asked_back_without_it() -> None:
    text = "How many volts did the stop cost?"
    judgement = judge(replace(WHOLE, unsaid=("volts",)))
    asked = read_part(text, text, PLAIN)
    assert say_refusal(asked, judgement, (), ()) == (
        "No entry that was found says \u201cvolts\u201d."
    )
    assert list_questions(asked, judgement, (), ()) == []


@pytest.mark.parametrize(
    ("question", "text", "unsaid"),
    [
        ("Why did TC118 read 92 degrees?", "TC118 read 92 degrees again.", None),
        ("Why did TC118 read 92 degrees?", "TC118 read 29 degrees again.", "92"),
        ("Why was there a step at 67:58?", "The step came at 02:58.", "67:58"),
        ("What happened in the night of 96 February?", "It rained on the 9th.", "96"),
        ("Why were 12 monitors dead?", "Twelve monitors lost their supply.", None),
        ("Why did it count 1,200 turns?", "It counted 1200 turns.", None),
        # Times are filters; sizes are looked for in their units; names are gates.
        ("What happened on 4 February?", "It rained.", None),
        ("Why was it off at 02:58?", "It was off at 3.", None),
        ("Why did it stick at 18.4 mm?", "It stuck.", None),
        ("Why did gate valve 81 close?", "It closed.", None),
        ("Why did HCM-12 creep?", "It crept.", None),
        # An entry of a year need not say which it is.
        ("rh engine overheating 2026", "RH engine overheats.", None),
        ("rh engine overheating 2025", "RH engine overheats.", "2025"),
        # One digit is written in too many ways.
        ("Why were there 3 trips?", "It tripped again and again.", None),
    ],
)
def test_a_number_of_a_question_is_looked_for_in_what_is_cited(question, text, unsaid):
    plan = make_plan(
        SearchQuery(question),
        Scope("default", "anna"),
        PlanLimits(opensearch=False),
        Clock(),
    )
    asked = read_question(plan, PLAIN)
    assert find_unsaid_number(asked, [entry(text)]) == unsaid
