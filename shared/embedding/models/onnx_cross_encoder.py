"""A cross-encoder on onnxruntime, imported only by who reranks with one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Encoding

from shared.embedding.models.onnx_encoder import RUNTIME_ERRORS, opened
from shared.errors import EmbeddingGenerationError, LogchordError

# How much a model reads that does not say so; all of them read that much.
DEFAULT_TOKENS = 512
# A model that tells two classes apart answers with the second.
_CLASSES = 2


class OnnxCrossEncoder:
    """A folder with `model.onnx` and `tokenizer.json`, one pair at a time."""

    late = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokenizer, self._session = opened(folder, "reranking.model")
        limit = (self._tokenizer.truncation or {}).get("max_length", DEFAULT_TOKENS)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(limit, strategy="longest_first")
        self._inputs = {one.name for one in self._session.get_inputs()}

    def logits(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Return one finite logit a text within the time, or raise."""
        ends = time.monotonic() + seconds
        found = []
        for text in texts:
            if time.monotonic() >= ends:
                message = "The cross-encoder was late."
                raise LogchordError(message, code="branch_timeout")
            found.append(self._logit(self._tokenizer.encode(query, text)))
        return found

    def _logit(self, pair: Encoding) -> float:
        given = {
            "input_ids": np.array([pair.ids], dtype=np.int64),
            "attention_mask": np.array([pair.attention_mask], dtype=np.int64),
            "token_type_ids": np.array([pair.type_ids], dtype=np.int64),
        }
        try:
            (found, *_) = self._session.run(
                None, {name: given[name] for name in given.keys() & self._inputs}
            )
        except RUNTIME_ERRORS as error:
            raise self._wrong(str(error)) from error
        row = np.asarray(found, dtype=np.float64).reshape(-1)
        if len(row) not in {1, _CLASSES} or not np.isfinite(row).all():
            raise self._wrong(f"{row[:4]} is no logit")
        return float(row[0] if len(row) == 1 else row[1] - row[0])

    def _wrong(self, technical: str) -> EmbeddingGenerationError:
        return EmbeddingGenerationError(
            technical=technical, model_name=str(self._folder)
        )
