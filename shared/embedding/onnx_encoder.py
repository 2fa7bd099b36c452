"""The encoder on onnxruntime, imported only by who has texts to encode."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as runtime
from tokenizers import Encoding, Tokenizer

from shared.embedding import stored
from shared.embedding.encoders import Vectors, Word, checked
from shared.errors import ConfigurationError, EmbeddingGenerationError

_RUNTIME_ERRORS = (
    runtime.Fail,
    runtime.RuntimeException,
    runtime.InvalidArgument,
    runtime.EPFail,
)


class OnnxEncoder:
    """A converted model on onnxruntime, one text at a time on the caller's thread."""

    def __init__(self, folder: Path) -> None:
        manifest = stored.manifest_of(folder)
        if manifest is None:
            message = f"The folder {folder} holds no whole embedding model."
            raise ConfigurationError(message, config_key="embedding_model")
        self.model = manifest.model
        self.dimension = manifest.dimension
        self.max_tokens = manifest.max_tokens
        self._tokenizer = Tokenizer.from_file(str(folder / stored.TOKENIZER_FILE))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._first, self._last = self._tokenizer.encode("").ids
        self._session = _session(folder / stored.GRAPH_FILE)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one finite unit vector a text; the same text, the same vector."""
        rows = [self._encode_one(text) for text in texts]
        return checked(rows, len(texts), self.dimension, self.model)

    def count_tokens(self, text: str) -> int:
        """Return how many pieces the whole text has."""
        return len(self._pieces(text).ids)

    def words(self, text: str) -> list[Word]:
        """Return the words of a text in order, with the pieces of each."""
        pieces = self._pieces(text)
        words: list[Word] = []
        numbered = zip(pieces.word_ids, pieces.offsets, strict=True)
        for _, group in groupby(numbered, key=lambda piece: piece[0]):
            spans = [span for _, span in group]
            words.append(Word(spans[0][0], spans[-1][1], len(spans)))
        return words

    def _encode_one(self, text: str) -> Vectors:
        # One text a run: int8 scales its numbers over a whole batch, so a vector would
        # depend on its neighbours; and without padding bigger batches are no faster.
        pieces = self._pieces(text).ids[: self.max_tokens]
        ids = np.array([[self._first, *pieces, self._last]], dtype=np.int64)
        try:
            (vectors,) = self._session.run(
                None, {"input_ids": ids, "attention_mask": np.ones_like(ids)}
            )
        except _RUNTIME_ERRORS as error:
            raise EmbeddingGenerationError(
                technical=str(error), model_name=self.model, input_text=text
            ) from error
        return np.asarray(vectors[0], dtype=np.float32)

    def _pieces(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)


def _session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # More threads of its own collapse as soon as another process burns a core.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
