"""The linear rerank: the meaning and the words of every candidate, weighed.

A score of another package's module counts as one of words: by its share in the best.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from shared.embedding.models.model_names import BGE, SIMILARITY_FLOORS
from shared.search.query.modes import EVIDENCE
from shared.search.ranking.fusion import Fused, best_first

COSINE = "cosine"
# The scores of these say nothing of how many of the words an entry has.
_NO_WORDS = frozenset({COSINE, *EVIDENCE})
# The cosine to the question that was moved towards its best hits.
MOVED = "moved_cosine"


class Weights(NamedTuple):
    """How much a model's cosines count beside words."""

    # A text with this cosine or less has nothing to do with the question, and counts 0.
    farthest: float = 0.0
    # The share of meaning in a score; words have the rest.
    meaning: float = 0.7
    # A quarter of what is relevant has a lower cosine (`make bench-quality`).
    cautious: float = 0.0

    def weigh(self, cosine: float, words: float) -> float:
        """Return a hit's score by its cosine and its share in the best words'."""
        near = max(0.0, cosine - self.farthest) / (1.0 - self.farthest)
        return self.meaning * near + (1.0 - self.meaning) * words


# One setting for all collections (`bench/quality_folds.py`): 0.7 beside 0.3 to 0.6 lost
# to it on five of them. `calibration.LINEAR_MAPS` is fitted to these.
UNMEASURED = Weights()
WEIGHTS = {BGE: Weights(SIMILARITY_FLOORS[BGE], cautious=0.686)}


def weights_of(model: str | None) -> Weights:
    """Return how much the cosines of a model count."""
    return WEIGHTS.get(model or "", UNMEASURED)


def linear(
    fused: Sequence[Fused],
    cosines: Mapping[str, float],
    moved: Mapping[str, float] | None = None,
    *,
    model: str | None = None,
) -> list[float]:
    """Weigh the cosine of each hit and its share in the best score of words.

    Called twice: by `rank`, and before it by `list_best_human_entries`, for the hits
    that move the question (`results/ranking_features.py`).

    The cosine is that to the moved question, where there is one. An entry without a
    vector takes the median of the lexical hits that have one. Where none has, they are
    in a language that the model does not speak, or not read yet: a low cosine of other
    hits says little of them, and must not hide them.
    """
    weights = weights_of(model)
    shares = _shares(fused)
    near = moved or {}
    known = [near.get(hit.shown.entry_id, _cosine(hit, cosines)) for hit in fused]
    with_words = [
        cosine
        for cosine, share in zip(known, shares, strict=True)
        if cosine is not None and share is not None
    ]
    if with_words:
        middle = median(with_words)
    else:
        others = [cosine for cosine in known if cosine is not None]
        middle = max(median(others) if others else 0.0, weights.cautious)
    return [
        weights.weigh(middle if cosine is None else cosine, share or 0.0)
        for cosine, share in zip(known, shares, strict=True)
    ]


def list_best_human_entries(
    fused: Sequence[Fused], cosines: Mapping[str, float], count: int, *, model: str
) -> list[str]:
    """Return so many entries that people wrote, best first by meaning and words."""
    scores = linear(fused, cosines, model=model)
    shown = (fused[number].shown for number in best_first(fused, scores))
    return [one.entry_id for one in shown if one.origin != "machine"][:count]


def shift_to_old_maximum(
    fused: Sequence[Fused], cosines: Mapping[str, float], moved: Mapping[str, float]
) -> dict[str, float]:
    """Shift the cosines to the moved question so that their maximum is the old one.

    A question is always nearer to the hits that it was moved to. Without the shift a
    question that finds nothing would look as if it had found something.
    """
    own = {hit.shown.entry_id: _cosine(hit, cosines) for hit in fused}
    near = {entry_id: moved[entry_id] for entry_id in own.keys() & moved.keys()}
    before = [own[entry_id] for entry_id in near]
    highest = max((one for one in before if one is not None), default=None)
    if highest is None:
        return {}
    shift = max(near.values()) - highest
    return {entry_id: cosine - shift for entry_id, cosine in near.items()}


def _cosine(hit: Fused, cosines: Mapping[str, float]) -> float | None:
    return hit.scores.get(COSINE, cosines.get(hit.shown.entry_id))


def _shares(fused: Sequence[Fused]) -> list[float | None]:
    """Return each hit's share in the best score; None: meaning alone found it."""
    most: dict[str, float] = {}
    for hit in fused:
        for unit, score in hit.scores.items():
            most[unit] = max(score, most.get(unit, 0.0))
    return [
        max(
            (
                max(0.0, score) / most[unit] if most[unit] > 0 else 0.0
                for unit, score in hit.scores.items()
                if unit not in _NO_WORDS
            ),
            default=None,
        )
        for hit in fused
    ]
