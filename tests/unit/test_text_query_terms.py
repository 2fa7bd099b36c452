"""A question becomes literal terms; what it excludes is excluded; it never fails."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text import query_terms
from shared.text.query_terms import Clause, LanguageTerms, analyse_query


def english(text: str) -> LanguageTerms:
    return analyse_query(text, ["en"]).by_language[0]


def lexemes(text: str) -> list[tuple[str, ...]]:
    return [clause.lexemes for clause in english(text).clauses]


def test_words_are_joined_by_and_with_the_names_they_may_be_part_of() -> None:
    assert english("cavity faults").any_of == (
        (
            Clause(("caviti",), ("cavity", "caviti")),
            Clause(("fault",), ("faults", "fault")),
        ),
    )


def test_a_name_is_one_exact_clause_however_it_is_spelt() -> None:
    expected = (Clause(("hcm3",), ("hcm3",), is_exact=True),)
    for spelling in ("HCM03", "HCM 3", "HCM-003", "hcm3"):
        assert english(spelling).any_of == (expected,)


def test_a_name_typed_small_and_apart_is_both_words_or_the_name() -> None:
    first, second = english("hcm 03").any_of[0]
    assert first.idents == ("hcm", "hcm3")
    assert second.idents == ("03", "hcm3")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the beam is off", [("beam",), ("off",)]),
        ("is it", [("is",), ("it",)]),
        ('"the beam" off', [("the", "beam"), ("off",)]),
        ("beam AND trip", [("beam",), ("trip",)]),
        ("真空漏れ", [("真空", "空漏", "漏れ")]),
        ("真", [("真",)]),
        ('"unbalanced quote', [("unbalanc", "quot")]),
        ("(((beam", [("beam",)]),
    ],
)
def test_a_question_asks_for_these(text: str, expected: list[tuple[str, ...]]) -> None:
    assert lexemes(text) == expected


def test_or_separates_alternatives() -> None:
    assert len(english("beam OR vacuum leak").any_of) == 2


@pytest.mark.parametrize(
    ("text", "wanted", "excluded"),
    [
        ("beam -trip", [("beam",)], [("trip",)]),
        ("beam NOT trip", [("beam",)], [("trip",)]),
        ('beam -"ion pump"', [("beam",)], [("ion", "pump")]),
        ("-HCM-03", [], [("hcm3",)]),
        ("HCM-03 x-ray", [("hcm3",), ("x",), ("ray",)], []),
        ("beam -x-ray", [("beam",)], [("x", "ray")]),
        ("beam - trip", [("beam",), ("trip",)], []),
    ],
)
def test_minus_and_not_exclude(
    text: str, wanted: list[tuple[str, ...]], excluded: list[tuple[str, ...]]
) -> None:
    terms = english(text)
    assert [clause.lexemes for clause in terms.clauses] == wanted
    assert [clause.lexemes for clause in terms.excluded] == excluded


def test_what_is_excluded_has_no_part_in_the_meaning() -> None:
    assert query_terms.without_negations('beam -trip NOT "ion pump" off') == "beam off"


def test_beyond_the_limit_only_plain_words_are_dropped() -> None:
    words = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(100))
    terms = analyse_query(f'{words} HCM03 "ion pump" -trip', ["en"], max_terms=64)
    clauses = terms.by_language[0].clauses
    assert len(clauses) == 64
    assert terms.dropped == 38
    assert sum(clause.is_exact for clause in clauses) == 2
    assert terms.has_negations


def test_each_language_stems_for_itself() -> None:
    terms = analyse_query("Kühlwasserausfälle", ["de", "en", "unknown"])
    assert len({t.clauses[0].lexemes for t in terms.by_language}) > 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cavity", "((('caviti') | ('i:cavity') | ('i:caviti')))"),
        ("-only", "!((('onli') | ('i:only') | ('i:onli')))"),
        ("\" ' \\", None),
    ],
)
def test_terms_become_a_tsquery(text: str, expected: str | None) -> None:
    assert query_terms.tsquery(english(text)) == expected


def test_a_relaxed_question_keeps_what_is_exact_and_what_is_excluded() -> None:
    relaxed = query_terms.tsquery(english("HCM03 beam -trip"), relaxed=True)
    assert relaxed == "(((('hcm3') | ('i:hcm3')))) & !((('trip') | ('i:trip')))"


@given(st.text())
def test_any_text_is_a_question(text: str) -> None:
    terms = analyse_query(text, ["en", "de"])
    for one in terms.by_language:
        query_terms.tsquery(one)
        query_terms.tsquery(one, relaxed=True)
    query_terms.without_negations(text)
