"""The linear rerank: the meaning and the words of every candidate, weighed.

A score of another package's module counts as one of words: by its share in the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from shared.search.query.modes import EVIDENCE
from shared.search.ranking.fusion import Fused

# One pair for all collections: 0.7 beside 0.3 beat other shares on five of them.
# `calibration.LINEAR_MAPS` is fitted to these shares.
COSINE_SHARE, LEXICAL_SHARE = 0.7, 0.3
COSINE = "cosine"
# The scores of these say nothing of how many of the words an entry has.
_NO_WORDS = frozenset({COSINE, *EVIDENCE})
# The cosine to the question that was moved towards its best hits.
MOVED = "moved_cosine"


def linear(
    fused: Sequence[Fused],
    cosines: Mapping[str, float],
    moved: Mapping[str, float] | None = None,
) -> list[float]:
    """Return for each hit 0.7 of its cosine plus 0.3 of its share in the best score.

    The cosine is that to the moved question, where there is one. An entry without a
    vector takes the median of the lexical hits that have a vector, or else of all hits.
    """
    shares = _shares(fused)
    near = moved or {}
    known = [near.get(hit.shown.entry_id, _cosine(hit, cosines)) for hit in fused]
    with_words = [
        cosine
        for cosine, share in zip(known, shares, strict=True)
        if cosine is not None and share is not None
    ]
    # Where no lexical hit has a vector, the cosines of other hits are the best guess.
    others = with_words or [cosine for cosine in known if cosine is not None]
    middle = median(others) if others else 0.0
    return [
        COSINE_SHARE * (middle if cosine is None else cosine)
        + LEXICAL_SHARE * (share or 0.0)
        for cosine, share in zip(known, shares, strict=True)
    ]


def list_best_human_entries(
    fused: Sequence[Fused], cosines: Mapping[str, float], count: int
) -> list[str]:
    """Return at most `count` entries that people wrote, best first by linear score."""
    scores = linear(fused, cosines)
    order = sorted(
        range(len(fused)),
        key=lambda n: (-scores[n], fused[n].shown.kind, fused[n].shown.chunk_id),
    )
    shown = (fused[number].shown for number in order)
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
