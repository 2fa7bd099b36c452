"""When an answer is grounded: each threshold on either side, and the slots before."""

from dataclasses import replace
from typing import Any

import pytest

from shared.answers.choice.answer_status import (
    BEST_OF_KIND,
    SHIPPED,
    Judgement,
    Support,
    ground,
)
from shared.answers.choice.sentence_score import ScoredSentence
from tests.unit.answers.worded.test_check_sentence import entry

OF_KIND, NOT_OF_KIND = (
    ScoredSentence(next(entry("It was on Monday.").candidates()), 1.0, 1.0, is_of_kind)
    for is_of_kind in (True, False)
)
OTHER = ScoredSentence(
    next(entry("The dryer leaks again.", 2).candidates()), 1.0, 1.0, is_of_kind=True
)


def never() -> float | None:
    pytest.fail("words alone decide: no sentence need be compared")


# Full of the words of the question.
WHOLE = Support(is_gated=False, coverage=1.0, best_sentence=1.0, compare=never)
HAIR = 0.001


def judge(support: Support = WHOLE, **more: Any) -> Judgement:
    given = {"scored": [OF_KIND], "chosen": [OF_KIND], **more}
    return ground(given.pop("scored"), given.pop("chosen"), support, **given)


def of(coverage: float, meaning: float | None, **more: Any) -> Judgement:
    """Judge evidence that no sentence by itself supports."""
    support = replace(
        WHOLE, coverage=coverage, compare=lambda: meaning, best_sentence=0.0
    )
    return judge(replace(support, **more))


def test_what_has_all_words_and_the_meaning_is_grounded_by_words() -> None:
    assert judge() == Judgement("grounded", "single_lead", "A")


@pytest.mark.parametrize(
    ("meaning", "status"),
    [
        (None, "clarify"),
        (SHIPPED.same_meaning - HAIR, "clarify"),
        (SHIPPED.same_meaning, "grounded"),
    ],
)
def test_what_has_the_names_alone_needs_the_same_meaning(meaning, status) -> None:
    judgement = of(1.0, meaning, best_sentence=1.0, has_names_alone=True)
    assert judgement.status == status


def test_several_entries_are_blended() -> None:
    assert judge(chosen=[OF_KIND, OF_KIND]).code == "single_lead"
    assert judge(chosen=[OF_KIND, OTHER]).code == "blended"


@pytest.mark.parametrize(
    ("support", "chosen", "code"),
    [
        (replace(WHOLE, is_gated=True), [OF_KIND], "unknown_name"),
        (WHOLE, [], "no_results"),
    ],
)
def test_a_slot_that_is_empty_refuses_whatever_is_alike(support, chosen, code) -> None:
    judged = judge(support, chosen=chosen)
    assert (judged.status, judged.code, judged.grade) == ("insufficient", code, "D")


@pytest.mark.parametrize("place", [BEST_OF_KIND, BEST_OF_KIND + 1])
def test_one_of_the_best_sentences_must_be_of_the_kind(place: int) -> None:
    scored = [*[NOT_OF_KIND] * (place - 1), OF_KIND]
    judged = judge(scored=scored, chosen=scored[:1])
    is_among = place == BEST_OF_KIND
    assert (judged.status == "grounded") is is_among
    assert (judged.code == "missing_kind") is not is_among
    # Why something happened is told without a word for it.
    why = judge(scored=scored, chosen=scored[:1], needs_kind=False)
    assert why.status == "grounded"


@pytest.mark.parametrize(
    ("coverage", "meaning", "status", "grade"),
    [
        # Sure by its words: the least of meaning is enough.
        (SHIPPED.sure_coverage, SHIPPED.least_meaning, "grounded", "A"),
        (SHIPPED.sure_coverage, SHIPPED.least_meaning - HAIR, "clarify", "D"),
        # Sure by its meaning: the least of words is enough, and it is a B.
        (SHIPPED.least_coverage, SHIPPED.sure_meaning, "grounded", "B"),
        (SHIPPED.sure_coverage - HAIR, SHIPPED.sure_meaning, "grounded", "B"),
        (SHIPPED.sure_coverage - HAIR, SHIPPED.sure_meaning - HAIR, "clarify", "D"),
        (SHIPPED.least_coverage - HAIR, SHIPPED.sure_meaning, "clarify", "D"),
        # Neither.
        (SHIPPED.least_coverage, SHIPPED.least_meaning - HAIR, "clarify", "D"),
        (SHIPPED.least_coverage - HAIR, SHIPPED.least_meaning, "clarify", "D"),
        (
            *(SHIPPED.least_coverage - HAIR, SHIPPED.least_meaning - HAIR),
            *("insufficient", "D"),
        ),
    ],
)
def test_words_and_meaning_make_up_for_each_other(coverage, meaning, status, grade):
    judged = of(coverage, meaning)
    assert (judged.status, judged.grade) == (status, grade)
    if status == "clarify":
        assert judged.code == "ambiguous_query"
    if status == "insufficient":
        assert judged.code == "unsupported_words"


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"best_sentence": SHIPPED.whole_coverage}, "grounded"),
        ({"best_sentence": SHIPPED.whole_coverage - HAIR}, "clarify"),
        ({"compare": lambda: None}, "grounded"),
    ],
)
def test_a_sentence_with_all_the_words_need_not_be_alike_in_meaning(more, status):
    assert of(SHIPPED.sure_coverage, 0.0, **more).status == status


def test_what_words_alone_decide_is_compared_with_nothing() -> None:
    whole = {"compare": never, "best_sentence": SHIPPED.whole_coverage}
    assert of(SHIPPED.sure_coverage, None, **whole).status == "grounded"
    unwritten = {**whole, "unsupported": ("quench",)}
    assert of(SHIPPED.whole_coverage, None, **unwritten).status == "grounded"
    assert of(0.0, None, compare=never, unsaid=("not trip",)).status == "clarify"


@pytest.mark.parametrize(
    ("coverage", "meaning", "status"),
    [
        (SHIPPED.whole_coverage, SHIPPED.least_meaning, "grounded"),
        (SHIPPED.whole_coverage - HAIR, SHIPPED.least_meaning, "clarify"),
        (SHIPPED.whole_coverage - HAIR, SHIPPED.same_meaning, "grounded"),
        (SHIPPED.whole_coverage - HAIR, SHIPPED.same_meaning - HAIR, "clarify"),
    ],
)
def test_a_word_that_nobody_wrote_is_asked_back_unless_all_the_rest_is_there(
    coverage: float, meaning: float, status: str
) -> None:
    judged = of(coverage, meaning, unsupported=("quench",))
    assert judged.status == status
    assert judged.unsupported == ("quench",)
    if status == "clarify":
        assert judged.code == "unsupported_words"


@pytest.mark.parametrize("is_outside", [True, False])
@pytest.mark.parametrize("is_told", [True, False])
def test_outside_of_the_coverage_only_what_is_told_is_an_answer(*, is_outside, is_told):
    judged = of(1.0, 1.0 if is_told else 0.0, is_outside=is_outside)
    if is_told:
        assert judged.status == "grounded"
        return
    expected = ("insufficient", "outside_coverage") if is_outside else ("clarify", "")
    assert judged.status == expected[0]
    assert (judged.code == "outside_coverage") is is_outside


@pytest.mark.parametrize(
    ("said", "grade"),
    [
        ({"coverage": SHIPPED.whole_coverage}, "A"),
        ({"coverage": SHIPPED.whole_coverage - HAIR}, "B"),
        ({"coverage": SHIPPED.alike_coverage, "cosine": SHIPPED.same_meaning}, "A"),
        ({"coverage": SHIPPED.alike_coverage, "cosine": 0.7}, "B"),
        ({"coverage": SHIPPED.alike_coverage - HAIR, "cosine": 0.9}, "B"),
        ({"is_sure": False}, "B"),
    ],
)
def test_an_a_rests_on_one_sentence_that_says_what_is_asked_about(said, grade) -> None:
    one = replace(OF_KIND, **said)
    assert judge(scored=[one], chosen=[one]).grade == grade


@pytest.mark.parametrize(
    ("meaning", "status"),
    [
        (None, "clarify"),
        (SHIPPED.sure_meaning - HAIR, "clarify"),
        (SHIPPED.sure_meaning, "grounded"),
    ],
)
def test_how_it_is_done_is_told_by_no_procedure_of_something_else(meaning, status):
    assert of(0.7, meaning, needs_all=True).status == status
