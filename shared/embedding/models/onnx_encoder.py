"""The encoder on onnxruntime, imported only by who has texts to encode."""

import threading
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Self

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as runtime
from tokenizers import Encoding, Tokenizer

from shared.embedding.models import model_folder
from shared.embedding.models.encoder_contract import Vectors, Word, check_vectors
from shared.embedding.models.model_names import FOLDER_PREFIX
from shared.errors import ConfigurationError, EmbeddingGenerationError

# How much a model reads that does not say so; all of them read that much.
DEFAULT_TOKENS = 256

RUNTIME_ERRORS = (
    runtime.Fail,
    runtime.RuntimeException,
    runtime.InvalidArgument,
    runtime.EPFail,
)
_UNREADABLE = (
    *RUNTIME_ERRORS,
    runtime.InvalidGraph,
    runtime.InvalidProtobuf,
    runtime.NotImplemented,
)


class OnnxEncoder:
    """A model on onnxruntime, one text at a time on the caller's thread."""

    def __init__(self, folder: Path) -> None:
        manifest = model_folder.manifest_of(folder)
        self._tokenizer, self._session = opened(folder, "embedding_model")
        limit = (self._tokenizer.truncation or {}).get("max_length", DEFAULT_TOKENS)
        # What is counted to be cut, and is short, is encoded next.
        self._counted = threading.local()
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        marks = self._tokenizer.encode("").ids
        # The beginning and the end, or the end alone, or neither.
        self._first, self._last = marks[: len(marks) // 2], marks[len(marks) // 2 :]
        self._inputs = {one.name for one in self._session.get_inputs()}
        self._reads_first = manifest is not None and manifest.pooling == "first"
        if manifest is None:
            self.model = f"{FOLDER_PREFIX}{folder}"
            self.max_tokens = max(1, limit - len(marks))
            self.dimension = len(self._encode_one("beam"))
        else:
            self.model = manifest.model
            self.max_tokens = manifest.max_tokens
            self.dimension = manifest.dimension

    def within(self, _: float, /) -> Self:
        """Return this encoder: it waits for no server."""
        return self

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one finite unit vector a text; the same text, the same vector."""
        rows = [self._encode_one(text) for text in texts]
        return check_vectors(rows, len(texts), self.dimension, self.model)

    def count_tokens(self, text: str) -> int:
        """Return how many pieces the whole text has."""
        pieces = self._pieces(text)
        self._counted.last = text, pieces.ids
        return len(pieces.ids)

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
        text_counted, counted = getattr(self._counted, "last", (None, []))
        known = counted if text_counted == text else self._pieces(text).ids
        pieces = known[: self.max_tokens]
        ids = np.array([[*self._first, *pieces, *self._last]], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        try:
            found = self._session.run(
                None, {name: given[name] for name in given.keys() & self._inputs}
            )
        except RUNTIME_ERRORS as error:
            raise EmbeddingGenerationError(
                technical=str(error), model_name=self.model, input_text=text
            ) from error
        return self._one_vector(np.asarray(found[0][0], dtype=np.float32))

    def _pieces(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _one_vector(self, found: Vectors) -> Vectors:
        """Return a vector of length one of those a piece; a whole one as it is."""
        if found.ndim == 1:
            return found
        pooled = found[0] if self._reads_first else found.mean(axis=0)
        length = float(np.linalg.norm(pooled))
        # What is no number, or nothing, is refused by whoever checks it.
        return np.asarray(pooled / length if length else pooled, dtype=np.float32)


def opened(
    folder: Path, setting: str
) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
    """Open a model's tokenizer and graph, or refuse the folder naming its setting."""
    paths = folder / model_folder.TOKENIZER_FILE, folder / model_folder.GRAPH_FILE
    missing = [path.name for path in paths if not path.is_file()]
    if missing or model_folder.is_spoiled(folder):
        flaw = f"{' and '.join(missing)} missing" if missing else "a file damaged"
        message = (
            f"The folder {folder} holds no whole model (`{setting}`), {flaw}. Copy it"
            " there again, or name another model; one of Logchord's own is made again"
            " at the next start."
        )
        raise ConfigurationError(message, config_key=setting)
    try:
        return Tokenizer.from_file(str(paths[0])), _session(paths[1])
    except _UNREADABLE as exc:
        message = (
            f"The model in {folder} (`{setting}`) cannot be loaded: {exc}. Copy it"
            " there again, or name another model."
        )
        raise ConfigurationError(message, config_key=setting) from exc


def _session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # More threads of its own collapse as soon as another process burns a core.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
