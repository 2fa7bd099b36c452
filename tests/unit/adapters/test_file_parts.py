"""The parts that files are read with: charsets, lines, places, and counts."""

import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapter_contract.contract import FileStat
from workers.adapters.files.file_progress import FileMark, FileProgress
from workers.adapters.files.repeated_records import Duplicates
from workers.adapters.files.utf8_text import AsUTF8, Lines


def read_in_pieces(data: bytes, size: int) -> bytes:
    source = AsUTF8(io.BytesIO(data))
    return b"".join(iter(lambda: source.read(size), b""))


@given(st.text(), st.integers(min_value=1, max_value=7))
def test_text_in_utf8_is_never_changed_however_it_is_cut(text: str, size: int) -> None:
    assert read_in_pieces(text.encode(), size) == text.encode()


@given(st.binary(), st.integers(min_value=1, max_value=7))
def test_any_bytes_become_the_same_text_however_they_are_cut(data, size) -> None:
    assert read_in_pieces(data, size) == read_in_pieces(data, 1000)
    read_in_pieces(data, size).decode("utf-8")


def test_bytes_that_are_no_utf8_are_read_as_cp1252_and_told() -> None:
    source = AsUTF8(io.BytesIO(b"\x93Gr\xf6\xdfe\x94 \x81 " + "µ".encode()))
    assert source.read(100).decode() == "“Größe” \ufffd µ"
    assert source.has_guessed


def test_lines_have_places_and_none_is_longer_than_allowed() -> None:
    data = b"ab\nabcdefgh\n\nend"
    lines = list(Lines(io.BytesIO(data), offset=0, number=0, most=4))
    assert [(one.data, one.number, one.end) for one in lines] == [
        (b"ab\n", 1, 3),
        (b"abcd", 2, 12),
        (b"\n", 3, 13),
        (b"end", 4, 16),
    ]
    assert [one.is_cut for one in lines] == [False, True, False, False]
    assert [one.is_whole for one in lines] == [True, True, True, False]


def test_repeats_are_counted_like_a_dict_would() -> None:
    chance = random.Random(7)
    keys = [chance.choice((0, 1, chance.getrandbits(64))) for _ in range(20_000)]
    counted, expected = Duplicates(), dict.fromkeys(keys, 0)
    for key in keys:
        expected[key] += 1
        assert counted.add(key) == expected[key]


@pytest.mark.parametrize(
    "odd",
    [
        None,
        {},
        {"v": 2},
        {"v": 1, "file": 1},
        {"v": 1, "file": "a", "mark": 3},
        {"v": 1, "file": "a", "mark": {"size": "1", "mtime_ns": 1, "inode": 1}},
        {"v": 1, "file": "a", "mark": {"size": 1, "mtime_ns": 1, "inode": True}},
        {"v": 1, "file": "a", "mark": {"size": 1, "mtime_ns": 1}},
    ],
)
def test_a_cursor_that_cannot_be_read_means_everything(odd) -> None:
    assert FileProgress.of(odd) == FileProgress(is_full=True)


def test_a_place_is_its_cursor() -> None:
    mark = FileMark.start(FileStat(10, 20, 30), "2:ab", {"asked": "c", "etag": '"7"'})
    for place in (
        FileProgress(is_full=False),
        FileProgress(is_full=True, name="a", mark=mark),
        FileProgress(is_full=False, name="a", mark=None),
    ):
        assert FileProgress.of(place.cursor()) == place
