"""Keeps vectors of recent queries and passages, so that none is encoded twice."""

import base64
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from shared.embedding.models.encoder_contract import Encoder, Vectors, encode_question

KEPT = 2000


def packed(vector: Vectors) -> str:
    """Return a vector as text, to travel with the hits that it found."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def unpack_vector(text: str) -> Vectors:
    """Read a vector back from its text."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


class PassageVectors:
    """The last passages of this process and their vectors, safe between threads."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Vectors] = OrderedDict()

    def of(self, encoder: Encoder, texts: Sequence[str]) -> list[Vectors]:
        """Return the vector of each text; encode all unknown ones outside the lock."""
        with self._lock:
            found = {
                text: self._known[key]
                for text in texts
                if (key := (encoder.model, text)) in self._known
            }
        missing = [one for one in dict.fromkeys(texts) if one not in found]
        if missing:
            found |= self._encode(encoder, missing)
        with self._lock:
            for text in texts:
                key = (encoder.model, text)
                self._known[key] = found[text]
                self._known.move_to_end(key)
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return [found[text] for text in texts]

    def _encode(
        self, encoder: Encoder, texts: Sequence[str]
    ) -> Iterable[tuple[str, Vectors]]:
        """Yield each text with its vector, encoded in two halves beside each other.

        A search waits for them. Every other text by length is a half, so that both
        take about as long.
        """
        by_length = sorted(texts, key=len)
        halves = [half for half in (by_length[::2], by_length[1::2]) if half]
        with ThreadPoolExecutor(len(halves)) as threads:
            for half, made in zip(
                halves, threads.map(encoder.encode, halves), strict=True
            ):
                yield from zip(half, made, strict=True)


class QueryVectors(PassageVectors):
    """The last queries of this process, which some models encode unlike passages."""

    def _encode(
        self, encoder: Encoder, texts: Sequence[str]
    ) -> Iterable[tuple[str, Vectors]]:
        return [(text, encode_question(encoder, text)) for text in texts]
