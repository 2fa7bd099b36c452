"""Questions of a state, and the sentences that tell one."""

import pytest

from shared.answers.question.answer_kinds import tells_state
from shared.answers.question.question import read_part
from shared.text.facility.facility import PLAIN


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Is the pump of sector 4 repaired yet?", ("pump", "sector")),
        ("Does the shutter still leak?", ("shutter", "leak")),
        ("Ist der Kompressor wieder in Ordnung?", ("Kompressor",)),
        # Of nothing else is asked, so it is searched for.
        ("Is it working again?", ("working",)),
    ],
)
def test_a_state_is_asked_for_in_words_that_an_entry_need_not_have(text, words) -> None:
    question = read_part(text, text, PLAIN)
    assert question.is_of_state
    assert question.words == words


@pytest.mark.parametrize(
    "text",
    [
        "Was the pump repaired?",
        "Which pump is running?",
        "repaired pump",
        "Who is ready?",
    ],
)
def test_what_was_once_or_which_thing_is_no_question_of_a_state(text: str) -> None:
    assert not read_part(text, text, PLAIN).is_of_state


@pytest.mark.parametrize(
    ("sentence", "language", "is_told"),
    [
        ("Replaced the O ring, tight.", "en", True),
        ("It leaks again.", "en", True),
        ("Dichtung getauscht.", "de", True),
        ("Drei L\u00fcfter laufen noch.", "de", True),
        ("Found oil on the floor.", "en", False),
    ],
)
def test_a_sentence_tells_how_something_is_or_was_put_right(
    sentence: str, language: str, *, is_told: bool
) -> None:
    assert tells_state(sentence, language) is is_told
