"""Bare BM25, as bm25s has it: the texts in memory, nothing of ours but the stemmer."""

from collections.abc import Mapping

import bm25s
import numpy as np
import snowballstemmer

# The words of the collections' own language, stemmed as ours are.
LANGUAGE = "english"


class BareWords:
    """Every text under the library's own defaults, its English stopwords left out."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._names = list(texts)
        self._stemmer = snowballstemmer.stemmer(LANGUAGE)
        self._scored = bm25s.BM25(backend="numpy")
        tokens = self._tokens(list(texts.values()))
        self._scored.index(tokens, show_progress=False)

    def best(self, question: str, count: int) -> list[str]:
        """Return the texts that have a word of the question, by BM25."""
        [words] = self._tokens([question])
        if not words:
            return []
        scores = self._scored.get_scores(words)
        # Of equals the one that was there first.
        order = np.argsort(-scores, kind="stable")[:count]
        return [self._names[row] for row in order.tolist() if scores[row] > 0.0]

    def _tokens(self, texts: list[str]) -> list[list[str]]:
        told: list[list[str]] = bm25s.tokenize(
            texts,
            stopwords=LANGUAGE,
            stemmer=self._stemmer,
            return_ids=False,
            show_progress=False,
        )
        return told
