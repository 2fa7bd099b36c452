"""What a question asks for: its kind, its names, its numbered things, its parts."""

import pytest

from shared.answers.question.answer_kinds import find_kind
from shared.answers.question.numbered_things import find_things, is_named
from shared.answers.question.question import list_parts, read_part
from shared.answers.question.question_scope import find_outside
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.text.facility.facility import PLAIN
from tests.unit.search.query.test_plan import SCOPE


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Why did gate valve 8 close?", "why"),
        ("What caused the ground fault?", "why"),
        ("Warum klemmt der Schalter?", "why"),
        ("How long does the gun need?", "how_long"),
        ("How many litres did it cost?", "how_much"),
        ("By how many eV did it move?", "how_much"),
        ("Bei wie viel Prozent sprach er an?", "how_much"),
        ("How many times did it trip?", "how_many"),
        ("Wie viele Pumpen fielen aus?", "how_many"),
        ("How many hours did it take?", "how_long"),
        ("What is the alarm limit for the rack?", "how_much"),
        ("When was the mouse caught?", "when"),
        ("Wann wurde die Sperre entfernt?", "when"),
        ("Since when is it off, and why?", "why"),
        ("What tripped, and when?", "when"),
        ("Do we know when it was swapped?", "when"),
        ("On Monday, when did it trip?", "when"),
        ("It was swapped when?", "when"),
        ("Depuis quand est-elle en panne ?", "when"),
        ("Quando \u00e8 stata sostituita la pompa?", "when"),
        ("Cuando se cambio la bomba?", "when"),
        # Here it joins, and does not ask.
        ("What happened when the chiller tripped?", "what"),
        ("How was the beam recovered when the kicker failed?", "what"),
        ("Which valve closed when the air sagged?", "which"),
        ("Was the beam lost when the chiller tripped?", "what"),
        ("When the interlock trips, what must be done?", "what"),
        (
            "Que s'est-il pass\u00e9 quand le groupe froid s'est arr\u00eat\u00e9 ?",
            "what",
        ),
        ("Cosa \u00e8 successo quando il chiller si \u00e8 fermato?", "what"),
        ("Qui a remplac\u00e9 la pompe ?", "who"),
        ("Par qui la pompe a-t-elle \u00e9t\u00e9 remplac\u00e9e ?", "who"),
        ("La pompe qui fuyait a-t-elle \u00e9t\u00e9 remplac\u00e9e ?", "what"),
        ("Qu'est-ce qui a caus\u00e9 la panne ?", "why"),
        ("Che cosa ha causato il guasto?", "why"),
        ("What made the gate valve close?", "why"),
        ("What triggered the interlock?", "why"),
        ("Was hat die Verriegelung ausgel\u00f6st?", "why"),
        ("Qu'est-ce qui a provoqu\u00e9 l'arr\u00eat ?", "why"),
        ("\u00bfQu\u00e9 provoc\u00f3 la parada?", "why"),
        ("What was made in the workshop?", "what"),
        ("Who bridged the switch?", "who"),
        ("Where did the water go?", "where"),
        ("Which tag is on pump P-201?", "which"),
        ("rf trip", "what"),
    ],
)
def test_a_question_asks_for_a_kind_of_answer(text: str, kind: str) -> None:
    assert find_kind(text) == kind


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("Why did gate valve 8 close?", ["valve 8"]),
        ("turbine 2 of the cold box", ["turbine 2"]),
        ("Why was it down on 31 January?", []),
        ("stuck at 18.4 mm after 20 minutes", []),
        ("What happened at 3?", []),
        # How many, and how often.
        ("Who replaced 2 pumps?", []),
        ("Why did the linac trip 3 times?", []),
        ("Why did shed 3 flood?", ["shed 3"]),
        ("Why did valve 2004 close?", ["valve 2004"]),
        # A year, at the end, for which entries of it are searched.
        ("engine trouble 2004?", []),
        ("Why did pump no. 3 stop?", ["pump 3"]),
        ("Warum steht Pumpe Nr. 3?", ["Pumpe 3"]),
        ("pourquoi la pompe n\u00b0 3 fuit", ["pompe 3"]),
        ("What happened on giugno 4?", []),
        ("What happened on Okt 5?", []),
        ("Why is pump 4 marked red?", ["pump 4"]),
    ],
)
def test_numbered_things_are_no_sizes_and_no_dates(text, things) -> None:
    assert [one.written for one in find_things(text, frozenset())] == things


@pytest.mark.parametrize(
    ("text", "names", "is_there"),
    [
        ("turbine 2 stopped", [], True),
        ("turbines 1 and 2 stopped", [], True),
        ("Turbine no. 2 stopped", [], True),
        ("Turbine unit 2 stopped", [], True),
        ("Turbine units 1 and 2 stopped", [], True),
        ("Turbine number 2 stopped", [], True),
        ("die Turbine Nummer 2 steht", [], True),
        ("la turbine n\u00b0 2 s'est arr\u00eat\u00e9e", [], True),
        ("la turbine num. 2", [], True),
        ("turbine of unit 1, 2 bar", [], False),
        ("turbine unit 20 stopped", [], False),
        ("turbine unit 1 stopped in unit 2", [], False),
        ("la turbine \u00e0 gaz 2 s'est arr\u00eat\u00e9e", [], True),
        ("la turbine de l'h\u00e9lium et deux autres", [], False),
        ("turbine 20 stopped", [], False),
        ("turbine 1, 2.5 bar", [], False),
        ("the second one", ["trb2"], True),
        ("the second one", ["trb3"], False),
        ("the second one", ["kly2"], False),
    ],
)
def test_a_thing_is_named_so_in_a_row_or_by_its_abbreviation(text, names, *, is_there):
    (thing,) = find_things("Why did turbine 2 stop?", frozenset())
    assert is_named(thing, text, frozenset(names)) is is_there


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("Why did the B RHR pump fail?", ["B RHR"]),
        ("why did the 'B' pump fail", ["B pump"]),
        ("how cold was pump room c", ["room c"]),
        ("When did train A trip?", ["train A"]),
        ("Warum steht Pumpe B?", ["Pumpe B"]),
        # Articles, units, initials, what is measured, and what joins.
        ("A pump failed, why?", []),
        ("why did a pump fail", []),
        ("It was at 20 C or 3 h?", []),
        ("What did B. Roth write?", []),
        ("How strong is the B field?", []),
        ("pump A or B", []),
        ("Perch\u00e9 si ferma? A che ora?", []),
        ("WHY DID A PUMP FAIL", []),
        ("la pompe d'eau", []),
        ("sector D 3", []),
        ("Finding A Leak", []),
    ],
)
def test_a_thing_may_be_called_by_a_letter(text: str, things: list[str]) -> None:
    assert [one.written for one in find_things(text, frozenset())] == things


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("The 'B' RHR pump failed.", True),
        ("RHR pump 1B failed.", True),
        ("Pump RHR-B failed.", True),
        ("rhr pump b failed", True),
        ("The 'A' RHR pump failed because of a bad breaker.", False),
        ("RHR PUMP FAILS TO START. BUS OFF.", False),
    ],
)
def test_a_letter_is_looked_for_where_it_stands_for_a_thing(text, *, is_there) -> None:
    (thing,) = find_things("Why did RHR pump B fail?", frozenset())
    assert is_named(thing, text, frozenset()) is is_there


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("The 'A' pump failed.", True),
        ("Loop A tripped.", True),
        ("It was the A pump, and RHR A ran.", True),
        ("THE A PUMP FAILED", True),
        ("RHR pump 1A failed", True),
        ("pump a failed", True),
        ("PUMP A FAILED", True),
        ("a pump failed", False),
        ("A pump failed.", False),
        ("Pump B failed. A similar one runs.", False),
        ("PUMP B FAILED. A VALVE LEAKED AND REQUIRED A SHUTDOWN.", False),
    ],
)
def test_an_article_is_no_letter_of_a_thing(text: str, *, is_there: bool) -> None:
    (thing,) = find_things("Why did pump A fail?", frozenset())
    assert is_named(thing, text, frozenset(["a", "pump"])) is is_there


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("Indian Point unit 3 tripped", True),
        ("Unit 3 tripped", True),
        ("Indian Point 3 tripped", True),
        ("Indian Point units 2 and 3 tripped", True),
        ("Indian Point 2 tripped", False),
        ("it tripped at 3 points", False),
        ("Indian Point, unit [] [] [3] tripped", True),
        ("Indian Point, unit [] [2] [] tripped", False),
        ("at Indian Point, 3 pumps tripped", False),
    ],
)
def test_a_unit_of_a_place_is_named_with_and_without_the_word(text, *, is_there):
    (thing,) = find_things("Why did Indian Point unit 3 trip?", frozenset())
    assert is_named(thing, text, frozenset()) is is_there


def test_names_are_what_the_analyser_knows_and_what_is_written_as_one() -> None:
    asked = "Why did Oskar reset RFC2 in January?"
    question = read_part(asked, asked, PLAIN)
    assert [one.written for one in question.names] == ["Oskar", "RFC2"]
    # No months, however they begin; and months that are no names.
    asked = "Why did Martin call Junker in Dezember or Enero?"
    question = read_part(asked, asked, PLAIN)
    assert [one.written for one in question.names] == ["Martin", "Junker"]
    german = "Warum hat die Pumpe den Strom verloren?"
    assert read_part(german, german, PLAIN).names == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pourquoi la vanne GV17 s'est ferm\u00e9e", ("vanne", "GV17", "ferm\u00e9e")),
        ("Combien de pompes sont vides ?", ("pompes", "vides")),
        ("Comment la vanne a \u00e9t\u00e9 ferm\u00e9e ?", ("vanne", "ferm\u00e9e")),
        ("Quante pompe sono state sostituite?", ("pompe", "state", "sostituite")),
        ("\u00bfCu\u00e1ntas bombas se cambiaron?", ("bombas", "cambiaron")),
        ("por qu\u00e9 se cerr\u00f3 la valvula", ("cerr\u00f3", "valvula")),
        (
            "temperatura del agua en la bomba durante el paro",
            ("temperatura", "agua", "bomba", "paro"),
        ),
        (
            "pression de la pompe en marche pendant le test",
            ("pression", "pompe", "marche", "test"),
        ),
        (
            "la pressione della pompa durante il guasto",
            ("pressione", "pompa", "guasto"),
        ),
        ("Druck der Pumpe w\u00e4hrend der Fahrt", ("Druck", "Pumpe", "Fahrt")),
        ("anything about mice", ("mice",)),
        # A single word tells no language.
        ("la vanne", ("la", "vanne")),
    ],
)
def test_words_that_ask_or_join_in_its_own_language_are_no_content(text, words) -> None:
    assert read_part(text, text, PLAIN).words == words


def test_words_that_ask_or_join_are_no_content() -> None:
    asked = "What did the night shift report about the laser?"
    assert read_part(asked, asked, PLAIN).words == ("night", "shift", "report", "laser")


@pytest.mark.parametrize(
    ("text", "outside"),
    [
        ("What is the beam energy right now?", "live_value"),
        ("What is the current beam energy?", "live_value"),
        ("Set the quadrupole current to 5 A", "control_action"),
        ("How does a free electron laser work?", "general_knowledge"),
        ("What is the alarm limit for the rack temperature now?", None),
        ("Is the pump running?", "live_value"),
        ("What is a klystron?", "general_knowledge"),
        ("plot the orbit drift", "other_task"),
        ("set screw of the tuner", None),
        # What somebody wrote, a title that was pasted, a thing that is called so.
        ("What is a known workaround for the BPM hang?", None),
        ("What is a common reason for kicker trips?", None),
        ("Wie funktioniert das Umschalten auf die Ersatzpumpe?", None),
        ("What is the current status of the chiller repair?", None),
        ("What are the known issues with the kicker at the moment?", None),
        ("Drive motor current rose to 12 A", None),
        ("Lower cryostat pressure rose to 3 bar", None),
        ("schedule for the May shutdown", None),
        ("Email server down", None),
        ("compute cluster offline", None),
        ("Plot of orbit drift", None),
        ("what happened last time the injector failed", None),
        ("Warum fiel Kicker 2 aus?", None),
    ],
)
def test_what_no_logbook_answers_is_told_apart(text: str, outside: str | None) -> None:
    assert find_outside(text) == outside


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Why did A trip and why did B stop?", ["Why did A trip", "Why did B stop"]),
        ("RFC2 vs RFC3", ["RFC2", "RFC3"]),
        ("compare the gun with the linac", ["gun", "the linac"]),
        ("Why did oil and water mix?", ["Why did oil and water mix?"]),
    ],
)
def test_a_question_of_several_parts_is_taken_apart(text, parts) -> None:
    for mode in ("hybrid", "auto"):
        plan = make_plan(SearchQuery(text, mode=mode), SCOPE, PlanLimits())
        assert list_parts(plan, PLAIN) == parts


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Why did South Texas 1 trip?", "South Texas 1"),
        ("Why did gate valve 8 close?", "valve 8"),
        ("Why did Indian Point unit 3 trip?", "Indian Point unit 3"),
        ("Why does Klystron 4 trip?", "Klystron 4"),
        # What kind of thing it is is no name.
        ("Why did RF cavity 7 trip?", "cavity 7"),
    ],
)
def test_a_thing_is_told_by_all_of_its_name(text: str, written: str) -> None:
    (thing,) = find_things(text, frozenset())
    assert thing.written == written


def test_letters_abbreviate_a_thing_that_begin_each_of_its_words() -> None:
    (thing,) = find_things("When was the valve of chiller 2 replaced?", frozenset())
    assert not is_named(thing, "Replaced.", frozenset({"valve2"}))
    assert is_named(thing, "Replaced.", frozenset({"vch2"}))
    assert is_named(thing, "Replaced.", frozenset({"chl2"}))


@pytest.mark.parametrize(
    ("sentence", "is_told"),
    [
        ("RF2 tripped at 02:40 on reflected power.", True),
        ("RF2 tripped at 02:40, no damage.", True),
        ("At 02:40 RF2 drifted up and came back, nothing tripped.", False),
        ("No trips of RF2 since 02:40.", False),
        ("RF2 hasn't tripped since 02:40.", False),
        ("Since 02:40 RF2 has been quiet without a single trip.", False),
    ],
)
def test_what_did_not_happen_is_no_moment_of_it(sentence: str, *, is_told) -> None:
    question = "When did RF2 last trip?"
    asked = read_part(question, question, PLAIN)
    assert asked.is_answered_by(sentence, "en", frozenset()) == is_told


@pytest.mark.parametrize(
    ("question", "is_of_last"),
    [
        ("when did RF2 trip last", True),
        ("quand la pompe s'est-elle arr\u00eat\u00e9e la derni\u00e8re fois", True),
        ("que s'est-il pass\u00e9 la derni\u00e8re nuit", False),
        ("wann wurde die Pumpe zuletzt getauscht", True),
        ("was war letzte Nacht", False),
        ("was war in der letzten Nachtschicht", False),
        ("quando si \u00e8 fermata l'ultima volta", True),
        ("cu\u00e1ndo par\u00f3 por \u00faltima vez", True),
        ("qu\u00e9 pas\u00f3 la \u00faltima noche", False),
        ("Quelle est la cause du dernier arr\u00eat ?", True),
        ("Was war die Ursache der letzten Ausl\u00f6sung?", True),
        ("Qual \u00e8 la causa dell'ultimo arresto?", True),
        ("\u00bfCu\u00e1l fue la causa de la \u00faltima parada?", True),
        ("que s'est-il pass\u00e9 la semaine derni\u00e8re", False),
        ("was war am letzten Freitag", False),
    ],
)
def test_the_last_time_is_asked_for_in_five_languages(question, *, is_of_last) -> None:
    asked = read_part(question, question, PLAIN)
    assert asked.is_of_last == is_of_last
    asks = {"last", "derni\u00e8re", "fois", "zuletzt", "ultima", "\u00faltima"}
    asks |= {"dernier", "letzten", "ultimo"}
    assert not is_of_last or asks.isdisjoint(asked.words)


@pytest.mark.parametrize(
    ("asked", "deed"),
    [
        ("Quando \u00e8 stata sostituita la pompa?", "sostituita"),
        ("Quando \u00e8 stata rimossa la pompa?", "rimossa"),
        ("Quando \u00e8 stato perso il fascio?", "perso"),
        ("Quando \u00e8 stato spento il klystron?", "spento"),
        ("Chi ha chiuso la valvola?", "chiuso"),
        ("Chi ha rotto la guarnizione?", "rotto"),
        ("Quand la vanne a-t-elle \u00e9t\u00e9 ouverte ?", "ouverte"),
        ("Quand le klystron a-t-il \u00e9t\u00e9 \u00e9teint ?", "\u00e9teint"),
        ("\u00bfCu\u00e1ndo fue resuelto el fallo?", "resuelto"),
        ("Quando \u00e8 stato il primo arresto?", ""),
    ],
)
def test_a_participle_of_no_rule_is_a_deed_too(asked: str, deed: str) -> None:
    assert read_part(asked, asked, PLAIN).deed == deed


@pytest.mark.parametrize(
    "text",
    [
        "Quelle est la cause de l'arr\u00eat ?",
        "Quelle est la raison du d\u00e9clenchement ?",
        "Qual \u00e8 la causa dell'arresto?",
        "Qual \u00e8 il motivo del blocco?",
        "\u00bfCu\u00e1l fue la causa del disparo?",
        "\u00bfCu\u00e1l fue el motivo de la parada?",
    ],
)
def test_a_cause_is_asked_for_by_its_name(text: str) -> None:
    asked = read_part(text, text, PLAIN)
    assert asked.kind == "why"
    assert {"cause", "raison", "causa", "motivo"}.isdisjoint(asked.words)
