"""Vectors of recent queries: encoded once, forgotten in the order of their use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.search.retrieval.query_vectors import QueryVectors


class Counting(HashingEncoder):
    """An encoder that notes what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return super().encode(texts)


def test_the_same_question_is_encoded_once() -> None:
    encoder, known = Counting(), QueryVectors()
    (first,) = known.of(encoder, ["beam loss"])
    (again,) = known.of(encoder, ["beam loss"])
    assert np.array_equal(first, again)
    assert encoder.asked == ["beam loss"]
    assert first.shape == (encoder.dimension,)


def test_the_question_not_asked_for_longest_is_forgotten_first() -> None:
    encoder, known = Counting(), QueryVectors(kept=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        known.of(encoder, [text])
    assert encoder.asked == ["a", "b", "c", "b"]
