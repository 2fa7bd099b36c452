"""The linear rerank: the meaning and the words of every candidate, weighed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from shared.ranking.fusion import Fused

# One setting for all collections: 0.7 beside 0.3 to 0.6 lost to it on five of them.
COSINE_SHARE, LEXICAL_SHARE = 0.7, 0.3
COSINE = "cosine"


def linear(fused: Sequence[Fused], cosines: Mapping[str, float]) -> list[float]:
    """Return 0.7 of each hit's cosine and 0.3 of its share in the best words' score.

    An entry without a vector takes the median of the lexical hits that have one.
    """
    lexical = [_lexical(hit) for hit in fused]
    known = [_cosine(hit, cosines) for hit in fused]
    with_words = [
        cosine
        for cosine, words in zip(known, lexical, strict=True)
        if cosine is not None and words is not None
    ]
    middle = median(with_words) if with_words else 0.0
    most = max((words for words in lexical if words is not None), default=0.0)
    return [
        COSINE_SHARE * (middle if cosine is None else cosine)
        + LEXICAL_SHARE * (words / most if words is not None and most > 0 else 0.0)
        for cosine, words in zip(known, lexical, strict=True)
    ]


def _cosine(hit: Fused, cosines: Mapping[str, float]) -> float | None:
    return hit.scores.get(COSINE, cosines.get(hit.shown.entry_id))


def _lexical(hit: Fused) -> float | None:
    """Return what its words score; None: no branch by words returned it."""
    return next((s for unit, s in hit.scores.items() if unit != COSINE), None)
