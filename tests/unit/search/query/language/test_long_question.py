"""Of many words no time narrows a question, and quotes in it are a wish."""

import pytest

from shared.search.query.compiled import conditions
from shared.search.query.compiled.compiled_question import compile_question
from shared.search.query.compiled.conditions import All
from shared.search.query.language import grammar, long_question, tree
from shared.search.query.language.tree import And, Phrase
from shared.search.query.plan import Plan
from tests.unit.times.test_time_phrases import plan_of, told

SAID = (
    "the operator of the owl shift said that the cooling water pump of cell seven made"
    ' a noise and then "flow switch tripped" before the vacuum interlock closed on 10'
    " June"
)


def test_of_many_words_no_time_narrows_a_question() -> None:
    assert long_question.is_long(SAID)
    plan = plan_of(SAID)
    assert (told(plan), plan.time.is_inferred, plan.time.elsewhen) == ([], False, None)
    assert not plan.filters
    short = plan_of("flow switch tripped on 10 June")
    assert told(short)
    assert short.time.is_inferred


def test_of_many_words_quoted_ones_rank_and_are_not_required() -> None:
    plan = plan_of(SAID)
    assert isinstance(plan.tree, And)
    assert [one.text for one in plan.tree.wishes] == ["flow switch tripped"]
    assert not any(isinstance(one, Phrase) for one in plan.tree.parts)
    assert Plan.from_json(plan.to_json()) == plan
    for guard in compile_question(plan.tree).guards:
        assert isinstance(guard.condition, All)
        (phrase,) = guard.condition.ranking
        assert conditions.is_exact(phrase)
        assert not conditions.is_exact(guard.condition)


@pytest.mark.parametrize(
    "text",
    [
        'pump "flow switch tripped"',
        SAID.replace("before", "AND before"),
        f'NOT "flow switch" AND {" ".join("abcdefghijklmnopqrstuvwxyz")}',
    ],
)
def test_in_a_short_question_and_beside_operators_quotes_are_meant(text: str) -> None:
    found = plan_of(text).tree
    assert found is not None
    assert "wishes" not in str(tree.to_values(found)).replace("'wishes': []", "")
    assert "phrase" in str(tree.to_values(found))


def test_a_long_question_that_is_all_in_quotes_is_words() -> None:
    words = " ".join(["pump"] * 30)
    parsed = grammar.parse(f'"{words}"').tree
    assert long_question.soften(parsed) == tree.Words(words, 0)
