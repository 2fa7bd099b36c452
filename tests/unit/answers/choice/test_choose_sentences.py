"""Which sentences an answer says: few, short, none twice, in order of time."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.answers.choice.choose_sentences import (
    MOST_CHARACTERS,
    MOST_SENTENCES,
    choose_sentences,
    is_told,
    order_in_time,
)
from shared.answers.choice.sentence_score import ScoredSentence
from tests.unit.answers.worded.test_check_sentence import entry

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def scored(
    text: str, number: int = 1, *, is_of_kind: bool = False, hours: int = 0
) -> ScoredSentence:
    made = entry(text, number, entry_time=BEGIN + timedelta(hours=hours), title="")
    (candidate,) = made.candidates()
    return ScoredSentence(candidate, 1.0 / number, 1.0, is_of_kind)


def texts(chosen: list[ScoredSentence]) -> list[str]:
    return [one.candidate.text for one in chosen]


def words(begin: int, count: int) -> str:
    return " ".join(f"word{n}x" for n in range(begin, begin + count))


@given(st.lists(st.integers(3, 28), min_size=1, max_size=9), st.integers(40, 600))
def test_at_most_three_sentences_and_no_more_characters_than_there_are(
    lengths: list[int], characters: int
) -> None:
    given_ones = [
        scored(words(100 * n, length), n) for n, length in enumerate(lengths, 1)
    ]
    chosen = choose_sentences(given_ones, is_typed=False, characters=characters)
    assert 1 <= len(chosen) <= MOST_SENTENCES
    size = sum(len(one) + 1 for one in texts(chosen)) - 1
    # The best one is said however long it is.
    assert size <= characters or len(chosen) == 1
    assert chosen[0] is given_ones[0]


def test_as_shipped_an_answer_has_three_sentences_and_420_characters() -> None:
    assert (MOST_SENTENCES, MOST_CHARACTERS) == (3, 420)


@pytest.mark.parametrize("over", [0, 1])
def test_what_does_not_fit_gives_way_to_what_does(over: int) -> None:
    first, last = scored(words(0, 8), 1), scored(words(50, 4), 3)
    second = scored(words(100, 8), 2)
    size = len(first.candidate.text) + 1 + len(second.candidate.text) - over
    chosen = choose_sentences([first, second, last], is_typed=False, characters=size)
    assert chosen == ([first, last] if over else [first, second])


@pytest.mark.parametrize("is_typed", [True, False])
def test_of_a_typed_question_the_first_of_its_kind_leads(*, is_typed: bool) -> None:
    best, of_kind, later = (
        scored(words(0, 5), 1),
        scored(words(50, 5), 2, is_of_kind=True),
        scored(words(90, 5), 3, is_of_kind=True),
    )
    chosen = choose_sentences([best, of_kind, later], is_typed=is_typed)
    assert chosen[0] is (of_kind if is_typed else best)
    assert len(chosen) == 3


@pytest.mark.parametrize(("shared", "is_said"), [(6, True), (7, False)])
def test_a_sentence_most_of_whose_words_are_told_says_nothing_new(shared, *, is_said):
    first = scored(words(0, 20), 1)
    second = scored(f"{words(0, shared)} {words(100, 10 - shared)}", 2)
    assert is_told(second, first) is not is_said
    assert (second in choose_sentences([first, second], is_typed=False)) is is_said


def test_a_sentence_that_tells_all_of_another_and_more_takes_its_place() -> None:
    short, long = scored(words(0, 5), 1), scored(words(0, 15), 2)
    other = scored(words(50, 5), 3)
    assert choose_sentences([short, other, long], is_typed=False) == [other, long]


def test_what_tells_all_of_it_but_what_is_asked_for_takes_not_its_place() -> None:
    short, long = scored(words(0, 5), 2, is_of_kind=True), scored(words(0, 15), 1)
    assert choose_sentences([long, short], is_typed=True) == [short, long]
    both = scored(words(0, 15), 1, is_of_kind=True)
    assert choose_sentences([short, both], is_typed=True) == [both]


def test_what_is_chosen_is_told_oldest_first_and_as_it_stands_in_its_entry() -> None:
    late, early = scored(words(0, 5), 1, hours=9), scored(words(9, 5), 2, hours=1)
    made = entry("It stopped at noon. It was greased later.", 3, title="")
    one, two = (
        ScoredSentence(c, 1.0, 1.0, is_of_kind=False) for c in made.candidates()
    )
    assert order_in_time([late, early]) == [early, late]
    assert order_in_time([two, one]) == [one, two]
