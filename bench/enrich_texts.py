"""Entries of a wanted length, counted in the word pieces that a model reads."""

import random
import statistics
from collections.abc import Iterator
from datetime import datetime
from itertools import count

from bench import logbook
from shared.embedding.models.encoder_contract import Encoder
from shared.entries.draft import EntryDraft

# Of a control room's entries: half are short, and one in twenty is long.
MEDIAN_PIECES, P95_PIECES = 60, 250
# Lengths are lognormal; by so many deviations the p95 lies above the median.
_SIGMA = 0.8676
_LEAST, _MOST = 8, 2_000


def lengths(number: int, *, seed: int = 1) -> Iterator[int]:
    """Yield so many lengths in word pieces, with that median and that p95."""
    luck = random.Random(seed)  # noqa: S311 - a test's luck
    for _ in range(number):
        drawn = MEDIAN_PIECES * luck.lognormvariate(0, _SIGMA)
        yield min(_MOST, max(_LEAST, round(drawn)))


def drafts(
    encoder: Encoder,
    number: int,
    *,
    pieces: int | None = None,
    name: str = "e",
    seed: int = 1,
) -> Iterator[EntryDraft]:
    """Yield so many entries, each of so many pieces or of a length drawn for it."""
    sentences = _sentences(seed)
    wanted = lengths(number, seed=seed)
    for at, drawn in enumerate(wanted):
        one = next(sentences)
        yield EntryDraft(
            "api",
            f"{name}-{at}",
            _text(encoder, one["text"], sentences, pieces or drawn),
            authors=(one["author"],),
            logbooks=tuple(one["books"]),
            tags=tuple(one["tags"]),
            entry_time=datetime.fromisoformat(one["timestamp"]),
        )


def _sentences(seed: int) -> Iterator[dict[str, str]]:
    for batch in count():
        yield from logbook.entries(1000, seed=seed, first=1 + 1000 * batch)


def _text(
    encoder: Encoder, first: str, others: Iterator[dict[str, str]], pieces: int
) -> str:
    parts: list[str] = []
    text, left = first, pieces
    while True:
        end = 0
        for word in encoder.words(text):
            if word.tokens > left:
                break
            left -= word.tokens
            end = word.end
        parts.append(text[:end])
        if end < len(text) or not left:
            return " ".join(parts).strip()
        text = next(others)["text"]


def measured(encoder: Encoder, number: int) -> dict[str, float]:
    """Return median and p95 of the pieces that the entries really have."""
    sizes = [encoder.count_tokens(one.text) for one in drafts(encoder, number)]
    cuts = statistics.quantiles(sizes, n=100)
    return {"median": cuts[49], "p95": cuts[94]}
