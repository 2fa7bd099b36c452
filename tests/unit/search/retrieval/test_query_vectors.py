"""Vectors of recent queries: encoded once, forgotten in the order of their use."""

from collections.abc import Sequence

import numpy as np

from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.search.retrieval.query_vectors import PassageVectors, QueryVectors


class Counting(HashingEncoder):
    """An encoder that notes what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.halves: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        self.halves.append([*texts])
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


def test_passages_are_encoded_in_two_halves_and_each_keeps_its_vector() -> None:
    encoder, known = Counting(), PassageVectors()
    texts = [
        "a long text about the beam",
        "beam",
        "a valve",
        "beam",
        "the beam is lost",
    ]
    found = known.of(encoder, texts)
    for text, vector in zip(texts, found, strict=True):
        assert np.array_equal(vector, HashingEncoder().encode([text])[0])
    assert sorted(map(len, encoder.halves)) == [2, 2]
    known.of(encoder, [*texts, "and one more"])
    assert encoder.halves[2:] == [["and one more"]]
