"""The cross-encoder of a `/v1/rerank` endpoint: asked over HTTP, and not trusted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shared.errors import EmbeddingOutageError, SourceUnreachableError
from shared.language_models.provider import Provider

if TYPE_CHECKING:
    from shared.settings.sections import ProviderSettings

MOST_BYTES = 1_000_000
# A probability of 0 or 1 has no logit; nobody means more by it than this.
_SUREST = 1e-9
_OK = 200


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
            told = self._server.post("/rerank", asked, seconds, MOST_BYTES)
        except SourceUnreachableError as exc:
            raise self._outage(exc.technical or exc.message) from exc
        if told.status != _OK:
            raise self._outage(f"the server answered {told.status}")
        try:
            found = dict(_numbered(json.loads(told.body)))
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as exc:
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


def _numbered(document: Any) -> Iterator[tuple[int, float]]:
    for place, one in enumerate(document["results"]):
        if not isinstance(one, dict):
            message = "a result is no object"
            raise TypeError(message)
        yield int(one.get("index", place)), float(one["relevance_score"])
