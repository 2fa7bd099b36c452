"""What `auto` says of a question, and which mode it takes for it."""

from datetime import UTC, datetime

import pytest

from shared.search.query.intent import strip_request
from shared.search.query.language import grammar, tree_text
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.times.calendar import Clock
from tests.unit.search.query.test_plan import SCOPE

PARTS = "auto searches each part by itself: several things are asked for"
ASKS = "a question is answered by rag where a model is configured"
NOTHING = "auto searches both by words and by meaning"

# A question, and what it would be for.
TOLD = [
    ("What happened to the klystron and how was it repaired?", PARTS),
    ("Was ist passiert und wie wurde es behoben?", PARTS),
    ("vacuum leak vs RF trip", PARTS),
    ("GraphRAG versus VectorRAG", PARTS),
    ("booster trips compared to ring trips", PARTS),
    ("compare the pressure in sector 3 with sector 5", PARTS),
    ("Unterschied zwischen Booster und Ring", PARTS),
    ("Vakuumleck im Vergleich zu HF-Ausfall", PARTS),
    ('"beam lost" vs "beam dump"', PARTS),
    ("find trend continuation patterns and then position sizing rules", PARTS),
    ("Strahl weg, danach HF aus", PARTS),
    ("risk management and trading psychology", ""),
    ("beam loss, vacuum pressure and magnet temperature", ""),
    ("Was ist passiert und warum?", ASKS),
    ("why did the beam trip?", ASKS),
    ("how do we typically handle RF trips", ASKS),
    ("what did the night shift report about the vacuum issue", ASKS),
    ("in which sector did the vacuum fail", ASKS),
    ("is HCM03 broken?", ASKS),
    ("what happened to the beam and the valve", ASKS),
    ("Warum ist der Strahl ausgefallen", ASKS),
    ("Wie wurde das Klystron repariert?", ASKS),
    ("Seit wann ist die Pumpe aus", ASKS),
    ("\u00bfpor qu\u00e9 se perdi\u00f3 el haz?", ASKS),
    ("is leg 4 of the hexapod repaired", ASKS),
    ("ist der Trockner 1 wieder dicht", ASKS),
    ("do not operate", ""),
    ("can bus fault", ""),
    ("search and rescue", ""),
    ("Pumpe und Ventil", ""),
    ("klystron replaced", ""),
    ("find entries about BTS chicane alignment", ""),
    ("comment on the trip", ""),
    ("what tripped OR why", ""),
    ("inject*", ""),
    ("vs", ""),
]

# A question, and what it is for.
FOR = [
    ("", "lookup"),
    ("klystron replaced", "lookup"),
    ("beam current 300 mA", "lookup"),
    ("count rate of detector 3", "lookup"),
    ("reset klystron", "lookup"),
    ("number of bunches", "lookup"),
    ("(why OR how) NOT count", "lookup"),
    ("HCM03", "exact"),
    ("SR:C01-MG:PS1 HCM03", "exact"),
    ('"how many trips"', "exact"),
    ("SR:C??-RF*", "exact"),
    ("how many RF trips last week", "count"),
    ("How often did HCM03 trip?", "count"),
    ("wie viele Ausf\u00e4lle im Mai", "count"),
    ("Anzahl der Trips", "count"),
    ("vacuum leak vs RF trip", "compare"),
    ("compare HCM03 with HCM04", "compare"),
    ("Unterschied zwischen Booster und Ring", "compare"),
    ("why did the beam trip?", "troubleshoot"),
    ("what happened and why", "troubleshoot"),
    ("root cause of the quench", "troubleshoot"),
    ("what caused the dump", "troubleshoot"),
    ("how was the klystron repaired", "troubleshoot"),
    ("how do I reset the interlock", "troubleshoot"),
    ("Ursache des Strahlverlusts", "troubleshoot"),
    ("Wie wurde das Klystron repariert?", "troubleshoot"),
    ("what happened to the klystron", "timeline"),
    ("history of HCM03", "timeline"),
    ("what led to the quench", "timeline"),
    ("Was ist mit der Pumpe passiert?", "timeline"),
    ("latest RF trips", "recent"),
    ("last beam dump", "recent"),
    ("when did HCM03 last trip", "recent"),
    ("letzter Strahlverlust", "recent"),
    ("neueste Eintr\u00e4ge zu HCM03", "recent"),
    ("is HCM03 broken?", "question"),
    ("which pumps are off", "question"),
    ("Wo ist das Ersatzteil", "question"),
]


def _plan(query: str, mode: str = "auto") -> Plan:
    return make_plan(SearchQuery(query, mode=mode), SCOPE, PlanLimits())


@pytest.mark.requirement("C22")
@pytest.mark.parametrize(("query", "told"), TOLD, ids=[query for query, _ in TOLD])
def test_auto_names_the_mode_that_a_question_would_be_for(query, told) -> None:
    plan = _plan(query)
    if told == PARTS:
        assert (plan.method, plan.reasoning) == ("agentic", PARTS)
    else:
        assert plan.method == "hybrid"
        assert plan.reasoning == (f"{NOTHING}; {told}" if told else NOTHING)
    # Whoever names a mode is told of no other.
    assert _plan(query, "hybrid").reasoning == "hybrid was asked for"


@pytest.mark.parametrize("query", ["SR:C??-RF*", "HCM0?", '"why did the beam trip?"'])
def test_names_and_phrases_are_for_no_other_mode(query: str) -> None:
    assert "rag" not in _plan(query).reasoning


def test_with_one_module_the_other_mode_is_named_all_the_same() -> None:
    limits = PlanLimits(enabled=frozenset({"semantic"}))
    plan = make_plan(SearchQuery("why did it trip?"), SCOPE, limits)
    assert (plan.method, plan.reasoning.partition("; ")[2]) == ("semantic", ASKS)


@pytest.mark.parametrize(("query", "intent"), FOR, ids=[query for query, _ in FOR])
def test_a_plan_says_what_its_question_is_for(query: str, intent: str) -> None:
    for mode in ("auto", "hybrid", "keyword"):
        plan = _plan(query, mode)
        assert plan.intent == intent
        assert Plan.from_json(plan.to_json()).intent == intent


def test_a_question_of_nothing_but_a_time_is_for_what_it_asks() -> None:
    clock = Clock(datetime(2026, 11, 27, 8, tzinfo=UTC))
    plan = make_plan(
        SearchQuery("what happened last night"), SCOPE, PlanLimits(), clock
    )
    assert (plan.tree, plan.intent) == (None, "timeline")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tell me about AO", "AO"),
        ("please show us all entries about the dome -shutter", "the dome -shutter"),
        ("list everything about turbine 2", "turbine 2"),
        ("find all leaks in sector 4", "leaks in sector 4"),
        ("Zeig mir alle Eintr\u00e4ge zu GV-15", "GV-15"),
        ("was wissen wir \u00fcber den Dichtring", "den Dichtring"),
        # These may be what is looked for.
        ("list of spares", "list of spares"),
        ("find the leak", "find the leak"),
        ("show me", "show me"),
        ("tell AND me", "tell AND me"),
        ('"tell me about" AO', '"tell me about" AO'),
        ("dome tell me about", "dome tell me about"),
    ],
)
def test_what_only_asks_to_be_told_is_not_searched(text: str, wanted: str) -> None:
    stripped = strip_request(grammar.parse(text).tree)
    assert tree_text.text_of(stripped) == tree_text.text_of(grammar.parse(wanted).tree)
    assert stripped is not None


def test_words_keep_their_places() -> None:
    stripped = strip_request(grammar.parse("tell me about AO last night").tree)
    assert stripped is not None
    assert tree_text.text_of(stripped) == "AO last night"
    assert getattr(stripped, "start") == len("tell me about ")  # noqa: B009 - any node
