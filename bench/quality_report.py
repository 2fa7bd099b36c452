"""What a run of the bench of quality has measured, its gate, and its tables."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from bench import quality_measures
from bench.quality_engines import Collection
from bench.quality_measures import HEADINGS, Judged

BASE, LINEAR, OURS = "plain fusion", "linear 0.7 / 0.3", "hybrid, as shipped"
# Ours are held against these, question by question.
RIVALS = (BASE, LINEAR)
# What each finds alone: both together may find no less.
ALONE = ("os_bm25", "pg_fts", "semantic")
# On one collection what ships may lose so much, in the mean nothing (spec 3.7).
MAY_LOSE = 0.005
# Of what is relevant, a model's floor may hide so much (U18).
MAY_HIDE = 0.05
PERCENTILES = (5, 25, 75)
# Questions of more words are long; of fewer such questions nothing is told.
LONG_WORDS, FEWEST = 25, 10
_TOLD = ("ndcg_cut_10", "success_1", "success_5", "success_10")
_WIDTH = 150


@dataclass(frozen=True)
class Found:
    """What one way of searching came to on a collection, or its questions of a kind."""

    collection: str
    way: str
    measures: dict[str, float]
    # Empty: all of them; `short` or `long`.
    part: str = ""
    questions: int = 0
    # Between what each mean lies in 95 of 100 draws of the questions; by rival, of ours
    # the same of how much they are above it.
    intervals: dict[str, list[float]] = field(default_factory=dict)
    above: dict[str, dict[str, list[float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Everything that a run has measured."""

    found: list[Found]
    # Share of the relevant pairs whose cosine lies below the floor that ships, and the
    # cosines below which 5, 25 and 75 % of them lie: what the map of the model is from.
    lost_by_floor: dict[str, float]
    relevant_cosines: dict[str, list[float]]
    # The same of linear scores after factors: 0.7 of the cosine where it was not found.
    relevant_scores: dict[str, list[float]]
    seconds: dict[str, float]

    def of(self, way: str, measure: str = "ndcg_cut_10") -> dict[str, float]:
        """Return one measure by collection."""
        mine = (one for one in self.found if one.way == way and not one.part)
        return {one.collection: one.measures[measure] for one in mine}

    def failures(self) -> list[str]:
        """Return where what ships is worse than it may be; none is a pass."""
        ours, base = self.of(OURS), self.of(BASE)
        told = [
            f"{name}: nDCG@10 {ours[name]:.4f}, plain fusion {base[name]:.4f}"
            for name in ours
            if ours[name] < base[name] - MAY_LOSE
        ]
        for way in ALONE:
            alone = self.of(way)
            told += [
                f"{name}: nDCG@10 {ours[name]:.4f}, {way} alone {alone[name]:.4f}"
                for name in ours.keys() & alone.keys()
                if ours[name] < alone[name]
            ]
        told += [line for line, is_sure in self.below_base() if is_sure]
        means = statistics.mean(ours.values()), statistics.mean(base.values())
        if means[0] <= means[1]:
            told.append(f"mean: nDCG@10 {means[0]:.4f}, plain fusion {means[1]:.4f}")
        return told + [
            f"{name}: the floor loses {100 * share:.1f} % of what is relevant"
            for name, share in self.lost_by_floor.items()
            if share > MAY_HIDE
        ]

    def below_base(self) -> list[tuple[str, bool]]:
        """Return where what ships is below plain fusion, and whether surely so.

        Surely, where 95 of 100 draws of the questions say so.
        """
        base = {
            (one.collection, one.part): one.measures
            for one in self.found
            if one.way == BASE
        }
        return [
            (
                f"{one.collection} {one.part}".strip() + f": {HEADINGS[measure]}"
                f" {one.measures[measure]:.4f}, plain fusion"
                f" {base[one.collection, one.part][measure]:.4f}",
                high < 0,
            )
            for one in self.found
            if one.way == OURS
            for measure, (_, high) in one.above.get(BASE, {}).items()
            if one.measures[measure] < base[one.collection, one.part][measure]
        ]


def found_of(collection: Collection, judged: Mapping[str, Judged]) -> list[Found]:
    """Return what each way came to: on all questions, on short and on long ones."""
    is_long = {
        number: len(text.split()) > LONG_WORDS
        for number, text in collection.questions.items()
    }
    numbers = [*judged[OURS]]
    parts = {
        "": numbers,
        "short": [one for one in numbers if not is_long[one]],
        "long": [one for one in numbers if is_long[one]],
    }
    if min(len(parts["short"]), len(parts["long"])) < FEWEST:
        parts = {"": numbers}
    return [
        _found(collection.name, way, part, asked, judged)
        for part, asked in parts.items()
        for way in judged
    ]


def _found(
    name: str, way: str, part: str, asked: Sequence[str], judged: Mapping[str, Judged]
) -> Found:
    mine = {number: judged[way][number] for number in asked}
    above = {
        rival: {
            measure: quality_measures.interval(mine, measure, judged[rival])
            for measure in _TOLD
        }
        for rival in RIVALS
        if way == OURS
    }
    return Found(
        name,
        way,
        {measure: quality_measures.mean(mine, measure) for measure in HEADINGS},
        part,
        len(mine),
        {measure: quality_measures.interval(mine, measure) for measure in _TOLD},
        above,
    )


def show(report: Report, name: str) -> None:
    """Print the tables of one collection."""
    console = Console(width=_WIDTH)
    lost = 100 * report.lost_by_floor[name]
    console.print(
        f"{name}: {report.seconds[name]:.0f} s;"
        f" the floor loses {lost:.1f} % of what is relevant"
    )
    mine = [one for one in report.found if one.collection == name]
    for part in dict.fromkeys(one.part for one in mine):
        _show_part([one for one in mine if one.part == part], console)
    _show_cuts(console, "cosines", report.relevant_cosines[name])
    _show_cuts(console, "linear scores", report.relevant_scores[name])


def _show_part(found: Sequence[Found], console: Console) -> None:
    first = found[0]
    kind = f"{first.part} questions" if first.part else "questions"
    title = f"{first.collection}: {first.questions} {kind}"
    table = Table(title=title, title_justify="left")
    table.add_column("way")
    for heading in HEADINGS.values():
        table.add_column(heading, justify="right")
    for one in found:
        table.add_row(one.way, *(_cell(one, measure) for measure in HEADINGS))
    ours = next(one for one in found if one.way == OURS)
    for rival, cuts in ours.above.items():
        base = next(one for one in found if one.way == rival)
        cells = (
            f"{ours.measures[measure] - base.measures[measure]:+.4f}"
            f" ({low:+.3f}..{high:+.3f})"
            for measure, (low, high) in cuts.items()
        )
        table.add_row(f"as shipped - {rival}", *cells)
    console.print(table)


def _cell(found: Found, measure: str) -> str:
    value = f"{found.measures[measure]:.4f}"
    if measure not in found.intervals:
        return value
    low, high = found.intervals[measure]
    return f"{value} ({low:.3f}..{high:.3f})"


def _show_cuts(console: Console, of: str, values: Sequence[float]) -> None:
    cuts = zip(PERCENTILES, values, strict=True)
    told = ", ".join(f"{share} % below {value:.3f}" for share, value in cuts)
    console.print(f"{of} of what is relevant: {told}")
