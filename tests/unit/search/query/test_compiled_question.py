"""A question becomes literal terms; what it excludes is excluded; it never fails."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.query.compiled import conditions, expandable_words, tsquery
from shared.search.query.compiled.compiled_question import (
    CompiledQuery,
    compile_question,
)
from shared.search.query.compiled.conditions import (
    EVERYTHING,
    All,
    AnyOf,
    Clause,
    Condition,
    Not,
    OneOf,
    Passes,
    Places,
)
from shared.search.query.language import grammar
from shared.search.retrieval.engines import os_query
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary.expand import UNSTEMMED, Expansion, Want
from tests.support.asked import clauses, condition


def word(term: str, *idents: str, **fields: object) -> Clause:
    made = Clause((term,), tuple(dict.fromkeys((*idents, term))))
    return replace(made, **fields)  # type: ignore[arg-type]


CAVITY = word("caviti", "cavity", word="cavity")
FAULT = word("fault", "faults", word="faults")
BEAM = word("beam", word="beam")
TRIP = word("trip", word="trip")


def lexemes(text: str, *, wanted: bool = True) -> list[tuple[str, ...]]:
    return [clause.lexemes for clause in clauses(text, wanted=wanted)]


def test_words_are_joined_by_and_with_the_names_they_may_be_part_of() -> None:
    assert condition("cavity faults") == All((CAVITY, FAULT), is_loose=True)


def test_a_name_is_one_exact_clause_however_it_is_spelt() -> None:
    expected = Clause(("hcm3",), ("hcm3",), is_exact=True)
    for spelling in ("HCM03", "HCM 3", "HCM-003", "hcm3"):
        assert condition(spelling) == expected


@pytest.mark.parametrize("text", ["HCM03?", "hcm-003?"])
def test_a_question_mark_behind_all_that_is_asked_may_just_ask(text: str) -> None:
    likes = OneOf((), ("hcm31",), text)
    known = {Want("wildcard", text): Expansion({}, ("hcm31",))}
    name = Clause(("hcm3",), ("hcm3",), is_exact=True)
    assert condition(text, known=known) == AnyOf((likes, name))


def test_a_name_typed_small_and_apart_is_both_words_or_the_name() -> None:
    first, second = clauses("hcm 03")
    assert first.idents == ("hcm", "hcm3")
    assert second.idents == ("03", "hcm3")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the beam is off", [("beam",), ("off",)]),
        ("is it", [("is",), ("it",)]),
        ('"the beam" off', [("the", "beam"), ("off",)]),
        ("the AND beam", [("the",), ("beam",)]),
        ("IT AND the pump", [("it",), ("pump",)]),
        # What asks is in no answer.
        ("when was the beam off last", [("beam",), ("off",)]),
        ("when", [("when",)]),
        ('beam "last turn"', [("beam",), ("last", "turn")]),
        ("the -beam", [("the",)]),
        ("the OR beam", [("the",), ("beam",)]),
        ("beam AND trip", [("beam",), ("trip",)]),
        ("真空漏れ", [("真空", "空漏", "漏れ")]),
        ("真", [("真",)]),
        ('"unbalanced quote', [("unbalanc",), ("quot",)]),
        ("(((beam", [("beam",)]),
        # Of a question in another language than the entry its own words join, too.
        ("Quelle est la pression de l'eau", [("pression",), ("eau",)]),
        (
            'Quelle est la pression de "la pompe"',
            [("pression",), ("la", "pomp")],
        ),
        ("LA pump DE", [("la",), ("pump",), ("de",)]),
        ("was die seal replaced", [("die",), ("seal",), ("replac",)]),
        ("de la", [("de",), ("la",)]),
    ],
)
def test_a_question_asks_for_these(text: str, expected: list[tuple[str, ...]]) -> None:
    assert lexemes(text) == expected


def test_conditions_nest_as_brackets_do() -> None:
    asked = condition("cavity AND (beam OR NOT (trip faults))")
    left_out = Not(All((TRIP, FAULT)))
    assert asked == All((CAVITY, AnyOf((BEAM, left_out))))


@pytest.mark.parametrize(
    ("text", "wanted", "excluded"),
    [
        ("beam -trip", [("beam",)], [("trip",)]),
        ("beam NOT trip", [("beam",)], [("trip",)]),
        ('beam -"ion pump"', [("beam",)], [("ion", "pump")]),
        ("-HCM-03", [], [("hcm3",)]),
        ("HCM-03 x-ray", [("hcm3",), ("x",), ("ray",)], []),
        ("beam -x-ray", [("beam",)], [("x", "ray")]),
        ("beam NOT (x-ray off)", [("beam",)], [("x", "ray"), ("off",)]),
        ("beam - trip", [("beam",), ("trip",)], []),
        ("-(beam -trip)", [("trip",)], [("beam",)]),
    ],
)
def test_minus_and_not_exclude(text, wanted, excluded) -> None:
    assert lexemes(text) == wanted
    assert lexemes(text, wanted=False) == excluded


def test_every_branch_keeps_to_what_is_negated_and_to_fields() -> None:
    asked = compile_question(
        grammar.parse("beam -(trip OR cavity) (off OR source:api)").tree
    )
    (guard,) = [one for one in asked.kept().guards if "en" in one.languages]
    assert guard.condition == Not(AnyOf((TRIP, CAVITY)))
    asked = compile_question(grammar.parse("beam -trip source:api").tree)
    (guard,) = [one for one in asked.kept().guards if "en" in one.languages]
    assert tsquery.write_tsquery(guard.condition) != tsquery.gate(guard.condition)
    assert (
        compile_question(grammar.parse("beam (off OR -trip)").tree).kept().guards == ()
    )


def test_beyond_the_limit_only_plain_words_are_dropped() -> None:
    words = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(100))
    text = f'{words} HCM03 "ion pump" -trip'
    made = condition(text, max_terms=64)
    assert made is not None
    found = conditions.iterate_leaves(made)
    assert len(found) == 64
    exact = [leaf for leaf, _ in found if isinstance(leaf, Clause) and leaf.is_exact]
    assert len(exact) == 2
    assert [leaf.lexemes for leaf, wanted in found if not wanted] == [("trip",)]  # type: ignore[union-attr]
    assert compile_question(grammar.parse(text).tree).dropped == 39


def test_beyond_the_limit_the_shortest_words_are_dropped_first() -> None:
    short = " ".join(f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(70))
    made = condition(f"{short} cavity quench hydrogen", max_terms=5)
    assert made is not None
    found = [leaf for leaf, _ in conditions.iterate_leaves(made)]
    # In the order of the question, and of equally long ones the first.
    words = [leaf.word for leaf in found if isinstance(leaf, Clause)]
    assert words == ["waa", "wba", "cavity", "quench", "hydrogen"]


def test_of_alternatives_beyond_the_limit_the_last_are_no_alternatives() -> None:
    letters = [chr(97 + i % 26) + chr(97 + i // 26) for i in range(80)]
    made = condition(" OR ".join(f"word{two}" for two in letters))
    assert isinstance(made, AnyOf)
    assert len(made.parts) == 64


def test_each_language_stems_for_itself() -> None:
    found = {clauses("Kühlwasserausfälle", name)[0].lexemes for name in ("de", "ja")}
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cavity", "('caviti' | 'i:cavity' | 'i:caviti')"),
        ("-only", "!('onli' | 'i:only' | 'i:onli')"),
        ('"beam off" OR -trip', "(('beam' <-> 'off') | !('trip' | 'i:trip'))"),
        ("beam off", "(('beam' | 'i:beam') & ('off' | 'i:off'))"),
    ],
)
def test_conditions_become_a_tsquery(text: str, expected: str) -> None:
    made = condition(text)
    assert made is not None
    assert tsquery.write_tsquery(made) == expected


def test_fields_that_are_terms_of_an_entry_are_compared_as_such() -> None:
    made = condition("tag:rf OR source:api trip")
    assert isinstance(made, AnyOf)
    tag, others = made.parts
    assert "=tag" in tsquery.write_tsquery(tag)
    assert not tsquery.needs_marks(tag)
    assert tsquery.needs_marks(others)
    assert "api" not in tsquery.write_tsquery(others)
    assert tsquery.gate(others) == tsquery.write_tsquery(TRIP)


def test_a_question_of_signs_alone_asks_for_nothing() -> None:
    assert condition("\" ' \\ * ??") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beam trip", AnyOf((BEAM, TRIP))),
        ("beam trip -cavity", All((AnyOf((BEAM, TRIP)), Not(CAVITY)))),
        ("beam AND trip", All((BEAM, TRIP))),
        ("cavity AND (beam trip)", All((CAVITY, AnyOf((BEAM, TRIP))))),
        ("cavity OR (beam trip)", AnyOf((CAVITY, BEAM, TRIP))),
    ],
)
def test_any_plain_word_is_enough_where_nothing_has_them_all(text, expected) -> None:
    made = condition(text)
    assert made is not None
    assert conditions.relaxed(made) == expected


LEAK, WATER = clauses("leak water")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("beam -trip", Not(TRIP)),
        ("beam NOT (leak -water)", Not(All((LEAK, Not(WATER))))),
        ("beam OR -trip", EVERYTHING),
        ("xyz* beam", EVERYTHING),
        ('beam "the xyz* line" -trip', Not(TRIP)),
    ],
)
def test_what_every_branch_keeps_to_is_what_is_negated_whole(text, kept) -> None:
    made = condition(text)
    assert made is not None
    assert conditions.without_what_is_wanted(made) == kept


def test_what_is_negated_twice_makes_no_plain_word_rank_alone() -> None:
    made = condition("beam NOT (leak -water)")
    assert made is not None
    excluded = Not(All((LEAK, Not(WATER))))
    assert conditions.relaxed(made) == made == All((BEAM, excluded), is_loose=True)


def test_a_word_of_state_is_required_in_a_short_question() -> None:
    name, off = clauses("HCM03 off")
    made = condition("HCM03 off")
    assert made is not None
    assert conditions.relaxed(made) == made
    beside = condition("HCM03 beam off")
    assert beside is not None
    assert conditions.relaxed(beside) == All((name, off), ranking=(BEAM,))
    (beam, down) = clauses("beam down")
    for text, expected in (
        ("beam down", All((beam, down), is_loose=True)),
        ("beam trip down", All((AnyOf((BEAM, TRIP)), down))),
        ("beam trip down leak", All((AnyOf((BEAM, TRIP, LEAK)),), ranking=(down,))),
    ):
        asked = condition(text)
        assert asked is not None
        assert conditions.relaxed(asked) == expected, text


def test_in_a_long_question_of_words_alone_those_of_state_only_rank() -> None:
    (down,) = clauses("down")
    rest = (BEAM, TRIP, LEAK)
    asked = condition("beam trip leak down")
    assert asked == All(rest, is_loose=True, ranking=(down,))
    assert asked is not None
    # Postgres matches without it, OpenSearch ranks by it, and a hit has it marked.
    assert tsquery.write_tsquery(asked) == tsquery.write_tsquery(All(rest))
    (ranking,) = os_query.write_os_query(asked)["bool"]["should"]
    assert ranking == os_query.write_os_query(down)
    assert (down, True) in conditions.iterate_leaves(asked)
    # Operators and quotes say what must be there.
    for text in ("beam AND trip AND leak AND down", 'beam trip leak "down"'):
        assert down.lexemes in lexemes(text)
        made = condition(text)
        assert isinstance(made, All)
        assert made.ranking == ()


def test_beside_another_branch_what_has_all_the_words_counts_twice() -> None:
    whole = condition("beam trip -cavity")
    assert whole is not None
    made = conditions.with_any(whole)
    either = AnyOf((BEAM, TRIP))
    assert made == All((either, Not(CAVITY)), ranking=(whole,))
    assert conditions.without_what_is_wanted(made) == Not(CAVITY)
    # It only ranks: it is none of what is compared.
    assert tsquery.write_tsquery(made) == tsquery.write_tsquery(
        All((either, Not(CAVITY)))
    )
    (again,) = os_query.write_os_query(made)["bool"]["should"]
    assert again == os_query.write_os_query(whole)
    # Of what is long or wide OpenSearch would have to compare too much.
    for text in ("beam trip cav*", " ".join(f"w{n}x" for n in range(21))):
        wide = condition(text)
        assert wide is not None
        assert conditions.with_any(wide) == conditions.relaxed(wide)
    alone = condition("beam")
    assert alone is not None
    assert conditions.with_any(alone) == alone


@pytest.mark.parametrize("excluded", [63, 64, 100])
def test_a_word_to_be_found_stays_beside_any_number_of_exclusions(excluded) -> None:
    without = " ".join(f"-x{number}q" for number in range(excluded))
    alone = compile_question(grammar.parse(f"beam {without}").tree)
    assert alone.finds
    assert alone.dropped == 0
    two = compile_question(grammar.parse(f"beam vacuum {without}").tree)
    assert two.finds
    assert two.dropped == 1


def test_words_beyond_the_limit_are_never_those_of_an_exclusion() -> None:
    tree = grammar.parse("beam trip NOT (leak NOT water)").tree
    bounded = compile_question(tree, max_terms=3)
    (guard,) = [one for one in bounded.guards if "en" in one.languages]
    excluded = Not(All((LEAK, Not(WATER))))
    assert guard.condition == All((BEAM, excluded), is_loose=True)
    assert bounded.dropped == 1


def test_beside_a_name_plain_words_only_rank() -> None:
    made = condition("HCM03 beam -trip")
    assert made is not None
    wider = conditions.relaxed(made)
    name = Clause(("hcm3",), ("hcm3",), is_exact=True)
    assert wider == All((name, Not(TRIP)), ranking=(BEAM,))
    assert (
        tsquery.write_tsquery(wider) == "(('hcm3' | 'i:hcm3') & !('trip' | 'i:trip'))"
    )
    (ranks,) = os_query.write_os_query(wider)["bool"]["should"]
    assert ranks["bool"]["should"][0] == {"term": {"stream": {"value": "beam"}}}


def test_a_pattern_is_what_the_vocabulary_says_in_each_language() -> None:
    known = {
        Want("wildcard", "inj*"): Expansion({"en": ("inject",)}, ("inj7",)),
        Want("wildcard", "cav*", in_phrase=True): Expansion({"en": ("caviti", "cave")}),
    }
    assert expandable_words.patterns(grammar.parse('inj* "rf cav*"').tree) == list(
        known
    )
    assert condition("inj*", known=known) == OneOf(("inject",), ("inj7",))
    assert condition("inj*", "de", known=known) == OneOf((), ("inj7",))
    assert condition('"rf cav*"', known=known) == Places((("rf",), ("caviti", "cave")))
    # Nothing in German: it finds nothing, and says so by itself.
    nothing = Places((("rf",), ()))
    assert condition('"rf cav*"', "de", known=known) == nothing
    assert tsquery.write_tsquery(nothing) == "' '"
    assert condition("beam inj*") == All((BEAM, OneOf()), is_loose=True)
    assert tsquery.write_tsquery(OneOf()) == "' '"
    assert os_query.write_os_query(OneOf()) == {"match_none": {}}


def test_a_word_that_nobody_wrote_is_the_words_that_are_spelt_nearly_so() -> None:
    known = {Want("typo", "corector"): Expansion(spellings=("corrector", "collector"))}
    made = condition("corector -corector", known=known)
    near = Clause(("corrector",), ("corrector", "collector"), also=(("collector",),))
    assert made == All((near, Not(word("corector", word="corector"))), is_loose=True)


@given(st.text())
def test_any_text_is_a_question(text: str) -> None:
    for guard in compile_question(grammar.parse(text).tree).guards:
        for made in (guard.condition, conditions.with_any(guard.condition)):
            tsquery.write_tsquery(made)
            tsquery.gate(made)
            os_query.write_os_query(made)


FIELDS = st.lists(
    st.sampled_from(
        [
            *("source:api", "-author:meier", "tag:rf", "source:api", "tag:vacuum"),
            *("the pump", "真空", "OR", "(", ")", "NOT"),
        ]
    )
)


@given(FIELDS.map(" ".join))
def test_a_field_has_one_number_in_every_language(text: str) -> None:
    asked = compile_question(grammar.parse(text).tree)
    assert len(asked.fields) == len({*asked.fields})
    for guard in asked.guards:
        for leaf, _ in conditions.iterate_leaves(guard.condition):
            if isinstance(leaf, Passes):
                assert asked.fields[leaf.number] == leaf.filters


ASKED = st.sampled_from(
    [
        "the cooling pumps",
        "Kühlwasserpumpe -Ausfall",
        'pompes OR "en panne" AND author:meier',
        "真空 HCM03",
        "NOT beam source:api",
        "насосы are off",
    ]
)
SPOKEN = st.lists(
    st.sampled_from(["de", "en", "fr", "it", "ja", "unknown"]), min_size=1
)


@given(ASKED, SPOKEN, st.sampled_from([2, 64]))
def test_of_some_languages_a_question_asks_what_it_asks_of_all(text, languages, most):
    tree = grammar.parse(text).tree
    whole = compile_question(tree, max_terms=most)
    some = compile_question(tree, max_terms=most, languages=sorted({*languages}))

    def asked(question: CompiledQuery) -> dict[str, Condition]:
        return {
            one: guard.condition for guard in question.guards for one in guard.languages
        }

    classes = {one if one in STEMMED_LANGUAGES else UNSTEMMED for one in languages}
    told = asked(some)
    assert {one: asked(whole)[one] for one in classes} == {
        one: told[one] for one in classes
    }
    # What has no stemmer goes by its name, too.
    assert told.keys() == {*classes, *languages}
    assert some.fields == whole.fields
    assert some.dropped <= whole.dropped
