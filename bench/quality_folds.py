"""The few weights of the linear rerank, fitted to all collections but one in turn.

What is left out says what they are worth to questions that they were not fitted to. No
setting is of one collection: each counts as much as the others, however many questions
it has.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from statistics import fmean

from rich.console import Console
from rich.table import Table

from bench import quality_measures
from bench.quality_engines import Collection, Engines
from bench.quality_measures import HEADINGS, Judged
from shared.embedding.models.model_names import DEFAULT_MODEL, SIMILARITY_FLOORS
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Plan
from shared.search.ranking import fold, linear_rerank
from shared.search.ranking.linear_rerank import Weights
from shared.search.results import ranking_features
from shared.search.results.conclude import conclude

# Cosines as they are, and from where the model's floor is.
FARTHEST = (0.0, SIMILARITY_FLOORS[DEFAULT_MODEL])
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9)
# The mean of these is fitted to: nDCG alone is blind to whoever reads one hit.
_FITTED_TO = ("ndcg_cut_10", "success_1", "success_5", "success_10")
_MILLISECONDS = 20_000

GRID = [
    linear_rerank.weights_of(DEFAULT_MODEL)._replace(farthest=farthest, meaning=meaning)
    for farthest, meaning in product(FARTHEST, SHARES)
]
# By collection.
Weighed = dict[str, dict[Weights, Judged]]


def order_by_each(
    plan: Plan, told: Mapping[int, Sequence[Outcome]], engines: Engines
) -> dict[Weights, list[str]]:
    """Return the order of one question's hits by each way to weigh them."""
    heard = [outcome for branch in told.values() for outcome in branch]
    orders = {}
    for one in GRID:
        with _weighed(one):
            known = ranking_features.load_ranking_features(
                engines.context, plan, heard, _MILLISECONDS
            )
            ranked = conclude(plan, told, known).ranked
        runs = fold.group_runs(ranked)
        orders[one] = [engines.names[run[0].entry_id] for run in runs]
    return orders


def judge_each(
    collection: Collection, orders: Mapping[str, Mapping[Weights, list[str]]]
) -> dict[Weights, Judged]:
    """Judge the orders of each way to weigh, question by question."""
    return {
        one: quality_measures.judge(
            collection, {number: by_each[one] for number, by_each in orders.items()}
        )
        for one in GRID
    }


def show(weighed: Weighed, base: Mapping[str, Judged]) -> None:
    """Print what each way comes to, and for each collection what the others choose."""
    every = Table(title="means over the collections", title_justify="left")
    every.add_column("from, share of meaning")
    for name in weighed:
        every.add_column(f"{name}: nDCG@10")
    for measure in _FITTED_TO:
        every.add_column(HEADINGS[measure], justify="right")
    for one in GRID:
        own = (f"{_mean(weighed, name, one, 'ndcg_cut_10'):.4f}" for name in weighed)
        all_of = (
            f"{fmean(_mean(weighed, name, one, measure) for name in weighed):.4f}"
            for measure in _FITTED_TO
        )
        every.add_row(_named(one), *own, *all_of)
    folds = Table(title="left out, weighed as the others choose", title_justify="left")
    for heading in ("left out", "chosen", *(HEADINGS[one] for one in _FITTED_TO)):
        folds.add_column(heading)
    for name in weighed:
        chosen = choose(weighed, [other for other in weighed if other != name])
        cells = (
            f"{_mean(weighed, name, chosen, measure):.4f}"
            f" ({quality_measures.mean(base[name], measure):.4f})"
            for measure in _FITTED_TO
        )
        folds.add_row(name, _named(chosen), *cells)
    console = Console(width=160)
    console.print(every)
    console.print(folds)
    console.print("In brackets: plain fusion.")
    console.print(f"All together choose {_named(choose(weighed, list(weighed)))}.")


def choose(weighed: Weighed, names: Sequence[str]) -> Weights:
    """Return what is best in the mean over these collections and all measures."""
    return max(
        GRID,
        key=lambda one: fmean(
            _mean(weighed, name, one, measure)
            for name in names
            for measure in _FITTED_TO
        ),
    )


def _named(one: Weights) -> str:
    return f"{one.farthest:g}, {one.meaning:g}"


def _mean(weighed: Weighed, name: str, one: Weights, measure: str) -> float:
    return quality_measures.mean(weighed[name][one], measure)


@contextmanager
def _weighed(one: Weights) -> Iterator[None]:
    """Weigh so while it lasts, and as before after it."""
    shipped = linear_rerank.WEIGHTS[DEFAULT_MODEL]
    linear_rerank.WEIGHTS[DEFAULT_MODEL] = one
    try:
        yield
    finally:
        linear_rerank.WEIGHTS[DEFAULT_MODEL] = shipped
