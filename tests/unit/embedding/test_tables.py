"""Chunks that begin inside a table repeat its header, as far as there is room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.vectors import chunks, embed_entry, input_digests
from shared.embedding.vectors.chunks import Chunk
from tests.support.reading_encoder import ReadingEncoder, entry

HEADER = "Device | I / mA | Pressure [mbar] | Remark"
ROWS = "\n".join(
    f"QF{number} | {number} | {number}e-9 | all well" for number in range(1, 200)
)
TABLE = f"{HEADER}\n{ROWS}"
TITLE = "Vacuum scan"


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (HEADER, ROWS),
        (HEADER.replace(" | ", "\t"), ROWS.replace(" | ", "\t")),
        (HEADER.replace(" | ", "   "), ROWS.replace(" | ", "   ")),
    ],
)
def test_each_chunk_of_a_table_has_its_header_and_begins_with_a_row(header, rows):
    encoder = ReadingEncoder()
    found = embed_entry.embed(entry(TITLE, f"{header}\n{rows}"), encoder)
    assert len(found.chunks) > 3
    for read in encoder.read[1:]:
        assert encoder.count_tokens(read) <= encoder.max_tokens
        title, repeated, first, *_ = read.split("\n")
        assert (title, repeated) == (TITLE, header)
        assert first.startswith("QF")
    assert encoder.read[0].count(header) == 1


def test_a_chunk_behind_a_table_and_one_that_has_the_header_itself_repeat_none():
    prose = " ".join(f"word{number}." for number in range(600))
    short = "\n".join(ROWS.split("\n")[:4])
    found = chunks.cut(f"{prose}\n\n{HEADER}\n{short}\n\n{prose}", HashingEncoder())
    assert any(HEADER in one.text for one in found)
    assert {one.header for one in found} <= {"", f"{HEADER}\n"}
    for one in found:
        assert not (one.header and HEADER in one.text)
        assert not one.header or one.text.startswith("QF")
    assert found[-1].header == ""


def test_of_a_long_header_what_is_whole_and_fits_a_quarter_is_repeated() -> None:
    names = [f"column{number}" for number in range(100)]
    row = " | ".join(f"v{number}" for number in range(100))
    text = "\n".join([" | ".join(names), *[row] * 20])
    found = chunks.cut(text, HashingEncoder())
    # What stands between two names is a piece as well.
    most = (HashingEncoder.max_tokens // 4 + 1) // 2
    assert {one.header for one in found[1:]} == {" | ".join(names[:most]) + "\n"}


def test_what_is_shown_of_a_chunk_is_its_place_in_the_text() -> None:
    found = chunks.cut(TABLE, HashingEncoder())
    for one in found:
        assert one.text == TABLE[one.start : one.end]
    assert [one.end - one.start < len(TABLE) for one in found] == [True] * len(found)


def test_what_has_no_table_is_read_as_the_release_before_has_read_it() -> None:
    read = [Chunk(0, 0, 5, "pumps"), Chunk(1, 3, 9, "ps down")]
    mark = input_digests.digest(read, ["pumps", "Pumps\nps down"])
    # As it stands in the database: another one has all vectors made anew.
    assert mark.hex() == "a466192b47e130a3db08fb766444bdca"


_TABLES = st.lists(
    st.lists(st.sampled_from(["a", "I [mA]", "3 4", "", "b c d"]), max_size=4).map(
        " | ".join
    ),
    max_size=30,
).map("\n".join)


@given(_TABLES, st.sampled_from([4, 9, 30]))
def test_no_header_pushes_any_of_the_text_out_of_what_is_read(text, max_tokens) -> None:
    encoder = ReadingEncoder(max_tokens)
    found = embed_entry.embed(entry("", text), encoder)
    covered: set[int] = set()
    for chunk, read in zip(found.chunks, encoder.read, strict=True):
        assert encoder.count_tokens(read) <= max_tokens
        assert read == chunk.header + text[chunk.start : chunk.end]
        covered.update(range(chunk.start, chunk.end))
    left_out = "".join(c for place, c in enumerate(text) if place not in covered)
    assert left_out.strip() == ""
