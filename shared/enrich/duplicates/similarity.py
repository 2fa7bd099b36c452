"""How much two texts are the same text: pure, and the same in every process.

A text is the set of its runs of three terms. What sets have in common is estimated by
a MinHash (one permutation, empty bins filled) to find candidates, and counted exactly
to judge them. Names, numbers and times weigh more: a form that is filled in for another
device is no copy.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import blake2b
from itertools import islice

from shared.stages.task_stages import DUPLICATES_VERSION

# From this share of common runs on, two texts are near-duplicates.
ALIKE = 0.7
# And of those that it names, the text with fewer shares so many with the other.
ALIKE_MARKS = 0.8
_RUN_TERMS = 3
# "RF trip" is said of many trips: so short a text is nobody's copy.
MIN_RUNS = 12
# A copy of a long text shows itself in its beginning.
MAX_RUNS = 4000

# Pairs that share 0.7 have a band in common with 0.988, and 0.8 with 0.9998.
_BANDS, _ROWS_A_BAND = 16, 4
_BINS = _BANDS * _ROWS_A_BAND
_BIN_BITS = 6
_EMPTY = -1

_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"[+-]?\d[\d.,:/e+-]*")


@dataclass(frozen=True)
class Shape:
    """The set of runs of a text, what it names and counts, and what it is found by."""

    # In order, as Postgres keeps them: 32 bits with a sign.
    runs: tuple[int, ...]
    marks: tuple[int, ...]
    # Where it was found before, as they are kept.
    kept_bands: tuple[int, ...] = field(default=(), compare=False)

    @cached_property
    def run_set(self) -> frozenset[int]:
        """Return the runs as a set, for comparison with many others."""
        return frozenset(self.runs)

    @cached_property
    def digest(self) -> bytes:
        """Return a digest that is equal for texts with equal runs and marks.

        Another version of the rules has other digests, so that texts are placed anew.
        """
        said = blake2b(digest_size=16, person=str(DUPLICATES_VERSION).encode())
        for part in (*self.runs, len(self.runs), *self.marks):
            said.update(part.to_bytes(4, "big", signed=True))
        return said.digest()

    @cached_property
    def bands(self) -> list[int]:
        """Return the bands of the MinHash; alike texts share one."""
        if self.kept_bands:
            return list(self.kept_bands)
        bins = _filled(_least_of_each_bin(self.runs))
        return [
            _hashed(f"{number} {bins[at : at + _ROWS_A_BAND]}", 8)
            for number, at in enumerate(range(0, _BINS, _ROWS_A_BAND))
        ]


def shape_of(stream: str) -> Shape | None:
    """Return the shape of a text, or None where it is too short to have copies."""
    runs = frozenset(islice(_runs(stream), MAX_RUNS))
    if len(runs) < MIN_RUNS:
        return None
    marked = islice(filter(_DIGIT.search, stream.split()), MAX_RUNS)
    marks = {_hashed(term, 4) for term in marked}
    return Shape(tuple(sorted(runs)), tuple(sorted(marks)))


def are_alike(one: Shape, other: Shape) -> bool:
    """Tell whether one text is a copy of the other, a little changed or not."""
    short, long = sorted((len(one.runs), len(other.runs)))
    # So much longer, a text has too much of its own, whatever else they share.
    if short / long < ALIKE or in_common(one, other) < ALIKE:
        return False
    fewer = min(len(one.marks), len(other.marks))
    return len(set(one.marks) & set(other.marks)) >= ALIKE_MARKS * fewer


def in_common(one: Shape, other: Shape) -> float:
    """Return the share of runs that two texts have in common, exactly."""
    shared = len(one.run_set & other.run_set)
    return shared / (len(one.runs) + len(other.runs) - shared)


def pattern_of(stream: str) -> bytes | None:
    """Return a digest that is equal for texts that differ in numbers and times only."""
    words = [term for term in stream.split() if not _NUMBER.fullmatch(term)]
    if not words:
        return None
    return blake2b(" ".join(words).encode(), digest_size=16).digest()


def _runs(stream: str) -> Iterator[int]:
    # A section is a line: no run goes across.
    for section in stream.splitlines():
        terms = section.split(" ")
        for at in range(len(terms) - _RUN_TERMS + 1):
            yield _hashed(" ".join(terms[at : at + _RUN_TERMS]), 4)


def _hashed(text: str, size: int) -> int:
    digest = blake2b(text.encode(), digest_size=size).digest()
    return int.from_bytes(digest, "big", signed=True)


def _least_of_each_bin(runs: tuple[int, ...]) -> list[int]:
    bins = [_EMPTY] * _BINS
    for run in runs:
        # Bits of a number are not spread as those of a hash of it are.
        mixed = (run & 0xFFFFFFFF) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        place, value = mixed >> (64 - _BIN_BITS), mixed << _BIN_BITS & (1 << 64) - 1
        if bins[place] == _EMPTY or value < bins[place]:
            bins[place] = value
    return bins


def _filled(bins: list[int]) -> list[int]:
    """Fill empty bins from others, the same others for every text."""
    return [
        next(value for value in _instead(bins, place) if value != _EMPTY)
        for place in range(_BINS)
    ]


def _instead(bins: list[int], place: int) -> Iterator[int]:
    yield bins[place]
    for other in _others(place):
        yield bins[other]


@cache
def _others(place: int) -> tuple[int, ...]:
    """Return all bins in an order that depends on this bin alone."""
    return tuple(sorted(range(_BINS), key=lambda bin_: _hashed(f"{place} {bin_}", 8)))
