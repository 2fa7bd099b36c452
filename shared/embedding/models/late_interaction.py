"""Late interaction: each piece of a question beside the likest of a text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.models.onnx_encoder import DEFAULT_TOKENS, RUNTIME_ERRORS, opened
from shared.errors import EmbeddingGenerationError, LogchordError

# A vector for each piece of each text: batch, length, width.
_OF_PIECES = 3


class LateInteraction:
    """A model that gives a vector for each piece of a text; one text at a time."""

    late = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokenizer, self._session = opened(folder, "reranking.model")
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(DEFAULT_TOKENS)
        self._inputs = {one.name for one in self._session.get_inputs()}

    def logits(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Return how like each text is, from -1 to 1, within the time, or raise.

        It is the mean over the question's pieces of the best cosine that each has in
        the text.
        """
        ends = time.monotonic() + seconds
        asked = self._pieces(query)
        found = []
        for text in texts:
            if time.monotonic() >= ends:
                message = "The model was late."
                raise LogchordError(message, code="branch_timeout")
            found.append(float((asked @ self._pieces(text).T).max(axis=1).mean()))
        return found

    def _pieces(self, text: str) -> Vectors:
        """Return a unit vector for each piece of a text, both its ends included."""
        read = self._tokenizer.encode(text)
        given = {
            "input_ids": np.array([read.ids], dtype=np.int64),
            "attention_mask": np.array([read.attention_mask], dtype=np.int64),
            "token_type_ids": np.array([read.type_ids], dtype=np.int64),
        }
        try:
            outputs = self._session.run(
                None, {name: given[name] for name in given.keys() & self._inputs}
            )
        except RUNTIME_ERRORS as error:
            raise self._wrong(str(error)) from error
        arrays = (np.asarray(one, dtype=np.float32) for one in outputs)
        found = next((one[0] for one in arrays if one.ndim == _OF_PIECES), None)
        if found is None or not np.isfinite(found).all():
            raise self._wrong("the model gives no vector for each piece")
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-12), dtype=np.float32)

    def _wrong(self, technical: str) -> EmbeddingGenerationError:
        return EmbeddingGenerationError(
            technical=technical, model_name=str(self._folder)
        )
