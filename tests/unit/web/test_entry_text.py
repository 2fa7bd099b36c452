"""The text of an entry in sentences, every character of it kept."""

from hypothesis import given
from hypothesis import strategies as st

from api.web.entry_text import anchor_of, anchors, marked_pieces, split_text
from shared.text.facility.facility import PLAIN


@given(st.text(max_size=400), st.sampled_from(["", "valve", "the"]))
def test_all_stretches_together_are_the_text(text: str, query: str) -> None:
    found = split_text(text, query, "en", PLAIN)

    assert "".join(one.text for part in found for one in part.pieces) == text


def test_sentences_are_numbered_as_answers_cite_them() -> None:
    text = "One pump. Two pumps.\n\nThree."

    found = [one for one in split_text(text, "", "en", PLAIN) if one.number]

    assert [one.number for one in found] == [1, 2, 3]
    starts = anchors(text)
    assert [
        anchor_of(starts, text.index(word)) for word in ("One", "Two", "Three")
    ] == [*("s1", "s2", "s3")]
    assert anchor_of(starts, None) == "title"


def test_what_was_asked_for_is_marked_in_any_of_its_forms() -> None:
    found = marked_pieces("Two leaks, one leaking valve", "leak", "en", PLAIN)

    assert [one.text for one in found if one.is_marked] == ["leaks", "leaking"]
