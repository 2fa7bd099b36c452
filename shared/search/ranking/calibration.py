"""Raw scores to 0..1, each by a map named beside it, and how far to trust them."""

from collections.abc import Mapping, Sequence
from math import exp
from typing import Literal

from shared.search.jobs.outcome import Outcome
from shared.search.query.ordering import Ordering

Calibration = Literal[
    "rerank_sigmoid",
    "linear_map",
    "cosine_map",
    "bm25_saturating",
    "fused_minmax",
    "none",
]
Confidence = Literal["high", "medium", "low", "none"]

# The score that is worth a half, until it is measured (`score_scale`): so low that no
# match is cut.
SATURATION = {"bm25": 0.1, "ts_rank": 0.001}
# The best of hits that have all the words scores at least 0.75: it is not doubtful, but
# not sure by that alone.
_SHARE_OF_BEST = 1 / 3
# A hit that has all the words is not doubtful, however much better others are.
_LEAST_OF_WHOLE = 0.5
MAP_OF_UNIT: dict[str, Calibration] = {
    "bm25": "bm25_saturating",
    "ts_rank": "bm25_saturating",
    "cosine": "cosine_map",
}


# In two collections alike, 95 % of the entries that were judged relevant lie above the
# first cosine, three quarters above the second and one quarter above the third.
COSINE_MAPS = {
    "bge-small-en-v1.5-int8": ((0.6, 0.25), (0.69, 0.5), (0.77, 0.8)),
    "all-MiniLM-L6-v2-int8": ((0.235, 0.25), (0.395, 0.5), (0.595, 0.8)),
    # Measured over questions and entries of different languages.
    "use-multilingual-v3": ((0.08, 0.25), (0.2, 0.5), (0.365, 0.8)),
}
# The same for the linear score (`linear_rerank.WEIGHTS`).
LINEAR_MAPS = {
    "bge-small-en-v1.5-int8": ((0.2, 0.25), (0.315, 0.5), (0.55, 0.8)),
    "all-MiniLM-L6-v2-int8": ((0.18, 0.25), (0.33, 0.5), (0.585, 0.8)),
    "use-multilingual-v3": ((0.075, 0.25), (0.155, 0.5), (0.405, 0.8)),
}


def clamped(score: float) -> float:
    """Return a score within 0..1."""
    return min(1.0, max(0.0, score))


def sigmoid(logit: float, temperature: float) -> float:
    """Return 1 / (1 + e^(-logit / T)): a half at 0, monotone."""
    # Beyond these the result is 0 or 1 anyway, and e^x would overflow.
    scaled = min(700.0, max(-700.0, logit / temperature))
    return 1.0 / (1.0 + exp(-scaled))


def saturating(score: float, half: float) -> float:
    """Return s / (s + c): a half at c, always below 1, monotone."""
    return score / (score + half) if score > 0 else 0.0


def between(score: float, points: Sequence[tuple[float, float]]) -> float:
    """Return the score on the line from (0, 0) through the points to (1, 1)."""
    left, low = 0.0, 0.0
    for right, high in (*points, (1.0, 1.0)):
        if score < right:
            return low + (high - low) * (max(score, 0.0) - left) / (right - left)
        left, low = right, high
    return 1.0


def half_of(outcome: Outcome, measured: Mapping[str, float]) -> float:
    """Return the raw score of a branch that is worth a half, by measured scales."""
    unit, best = outcome.unit, max((hit.score for hit in outcome.hits), default=0.0)
    half = measured.get(unit)
    if outcome.whole and best > 0:
        # The bound holds however common the question's words are in the index.
        least = _SHARE_OF_BEST * best
        return least if half is None else min(half * outcome.words, least)
    return (half or SATURATION.get(unit, 1.0)) * outcome.words


def of_branch(
    score: float, unit: str, model: str | None = None, half: float | None = None
) -> float:
    """Return the calibrated score of one branch; an unknown unit is only clamped."""
    if unit in SATURATION:
        return saturating(score, SATURATION[unit] if half is None else half)
    if unit != "cosine":
        return clamped(score)
    # A model without a fitted map keeps its cosine.
    return between(score, COSINE_MAPS.get(model or "", ()))


def of_whole(score: float, best: float) -> float:
    """Return the score of a hit that has all the words, as the best scores `best`.

    It is from 0.5 on, in the same order; the best one keeps what its words are worth.
    """
    return _LEAST_OF_WHOLE + score * (1.0 - _LEAST_OF_WHOLE / best)


def of_linear(score: float, model: str | None) -> float:
    """Return the calibrated linear score; monotone, so that the order stays."""
    return between(score, LINEAR_MAPS.get(model or "", ()))


def minmax(scores: Sequence[float], ceiling: float) -> list[float]:
    """Return scores spread from 0 to the ceiling; equal ones all get the ceiling."""
    if not scores:
        return []
    least, most = min(scores), max(scores)
    if most == least:
        return [ceiling] * len(scores)
    return [ceiling * (score - least) / (most - least) for score in scores]


def confidence(score: float, ordering: Ordering, *, exact: bool) -> Confidence:
    """Return how far to trust a hit; one that has the exact name is trusted fully."""
    if exact or score >= ordering.high:
        return "high"
    if score >= ordering.medium:
        return "medium"
    return "low" if score >= ordering.low else "none"
