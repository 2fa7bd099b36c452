"""The floors of scores by which little that is judged relevant is hidden."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.cli import output

# The most that a search returns, and with no floor all of it.
OPEN_SEARCH = {"limit": 100, "min_relevance_score": 0, "similarity_threshold": 0}

# One relevant entry in twenty may lie below a floor.
_MAY_HIDE = 0.05

_Hits = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Floors:
    """The highest floors that hide at most one in twenty relevant entries."""

    # So many of the entries that are judged relevant were found, and count.
    found: int
    judged: int
    similarity_threshold: float | None
    min_relevance_score: float | None


def fit_floors(near: _Hits, scored: _Hits, judged: int) -> Floors:
    """Fit floors to relevant hits: those by meaning alone, and those of the mode."""
    cosines = [hit["scores"]["cosine"] for hit in near]
    scores = [hit["relevance_score"] for hit in scored]
    return Floors(len(scored), judged, fit_floor(cosines), fit_floor(scores))


def fit_floor(scores: Sequence[float]) -> float | None:
    """Return the highest floor that hides at most one in twenty of these scores."""
    if not scores:
        return None
    lowest_kept = sorted(scores)[int(_MAY_HIDE * len(scores))]
    # Cut, not rounded: a floor above it would hide it.
    return int(lowest_kept * 1000) / 1000


def print_floors(out: output.Output, floors: Floors) -> None:
    """Print the settings that keep nineteen in twenty of what was found."""
    out.data(
        f"{floors.found} of {floors.judged} relevant entries are among the first"
        f" {OPEN_SEARCH['limit']} hits. Floors that hide at most 1 in 20:"
    )
    settings = {
        "search_modules.semantic.settings.similarity_threshold": (
            floors.similarity_threshold
        ),
        "search.min_relevance_score": floors.min_relevance_score,
    }
    for name, floor in settings.items():
        out.data(f"  {name}: {'none found' if floor is None else floor}")
