"""Models of an OpenAI-compatible endpoint: asked over HTTP, and not trusted."""

import copy
import json
import math
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from shared.embedding.models.encoder_contract import Vectors, Word, check_vectors
from shared.errors import (
    ConfigurationError,
    EmbeddingGenerationError,
    EmbeddingOutageError,
    SourceUnreachableError,
)
from shared.http import failures
from shared.language_models.provider import Provider
from shared.settings.sections import ProviderSettings

# Limits for an answer: 32 vectors of 4,000 numbers as text are smaller.
_MOST_BYTES, _MOST_SCORE_BYTES = 16_000_000, 1_000_000
# After a silence: whoever asks next does not wait as long again for nothing. One that a
# question had no more time for says little of the server.
REST_SECONDS, SILENCE_SECONDS = 5.0, 1.0
# Without the model's own tokenizer: in no language are there fewer to a piece.
CHARACTERS_A_PIECE = 2
# What any model can embed: if it fails, too, the text was not the reason.
_HARMLESS = "beam"
_WORDS = re.compile(r"\S+")
_LONGEST_WORD = 100
_OK = 200
_WRONG_KEY = frozenset({401, 403})
_TEXT_REFUSED = frozenset({400, 413, 422})
_BROKEN = 500
# What reading foreign JSON raises; what is no object has no `get`.
_NO_ANSWER = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
    OverflowError,
)
# A probability of 0 or 1 has no logit; nobody means more by it than this.
_SUREST = 1e-9


@dataclass
class _Learnt:
    """The server's dimension and silences, shared by all who ask in this process."""

    dimension: int | None = None
    rests_until: float = 0.0
    # It was silent when it was asked last.
    is_silent: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def rest(self, now: float) -> float:
        """Return how long the server rests; after a silence one caller asks for all."""
        with self.lock:
            left = self.rests_until - now
            if self.is_silent and left <= 0:
                self.rests_until = now + REST_SECONDS
            return left

    def note(self, *, is_silent: bool) -> None:
        """Note whether the server answered; after a silence it rests for a while."""
        with self.lock:
            self.is_silent = is_silent
            until = time.monotonic() + REST_SECONDS
            self.rests_until = until if is_silent else 0.0


class EndpointEncoder:
    """Asks a server for vectors; safe to share between threads."""

    def __init__(self, model: str, settings: ProviderSettings) -> None:
        provider, _, self._remote = model.partition(":")
        self.model = model
        self.max_tokens = settings.embedding_tokens
        self._provider = provider
        self._settings = settings
        self._server = Provider(provider, settings, model)
        self._learnt = _Learnt()
        self._ends_at = math.inf

    @property
    def dimension(self) -> int:
        """The length of every vector; the first to ask asks the server."""
        if self._learnt.dimension is None:
            self._asked([_HARMLESS])
        assert self._learnt.dimension is not None
        return self._learnt.dimension

    def within(self, seconds: float, /) -> Self:
        """Return an encoder with this time limit; it shares what is known here."""
        made = copy.copy(self)
        vars(made)["_ends_at"] = time.monotonic() + seconds
        return made

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one finite unit vector a text, however long the server made it."""
        rows: list[Vectors] = []
        most = self._settings.embedding_batch
        for first in range(0, len(texts), most):
            rows += self._asked(texts[first : first + most])
        return check_vectors(rows, len(texts), self.dimension, self.model)

    def count_tokens(self, text: str) -> int:
        """Return about how many pieces the text has, rather too many."""
        return sum(word.tokens for word in self.words(text))

    def words(self, text: str) -> list[Word]:
        """Return the words of a text in order, none of them longer than a line."""
        found = []
        for match in _WORDS.finditer(text):
            for start in range(*match.span(), _LONGEST_WORD):
                end = min(start + _LONGEST_WORD, match.end())
                tokens = -(-(end - start) // CHARACTERS_A_PIECE)
                found.append(Word(start, end, tokens))
        return found

    def _asked(self, texts: Sequence[str]) -> list[Vectors]:
        status, body, retry_after = self._answer(texts)
        if status == _OK:
            return self._read(body, len(texts))
        told = f"the server answered {status}: {body[:200].decode('utf-8', 'replace')}"
        if status in _WRONG_KEY:
            key = f"api.providers.{self._provider}.api_key"
            message = f"The provider {self._provider} refuses our key; see `{key}`."
            raise ConfigurationError(message, config_key=key)
        if status in _TEXT_REFUSED | {_BROKEN} and self._is_harmless_taken(texts):
            raise EmbeddingGenerationError(
                f"The model {self.model} cannot embed this text.",
                technical=told,
                model_name=self.model,
                input_text=texts[0],
                retriable=status == _BROKEN,
            )
        if status in failures.LATER or status >= _BROKEN:
            raise self._outage(told, retry_after_seconds=retry_after)
        key = f"api.providers.{self._provider}"
        message = f"The provider {self._provider} does not know {self._remote}: {told}"
        raise ConfigurationError(message, config_key=key)

    def _is_harmless_taken(self, texts: Sequence[str]) -> bool:
        return list(texts) != [_HARMLESS] and self._answer([_HARMLESS])[0] == _OK

    def _answer(self, texts: Sequence[str]) -> tuple[int, bytes, int | None]:
        """Return status, body, and the seconds that the server wants to be left."""
        now = time.monotonic()
        left = self._learnt.rest(now)
        if left > 0:
            why = "the server was silent a moment ago"
            raise self._outage(why, retry_after_seconds=math.ceil(left))
        asked = {"model": self._remote, "input": list(texts)}
        whole = self._settings.timeout_seconds
        seconds = min(whole, self._ends_at - now)
        if seconds <= 0:
            raise self._outage("there was no time left to ask")
        try:
            told = self._server.post("/embeddings", asked, seconds, _MOST_BYTES)
        except SourceUnreachableError as exc:
            is_silent = exc.reason == "timeout"
            if is_silent and seconds >= min(whole, SILENCE_SECONDS):
                self._learnt.note(is_silent=True)
            raise self._outage(exc.technical or exc.message) from exc
        self._learnt.note(is_silent=False)
        return told.status, told.body, told.retry_after

    def _read(self, body: bytes, count: int) -> list[Vectors]:
        try:
            found = _by_number(body, "data", "embedding")
            rows = [
                np.asarray(found[number], dtype=np.float64).reshape(-1)
                for number in sorted(found)
            ]
        except _NO_ANSWER as exc:
            raise self._outage(f"no embeddings in the answer: {exc!r}") from exc
        if sorted(found) != list(range(count)):
            raise self._outage(f"vectors {sorted(found)[:10]} for {count} texts")
        return [self._unit(row) for row in rows]

    def _unit(self, row: Any) -> Vectors:
        # The first answer says how long they are; what fills a table may not change.
        wanted = self._learnt.dimension = self._learnt.dimension or len(row)
        if len(row) != wanted or not len(row):
            message = (
                f"The model {self.model} gives vectors of length {len(row)} now, and"
                f" gave {wanted} before. Give the new one a name of its own."
            )
            raise ConfigurationError(message, config_key="embedding_model")
        length = float(np.linalg.norm(row))
        if not np.isfinite(length) or length == 0.0:
            flaw = "a vector of nothing" if length == 0.0 else "NaN or infinity"
            message = f"The embedding model {self.model} answered with {flaw}."
            raise EmbeddingGenerationError(
                message, technical=flaw, model_name=self.model
            )
        return np.asarray(row / length, dtype=np.float32)

    def _outage(
        self, told: str, *, retry_after_seconds: int | None = None
    ) -> EmbeddingOutageError:
        return EmbeddingOutageError(
            technical=told,
            model_name=self.model,
            retry_after_seconds=retry_after_seconds,
        )


class EndpointCrossEncoder:
    """Asks a server how well texts answer; safe to share between threads."""

    late = False

    def __init__(
        self, provider: str, name: str, settings: ProviderSettings, *, are_logits: bool
    ) -> None:
        self._model = f"{provider}:{name}"
        self._name = name
        self._server = Provider(provider, settings, self._model)
        self._most_seconds = settings.timeout_seconds
        self._are_logits = are_logits

    def logits(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Return one finite logit a text within the time, or raise."""
        if not texts:
            return []
        asked = {
            "model": self._name,
            "query": query,
            "documents": list(texts),
            "top_n": len(texts),
            "return_documents": False,
        }
        seconds = min(seconds, self._most_seconds)
        try:
            told = self._server.post("/rerank", asked, seconds, _MOST_SCORE_BYTES)
        except SourceUnreachableError as exc:
            raise self._outage(exc.technical or exc.message) from exc
        if told.status != _OK:
            raise self._outage(f"the server answered {told.status}")
        try:
            given = _by_number(told.body, "results", "relevance_score")
            found = {number: float(score) for number, score in given.items()}
        except _NO_ANSWER as exc:
            raise self._outage(f"no scores in the answer: {exc!r}") from exc
        if sorted(found) != list(range(len(texts))):
            raise self._outage(f"scores of {sorted(found)[:10]} for {len(texts)} texts")
        return [self._logit(found[number]) for number in range(len(texts))]

    def _logit(self, score: float) -> float:
        if self._are_logits and math.isfinite(score):
            return score
        if self._are_logits or not 0.0 <= score <= 1.0:
            raise self._outage(f"{score} is no score (`reranking.endpoint_scores`)")
        sure = min(1.0 - _SUREST, max(_SUREST, score))
        return math.log(sure / (1.0 - sure))

    def _outage(self, told: str) -> EmbeddingOutageError:
        return EmbeddingOutageError(technical=told, model_name=self._model)


def _by_number(body: bytes, rows: str, value: str) -> dict[int, Any]:
    """Return the values of the answer's rows by their number, or by their place."""
    document: Any = json.loads(body)
    return {
        int(one.get("index", place)): one[value]
        for place, one in enumerate(document[rows])
    }
