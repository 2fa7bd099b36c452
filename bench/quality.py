"""How well searches find: judged collections, every branch, and what ships.

What ships is held against plain fusion of OpenSearch's own English and the bare model,
in the same run and on the same texts: on no collection far below it, above it in the
mean. Nothing is set for a collection of its own.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psutil
import pytrec_eval
from rich.console import Console
from rich.table import Table

from bench import quality_engines
from bench.quality_engines import Collection, Engines
from bench.quality_words import BareWords
from shared.access.scope import Scope
from shared.embedding.models import encoders, model_names
from shared.embedding.models.late_interaction import LateInteraction
from shared.embedding.models.model_names import DEFAULT_MODEL, SIMILARITY_FLOORS
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.ranking import factors, fold
from shared.search.ranking.fusion import best_chunks, rrf_contrib
from shared.search.ranking.linear_rerank import COSINE_SHARE
from shared.search.ranking.ranked_hits import Ranked
from shared.search.results import ranking_features
from shared.search.results.conclude import conclude
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.settings.settings import Settings

RESULTS = Path(__file__).parent / "results" / "quality.json"
DATA = Path(__file__).parents[2] / "shared/data/retrieval"
COLLECTIONS = ("cranfield", "vaswani")
MEASURES = ("ndcg_cut_10", "recall_10", "recall_100", "recip_rank")
HEADINGS = ("nDCG@10", "Recall@10", "Recall@100", "MRR")
PERCENTILES = (5, 25, 75)
# Of each bare engine: as many as ours gives where a hundred results are asked for.
DEPTH, RETURNED, SHIPPED = 200, 100, 10
BASE, OURS = "plain fusion", "hybrid, as shipped"
# What each finds alone: both together may find no less.
ALONE = ("os_bm25", "pg_fts", "semantic")
# On one collection what ships may lose so much, in the mean nothing (spec 3.7).
MAY_LOSE = 0.005
# Of what is relevant, a model's floor may hide so much (U18).
MAY_HIDE = 0.05
QUICK_QUESTIONS = 30
LATE, UNHURRIED_SECONDS = "hybrid, late interaction", 600.0
SCOPE = Scope(quality_engines.TENANT, "bench")
SECONDS = 20.0


@dataclass(frozen=True)
class Found:
    """What one way of searching came to on one collection."""

    collection: str
    way: str
    measures: dict[str, float]


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
        mine = (one for one in self.found if one.way == way)
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
        means = statistics.mean(ours.values()), statistics.mean(base.values())
        if means[0] <= means[1]:
            told.append(f"mean: nDCG@10 {means[0]:.4f}, plain fusion {means[1]:.4f}")
        return told + [
            f"{name}: the floor loses {100 * share:.1f} % of what is relevant"
            for name, share in self.lost_by_floor.items()
            if share > MAY_HIDE
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, keep the numbers as JSON; a failed gate ends with 1."""
    asked = _options(arguments)
    report = Report([], {}, {}, {}, {})
    late = _late() if asked.late else None
    for name in asked.collection or COLLECTIONS:
        began = time.perf_counter()
        most = QUICK_QUESTIONS if asked.quick else None
        collection = quality_engines.read(asked.data / name, most)
        with quality_engines.filled(collection) as engines:
            runs, cosines, scores = _runs(collection, engines, late)
        report.found.extend(
            Found(name, way, _measured(collection, run)) for way, run in runs.items()
        )
        floor = SIMILARITY_FLOORS[DEFAULT_MODEL]
        report.lost_by_floor[name] = float(np.mean(np.array(cosines) < floor))
        report.relevant_cosines[name] = _cuts(cosines)
        report.relevant_scores[name] = _cuts(scores)
        report.seconds[name] = round(time.perf_counter() - began, 1)
        _show(report, name)
    failures = report.failures()
    if asked.keep:
        _keep(report, failures)
    if failures:
        print("\n".join(["the gate is not passed:", *failures]), file=sys.stderr)
        raise SystemExit(1)


Run = dict[str, list[str]]


def _cuts(values: Sequence[float]) -> list[float]:
    cuts: list[float] = np.percentile(values, PERCENTILES).round(3).tolist()
    return cuts


def _runs(
    collection: Collection, engines: Engines, late: LateInteraction | None
) -> tuple[dict[str, Run], list[float], list[float]]:
    """Return the order of every way; cosine and linear score of every relevant pair."""
    runs: dict[str, Run] = defaultdict(dict)
    near: list[float] = []
    scored: list[float] = []
    words = BareWords(collection.texts)
    for number, question in collection.questions.items():
        english = engines.english(question, DEPTH)
        model = engines.nearest(question, DEPTH)
        ours, linear = _ours(engines, question)
        ways = {
            "bare bm25s": words.best(question, DEPTH),
            "bare english": english,
            "bare model": model,
            BASE: _fused(english, model),
            **ours,
        }
        if late is not None:
            ways[LATE] = _read_late(collection, engines, question, late)
        for way, order in ways.items():
            runs[way][number] = order[:RETURNED]
        cosines = engines.cosines(question)
        grades = collection.judged.get(number, {})
        relevant = [text for text, grade in grades.items() if grade > 0]
        near += [cosines[text] for text in relevant]
        scored += [linear.get(text, COSINE_SHARE * cosines[text]) for text in relevant]
    return runs, near, scored


def _ours(
    engines: Engines, question: str
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Return what each branch finds alone, and what comes of them together.

    Beside it, of a hundred results and all behind them, what each scores.
    """
    wide = _plan(question, RETURNED)
    told = _told(wide, engines)
    by_name = {one.name: one for branch in told.values() for one in branch}
    by_name["pg_fts"] = _branch(wide, "pg_fts", engines)[0]
    found = {name: _names(engines, one) for name, one in by_name.items()}
    narrow = _plan(question, SHIPPED)
    first = _order(narrow, _told(narrow, engines), engines)
    fused = replace(narrow, ordering=replace(narrow.ordering, rerank=False))
    whole = _ranked(wide, told, engines)
    rest = _names_of(engines, whole)
    linear = {
        engines.names[one.entry_id]: one.fused * factors.product(one.factors)
        for one in whole
    }
    # Ten results are what ships; further down, what a hundred would have been.
    ours = [*first[:SHIPPED], *(one for one in rest if one not in first[:SHIPPED])]
    unranked = _order(fused, _told(fused, engines), engines)
    return {**found, "hybrid, not reranked": unranked, OURS: ours}, linear


def _read_late(
    collection: Collection, engines: Engines, question: str, late: LateInteraction
) -> list[str]:
    """Return the shipped order, its best compared with the question piece by piece."""
    plan = _plan(question, SHIPPED)
    told = _told(plan, engines)
    heard = [outcome for branch in told.values() for outcome in branch]
    known = ranking_features.load_ranking_features(
        engines.context, plan, heard, int(SECONDS * 1000)
    )
    best = conclude(plan, told, known).ranked[: plan.ordering.model_window]
    texts = [collection.texts[engines.names[one.entry_id]] or "-" for one in best]
    read = late.logits(question, texts, UNHURRIED_SECONDS)
    ids = [one.entry_id for one in best]
    known = replace(known, logits=dict(zip(ids, read, strict=True)))
    by_pieces = replace(plan.ordering, by_model=True, late=True)
    ranked = conclude(replace(plan, ordering=by_pieces), told, known).ranked
    return _names_of(engines, ranked)


def _late() -> LateInteraction:
    cache = Settings.load({}).cache
    return LateInteraction(encoders.folder_of(cache, model_names.TOKENS))


def _plan(question: str, limit: int) -> Plan:
    limits = PlanLimits(any_word=Settings.load({}).keyword.operator == "or")
    return make_plan(SearchQuery(question, mode="hybrid", limit=limit), SCOPE, limits)


def _told(plan: Plan, engines: Engines) -> dict[int, list[Outcome]]:
    return {n: _branch(plan, name, engines) for n, name in enumerate(plan.branches)}


def _branch(plan: Plan, name: str, engines: Engines) -> list[Outcome]:
    branch = Branch(plan, name, time.monotonic() + SECONDS, time.monotonic)
    outcomes = branch_run.carry_out(branch, engines.context)
    assert not [one for one in outcomes if one.failed], outcomes
    return outcomes


def _names(engines: Engines, outcome: Outcome) -> list[str]:
    return [engines.names[hit.entry_id] for hit in best_chunks(outcome.hits)]


def _order(
    plan: Plan, told: Mapping[int, Sequence[Outcome]], engines: Engines
) -> list[str]:
    return _names_of(engines, _ranked(plan, told, engines))


def _ranked(
    plan: Plan, told: Mapping[int, Sequence[Outcome]], engines: Engines
) -> Sequence[Ranked]:
    heard = [outcome for branch in told.values() for outcome in branch]
    known = ranking_features.load_ranking_features(
        engines.context, plan, heard, int(SECONDS * 1000)
    )
    return conclude(plan, told, known).ranked


def _names_of(engines: Engines, ranked: Sequence[Ranked]) -> list[str]:
    return [engines.names[run[0].entry_id] for run in fold.group_runs(ranked)]


def _fused(*orders: Sequence[str]) -> list[str]:
    scores: dict[str, float] = defaultdict(float)
    for order in orders:
        for place, name in enumerate(order, start=1):
            scores[name] += rrf_contrib(place)
    return sorted(scores, key=lambda name: (-scores[name], name))


def _measured(collection: Collection, run: Run) -> dict[str, float]:
    """Return the mean over all judged questions, as trec_eval defines the measures."""
    judged = {
        number: grades
        for number, grades in collection.judged.items()
        if any(grade > 0 for grade in grades.values())
    }
    asked = {"ndcg_cut.10", "recall.10,100", "recip_rank"}
    evaluator = pytrec_eval.RelevanceEvaluator(judged, asked)
    # By place: trec_eval sorts by score, and breaks ties in a way of its own.
    scored = {
        number: {name: float(-place) for place, name in enumerate(run[number])}
        for number in judged
    }
    found = evaluator.evaluate(scored)
    return {
        name: statistics.fmean(one[name] for one in found.values()) for name in MEASURES
    }


def _show(report: Report, name: str) -> None:
    lost = 100 * report.lost_by_floor[name]
    title = (
        f"{name}: {report.seconds[name]:.0f} s;"
        f" the floor loses {lost:.1f} % of what is relevant"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("way")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for one in report.found:
        if one.collection == name:
            cells = [f"{one.measures[measure]:.4f}" for measure in MEASURES]
            table.add_row(one.way, *cells)
    Console().print(table)
    _show_cuts("cosines", report.relevant_cosines[name])
    _show_cuts("linear scores", report.relevant_scores[name])


def _show_cuts(of: str, values: Sequence[float]) -> None:
    cuts = zip(PERCENTILES, values, strict=True)
    told = ", ".join(f"{share} % below {value:.3f}" for share, value in cuts)
    Console().print(f"{of} of what is relevant: {told}")


def _keep(report: Report, failures: Sequence[str]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    told = {
        "at": datetime.now(UTC).isoformat(),
        "machine": platform.machine(),
        "cores": psutil.cpu_count(),
        "model": DEFAULT_MODEL,
        "passed": not failures,
        "failures": list(failures),
        **asdict(report),
    }
    RESULTS.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.quality", description=__doc__
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_QUESTIONS} questions of each"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="the collections")
    parser.add_argument(
        "--collection", action="append", help="only this one; may be given again"
    )
    parser.add_argument(
        "--late", action="store_true", help="late interaction, too: minutes more"
    )
    parser.add_argument(
        "--no-keep", dest="keep", action="store_false", help="write no JSON"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
