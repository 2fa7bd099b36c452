"""How well searches find: judged collections, every branch, and what ships.

What ships is held against plain fusions of OpenSearch's own English and the bare model,
in the same run and on the same texts: on no collection surely below them, above them in
the mean. Nothing is set for a collection of its own; the few weights are fitted again,
fold by fold, to be seen beside those that ship.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from bench import (
    quality_answers,
    quality_engines,
    quality_folds,
    quality_measures,
    quality_report,
)
from bench.keep_results import keep_results
from bench.quality_engines import Collection, Engines
from bench.quality_folds import Weighed
from bench.quality_measures import Judged
from bench.quality_report import BASE, LINEAR, OURS, PERCENTILES, Report
from bench.quality_words import BareWords
from shared.access.scope import Scope
from shared.embedding import load_model
from shared.embedding.models import model_names
from shared.embedding.models.model_names import DEFAULT_MODEL, SIMILARITY_FLOORS
from shared.embedding.models.onnx_models import LateInteraction
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.ranking import factors, fold
from shared.search.ranking.fusion import best_chunks, rrf_contrib
from shared.search.ranking.linear_rerank import Weights, weights_of
from shared.search.ranking.ranked_hits import Ranked
from shared.search.results import ranking_features
from shared.search.results.conclude import conclude
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.settings.settings import Settings

DATA = Path(__file__).parents[2] / "shared/data/retrieval"
COLLECTIONS = ("cranfield", "vaswani", *quality_answers.NAMES)
# Of each bare engine: as many as ours gives where a hundred results are asked for.
DEPTH, RETURNED, SHIPPED = 200, 100, 10
# The share of meaning in the linear rival.
RIVAL_SHARE = 0.7
QUICK_QUESTIONS = 30
LATE, UNHURRIED_SECONDS = "hybrid, late interaction", 600.0
SCOPE = Scope(quality_engines.TENANT, "bench")
SECONDS = 20.0
Scores = Mapping[str, float]


Run = dict[str, list[str]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, keep the numbers as JSON; a failed gate ends with 1."""
    asked = _options(arguments)
    report = Report([], {}, {}, {}, {})
    weighed: Weighed = {}
    base: dict[str, Judged] = {}
    late = _late() if asked.late else None
    for name in asked.collection or COLLECTIONS:
        began = time.perf_counter()
        collection = _read(asked, name)
        with quality_engines.filled(collection) as engines:
            runs, cosines, scores = _runs(collection, engines, late)
            # A collection alone has no others that could choose for it.
            if not asked.quick and len(asked.collection or COLLECTIONS) > 1:
                by_each = _weighed(collection, engines)
                weighed[name] = quality_folds.judge_each(collection, by_each)
        judged = {
            way: quality_measures.judge(collection, run) for way, run in runs.items()
        }
        base[name] = judged[BASE]
        report.found.extend(quality_report.found_of(collection, judged))
        floor = SIMILARITY_FLOORS[DEFAULT_MODEL]
        report.lost_by_floor[name] = float(np.mean(np.array(cosines) < floor))
        report.relevant_cosines[name] = _cuts(cosines)
        report.relevant_scores[name] = _cuts(scores)
        report.seconds[name] = round(time.perf_counter() - began, 1)
        quality_report.show(report, name)
    if weighed:
        quality_folds.show(weighed, base)
    failures = report.failures()
    if below := [line for line, is_sure in report.below_base() if not is_sure]:
        print("\n".join(["below plain fusion, perhaps by chance:", *below]))
    if asked.keep:
        keep_results(
            "quality",
            model=DEFAULT_MODEL,
            passed=not failures,
            failures=list(failures),
            **asdict(report),
        )
    if failures:
        print("\n".join(["the gate is not passed:", *failures]), file=sys.stderr)
        raise SystemExit(1)


def _read(asked: argparse.Namespace, name: str) -> Collection:
    most = QUICK_QUESTIONS if asked.quick else None
    if name in quality_answers.NAMES:
        return quality_answers.read(name, most)
    return quality_engines.read(asked.data / name, most)


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
    weights = weights_of(DEFAULT_MODEL)
    for number, question in collection.questions.items():
        english = engines.english(question, DEPTH)
        model = engines.nearest(question, DEPTH)
        ours, linear = _ours(collection, engines, question)
        ways = {
            "bare bm25s": words.best(question, DEPTH),
            "bare english": [*english],
            "bare model": [*model],
            BASE: _fused([*english], [*model]),
            LINEAR: _spread(english, model),
            **ours,
        }
        if late is not None:
            ways[LATE] = _read_late(collection, engines, question, late)
        for way, order in ways.items():
            runs[way][number] = order[:RETURNED]
        cosines = engines.cosines(question)
        grades = collection.judged.get(number, {})
        relevant = [one for one in grades if grades[one] > 0 and one in cosines]
        near += [cosines[text] for text in relevant]
        scored += [
            linear.get(text, weights.weigh(cosines[text], 0.0)) for text in relevant
        ]
    return runs, near, scored


def _weighed(
    collection: Collection, engines: Engines
) -> dict[str, dict[Weights, list[str]]]:
    """Return each question's order by every weighing that there is to choose from."""
    orders = {}
    for number, question in collection.questions.items():
        plan = _plan(collection, question, SHIPPED)
        told = _told(plan, engines)
        orders[number] = quality_folds.order_by_each(plan, told, engines)
    return orders


def _ours(
    collection: Collection, engines: Engines, question: str
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Return what each branch finds alone, and what comes of them together.

    Beside it, of a hundred results and all behind them, what each scores.
    """
    wide = _plan(collection, question, RETURNED)
    told = _told(wide, engines)
    by_name = {one.name: one for branch in told.values() for one in branch}
    by_name["pg_fts"] = _branch(wide, "pg_fts", engines)[0]
    found = {name: _names(engines, one) for name, one in by_name.items()}
    narrow = _plan(collection, question, SHIPPED)
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
    plan = _plan(collection, question, SHIPPED)
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
    return LateInteraction(load_model.folder_of(cache, model_names.TOKENS))


def _plan(collection: Collection, question: str, limit: int) -> Plan:
    limits = PlanLimits(any_word=Settings.load({}).keyword.operator == "or")
    asked = SearchQuery(question, mode="hybrid", limit=limit)
    return make_plan(asked, SCOPE, limits, collection.clock)


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


def _spread(english: Scores, model: Scores) -> list[str]:
    """Return the order by both, each spread over 0 to 1: what it has not found is 0."""
    shares = (1.0 - RIVAL_SHARE, RIVAL_SHARE)
    scores: dict[str, float] = defaultdict(float)
    for share, found in zip(shares, (english, model), strict=True):
        least, most = min(found.values(), default=0.0), max(found.values(), default=0.0)
        for name, score in found.items():
            scores[name] += share * (score - least) / ((most - least) or 1.0)
    return sorted(scores, key=lambda name: (-scores[name], name))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.quality", description=__doc__
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_QUESTIONS} questions each; no folds",
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
