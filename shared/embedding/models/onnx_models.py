"""Models on onnxruntime, imported only by who has texts to encode or to rerank."""

import threading
import time
from collections.abc import Iterator, Sequence
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
from shared.errors import ConfigurationError, EmbeddingGenerationError, LogchordError

# How much a model reads that does not say so: all read that much of a text, or a pair.
_TOKENS, _PAIR_TOKENS = 256, 512
# A cross-encoder that tells two classes apart answers with the second.
_CLASSES = 2
# A vector for each piece of each text: batch, length, width.
_OF_PIECES = 3
_RUNTIME_ERRORS = (
    runtime.Fail,
    runtime.RuntimeException,
    runtime.InvalidArgument,
    runtime.EPFail,
)
_UNREADABLE = (
    *_RUNTIME_ERRORS,
    runtime.InvalidGraph,
    runtime.InvalidProtobuf,
    runtime.NotImplemented,
)


class OnnxEncoder:
    """A model on onnxruntime, one text at a time on the caller's thread."""

    def __init__(self, folder: Path) -> None:
        manifest = model_folder.manifest_of(folder)
        self._tokenizer, self._session = _open(folder, "embedding_model")
        limit = (self._tokenizer.truncation or {}).get("max_length", _TOKENS)
        # What is counted to be cut, and is short, is encoded next.
        self._counted = threading.local()
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        marks = self._tokenizer.encode("").ids
        # The beginning and the end, or the end alone, or neither.
        self._first, self._last = marks[: len(marks) // 2], marks[len(marks) // 2 :]
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
        text_counted, counted = getattr(self._counted, "last", (None, []))
        known = counted if text_counted == text else self._pieces(text).ids
        pieces = known[: self.max_tokens]
        ids = [*self._first, *pieces, *self._last]
        try:
            found = _run(self._session, ids, [1] * len(ids), [0] * len(ids))
        except _RUNTIME_ERRORS as error:
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


class _Reranker:
    """A folder with `model.onnx` and `tokenizer.json`, one text at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokenizer, self._session = _open(folder, "reranking.model")
        self._tokenizer.no_padding()

    def _run(self, read: Encoding) -> Sequence[Vectors]:
        try:
            return _run(self._session, read.ids, read.attention_mask, read.type_ids)
        except _RUNTIME_ERRORS as error:
            raise self._wrong(str(error)) from error

    def _wrong(self, technical: str) -> EmbeddingGenerationError:
        return EmbeddingGenerationError(
            technical=technical, model_name=str(self._folder)
        )


class OnnxCrossEncoder(_Reranker):
    """A model that reads a question and a text together."""

    late = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        limit = (self._tokenizer.truncation or {}).get("max_length", _PAIR_TOKENS)
        self._tokenizer.enable_truncation(limit, strategy="longest_first")

    def logits(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Return one finite logit a text within the time, or raise."""
        in_time = _in_time(texts, time.monotonic() + seconds)
        return [self._logit(self._tokenizer.encode(query, text)) for text in in_time]

    def _logit(self, pair: Encoding) -> float:
        row = np.asarray(self._run(pair)[0], dtype=np.float64).reshape(-1)
        if len(row) not in {1, _CLASSES} or not np.isfinite(row).all():
            raise self._wrong(f"{row[:4]} is no logit")
        return float(row[0] if len(row) == 1 else row[1] - row[0])


class LateInteraction(_Reranker):
    """Late interaction: each piece of a question beside the likest of a text."""

    late = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._tokenizer.enable_truncation(_TOKENS)

    def logits(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Return how like each text is, from -1 to 1, within the time, or raise.

        It is the mean over the question's pieces of the best cosine that each has in
        the text.
        """
        in_time = _in_time(texts, time.monotonic() + seconds)
        asked = self._pieces(query)
        return [
            float((asked @ self._pieces(text).T).max(axis=1).mean()) for text in in_time
        ]

    def _pieces(self, text: str) -> Vectors:
        """Return a unit vector for each piece of a text, both its ends included."""
        outputs = self._run(self._tokenizer.encode(text))
        arrays = (np.asarray(one, dtype=np.float32) for one in outputs)
        found = next((one[0] for one in arrays if one.ndim == _OF_PIECES), None)
        if found is None or not np.isfinite(found).all():
            raise self._wrong("the model gives no vector for each piece")
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-12), dtype=np.float32)


def _in_time(texts: Sequence[str], ends: float) -> Iterator[str]:
    """Yield texts until a moment of the monotonic clock, then raise."""
    for text in texts:
        if time.monotonic() >= ends:
            raise LogchordError("The reranking model was late.", code="branch_timeout")
        yield text


def _run(
    session: onnxruntime.InferenceSession,
    ids: Sequence[int],
    mask: Sequence[int],
    types: Sequence[int],
) -> Sequence[Vectors]:
    """Run a graph on the pieces of one text; of the inputs it gets those that it has.

    One text a run: int8 scales its numbers over a whole batch, so a vector would depend
    on its neighbours; and without padding bigger batches are no faster.
    """
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    wanted = {one.name for one in session.get_inputs()}
    named = {name: np.array([given[name]], np.int64) for name in given.keys() & wanted}
    outputs: Sequence[Vectors] = session.run(None, named)
    return outputs


def _open(folder: Path, setting: str) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
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
