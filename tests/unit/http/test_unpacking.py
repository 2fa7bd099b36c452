"""Packed answers and files come out piece by piece, and bombs do not."""

import gzip
import random
import tracemalloc
import zlib

import pytest

from shared.errors import IngestionError, SourceUnreachableError
from shared.http.unpack import Unpacker

TEXT = bytes(random.Random(5).choices(b"abcdefgh \n", k=200_000))


def unpacked(coding: str, data: bytes, piece: int) -> bytes:
    unpacker = Unpacker(coding)
    parts = [data[at : at + piece] for at in range(0, len(data), piece)]
    out = b"".join(one for part in parts for one in unpacker.feed(part))
    unpacker.end()
    return out


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize("piece", [13, 4096, 10_000_000])
@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:])),
        ("gzip", gzip.compress(TEXT) + b"\0" * 512),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
    ],
    ids=["gzip", "members", "padded", "zlib", "raw"],
)
def test_what_was_packed_comes_out_whatever_pieces_it_comes_in(coding, packed, piece):
    assert unpacked(coding, packed, piece) == TEXT


def test_a_highly_packed_answer_leaves_nothing_behind_in_the_unpacker():
    text = b"a" * 900_000
    assert unpacked("deflate", zlib.compress(text), 10_000_000) == text


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_half_of_it_is_told_from_the_whole(coding):
    packed = gzip.compress(TEXT) if coding == "gzip" else zlib.compress(TEXT)
    for end in (1, 3, 5000, len(packed) - 1):
        with pytest.raises(SourceUnreachableError) as caught:
            unpacked(coding, packed[:end], 4096)
        assert caught.value.reason == "half_body"


@pytest.mark.parametrize(
    "data", [b"plain text", gzip.compress(TEXT) + b"rest", b"\x1f\x8b\x08\x00garbage"]
)
def test_what_is_no_gzip_is_a_broken_answer(data):
    with pytest.raises(SourceUnreachableError):
        unpacked("gzip", data, 4096)


def test_nothing_at_all_is_whole():
    assert unpacked("gzip", b"", 1) == b""


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_bomb_is_refused_before_it_has_unpacked(coding):
    plain = b"\0" * 20_000_000
    packed = gzip.compress(plain) if coding == "gzip" else zlib.compress(plain)
    del plain
    given: list[int] = []
    unpacker = Unpacker(coding)
    tracemalloc.start()
    with pytest.raises(IngestionError) as caught:
        given.extend(len(piece) for piece in unpacker.feed(packed))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.reason == "unpack_ratio"
    assert caught.value.retriable is False
    assert sum(given) <= 100 * len(packed)
    assert peak < 1_000_000


def test_many_tiny_members_count_together():
    member = gzip.compress(b"\0" * 60_000)
    with pytest.raises(IngestionError) as caught:
        unpacked("gzip", member * 2000, 65_536)
    assert caught.value.reason == "unpack_ratio"


def test_a_small_answer_may_repeat_itself():
    text = b"[" + b'{"a":0},' * 100_000
    packed = gzip.compress(text)
    assert len(text) > 100 * len(packed)
    assert unpacked("gzip", packed, 65_536) == text
