"""Each chunk of a long entry begins with what the entry is about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.embedding.vectors import chunk_prefix, embed_entry
from tests.support.reading_encoder import ReadingEncoder, entry

TITLE = "Klystron 2 modulator"


@pytest.mark.parametrize("title", [TITLE, f"Re: {TITLE}", "K2", "真空漏"])
def test_a_title_with_a_word_of_its_own_tells_something(title: str) -> None:
    assert chunk_prefix.is_telling(title)


@pytest.mark.parametrize(
    "title", ["", "  ", "Re:", "AW: Re: 4711", "Reply to #12", "Follow-up"]
)
def test_a_title_that_only_says_that_it_is_a_reply_tells_nothing(title: str) -> None:
    assert not chunk_prefix.is_telling(title)


@pytest.mark.parametrize(
    ("title", "text", "said"),
    [
        ("Vacuum leak", "Found at VF-12.", "Vacuum leak"),
        ("Re:", "RF cavity 2 tripped. Reset at noon.", "RF cavity 2 tripped."),
        ("", "\nRF cavity 2 tripped\nReset at noon", "RF cavity 2 tripped"),
        ("", "", ""),
    ],
)
def test_what_is_answered_is_named_by_its_title_or_else_its_beginning(
    title: str, text: str, said: str
) -> None:
    assert chunk_prefix.of_answered(title, text) == said


def test_the_tail_of_a_long_entry_is_read_below_its_title() -> None:
    encoder = ReadingEncoder()
    text = " ".join(f"step{number}" for number in range(900))

    found = embed_entry.embed(entry(TITLE, text), encoder)

    assert len(found.chunks) == 4
    assert all(one.startswith(f"{TITLE}\n") for one in encoder.read)
    assert "".join(encoder.read).count(TITLE) == 4, "once in each"
    for chunk, read in zip(found.chunks[1:], encoder.read[1:], strict=True):
        assert read == f"{TITLE}\n{text[chunk.start : chunk.end]}"
    assert found.chunks[-1].end == len(text)


def test_a_short_entry_that_tells_is_read_as_it_stands() -> None:
    encoder = ReadingEncoder()
    embed_entry.embed(entry(TITLE, "same again, reset"), encoder, "Vacuum leak")
    assert encoder.read == [f"{TITLE}\nsame again, reset"]


@pytest.mark.parametrize("title", ["", "Re:"])
def test_a_reply_that_does_not_tell_is_read_below_what_it_answers(title: str) -> None:
    encoder = ReadingEncoder()
    found = embed_entry.embed(entry(title, "same again, reset"), encoder, TITLE)
    (read,) = encoder.read
    assert read.startswith(f"{TITLE}\n")
    assert read.endswith("same again, reset")
    (chunk,) = found.chunks
    assert (chunk.start, chunk.end) == (0, len("same again, reset"))


def test_a_blank_reply_has_no_vector_whatever_it_answers() -> None:
    assert embed_entry.embed(entry("", " \n"), ReadingEncoder(), TITLE).chunks == []


_LINES = st.text(st.sampled_from("ab :.\n"), max_size=200)


@given(_LINES, _LINES, _LINES, st.sampled_from([4, 9, 30]))
def test_no_heading_pushes_any_of_the_text_out_of_what_is_read(
    title: str, text: str, answered: str, max_tokens: int
) -> None:
    encoder = ReadingEncoder(max_tokens)

    found = embed_entry.embed(entry(title, text), encoder, answered)

    covered: set[int] = set()
    for number, (chunk, read) in enumerate(
        zip(found.chunks, encoder.read, strict=True)
    ):
        assert encoder.count_tokens(read) <= max_tokens
        assert read.endswith(text[chunk.start : chunk.end])
        assert chunk.number == number
        covered.update(range(chunk.start, chunk.end))
    left_out = "".join(c for place, c in enumerate(text) if place not in covered)
    assert left_out.strip() == ""


def test_a_title_of_many_words_takes_no_more_than_a_line() -> None:
    encoder = ReadingEncoder()
    title = " ".join(f"title{number}" for number in range(300))
    text = " ".join(f"step{number}" for number in range(900))
    embed_entry.embed(entry(title, text), encoder)
    line = " ".join(title.split()[: chunk_prefix.MOST_PIECES])
    assert {read.split("\n")[0] for read in encoder.read[2:]} == {line}
    assert len(encoder.read) < 8
