"""Long texts are cut so that every word stands whole in some chunk."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.vectors import chunks

WINDOW = HashingEncoder.max_tokens
FACT = "The leak was found at flange VF-12."


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def long_text(words: int) -> str:
    return " ".join(f"word{number}" for number in range(words))


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000"])
def test_a_blank_text_has_no_chunk(text: str) -> None:
    assert chunks.cut(text, HashingEncoder()) == []


@pytest.mark.parametrize("words", [1, WINDOW - 1, WINDOW])
def test_a_text_that_fits_is_one_chunk_as_it_stands(words: int) -> None:
    text = f"  {long_text(words)}\n"
    (chunk,) = chunks.cut(text, HashingEncoder())
    assert (chunk.number, chunk.start, chunk.end) == (0, 0, len(text))
    assert chunk.text == text


def test_one_word_more_than_fits_makes_two_chunks_that_overlap() -> None:
    text = long_text(WINDOW + 1)
    first, second = chunks.cut(text, HashingEncoder())
    assert len(words_of(first.text)) == WINDOW
    assert len(words_of(second.text)) == 1 + chunks.OVERLAP_TOKENS
    assert second.start < first.end
    assert second.end == len(text)


@pytest.mark.parametrize("words", [300, 1000, 5000])
def test_a_fact_in_the_tail_stands_whole_in_a_chunk(words: int) -> None:
    found = chunks.cut(f"{long_text(words)} {FACT}", HashingEncoder())
    assert FACT in found[-1].text


@given(st.text(max_size=400), st.integers(0, 5), st.integers(20, 60))
def test_every_word_is_in_a_chunk_and_chunks_say_where_they_stand(
    text: str, overlap: int, segment: int
) -> None:
    encoder = HashingEncoder(8)
    encoder.max_tokens = 6
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "SEGMENT_CHARACTERS", segment)
        patch.setattr(chunks, "LONGEST_WORD", 10)
        found = chunks.cut(text, encoder, overlap=overlap)
    covered: set[int] = set()
    for number, chunk in enumerate(found):
        assert chunk.number == number
        assert chunk.text == text[chunk.start : chunk.end]
        assert encoder.count_tokens(chunk.text) <= encoder.max_tokens + 2
        covered.update(range(chunk.start, chunk.end))
    left_out = "".join(c for place, c in enumerate(text) if place not in covered)
    assert left_out.strip() == ""


def test_a_text_beyond_the_limit_ends_early_and_can_be_seen_to() -> None:
    text = long_text(10 * WINDOW)
    found = chunks.cut(text, HashingEncoder(), max_chunks=3)
    assert len(found) == 3
    assert found[-1].end < len(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 1_000_000, id="no space"),
        pytest.param(long_text(100_000), id="distinct words"),
        pytest.param("e\u0301" * 10_000, id="combining marks"),
        pytest.param("\n" * 100_000, id="newlines"),
        pytest.param("." * 1_000_000, id="punctuation"),
    ],
)
def test_an_absurd_text_is_cut_within_bounds(text: str) -> None:
    assert len(chunks.cut(text, HashingEncoder())) <= chunks.MAX_CHUNKS
