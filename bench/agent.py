"""Questions of several parts: how fast they are searched, and what is found.

The parts of a multi-part question are questions of which is known what answers them;
found are the entries that answer either. Below its floor the bench ends with 1.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from bench import agent_stack, answer_questions, answers_corpus
from bench.agent_stack import Timing
from bench.answer_questions import CLOCKS, KnownQuestion
from bench.keep_results import keep_results
from shared.access.scope import Scope
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.search.query.decomposition.decompose import decompose
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.response.search import search
from shared.search.retrieval.search_context import SearchContext

LIMITS = PlanLimits(any_word=True)
LIMIT = 10
# Of each logbook so many pairs of questions.
PAIRS = 40
MODES = ("hybrid", "agentic")
MOST_DECOMPOSITION_MS = 2.0
# The reference claims .89 against .72: so much more is to be found.
LEAST_GAIN = 0.17
MOST_TIMES_HYBRID = 2.0
MOST_TURN_MS = (25.0, 60.0)
_SEED = 28


@dataclass(frozen=True)
class Pair:
    """Two questions asked in one breath, and what answers each."""

    logbook: str
    text: str
    first: frozenset[str]
    second: frozenset[str]

    @property
    def relevant(self) -> frozenset[str]:
        """Return what answers either."""
        return self.first | self.second


@dataclass(frozen=True)
class Found:
    """What one mode made of one pair."""

    logbook: str
    mode: str
    recall: float
    precision: float
    # Whether something that answers it was found for each of the two.
    both: bool
    took_ms: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, print tables, keep the numbers as JSON; below a floor ends with 1."""
    asked = _options(arguments)
    pairs = [*_pairs()]
    took = _decomposition([one.text for one in pairs])
    print(f"decomposition: {took:.3f} ms p50 (at most {MOST_DECOMPOSITION_MS})")
    found = [] if asked.timings else _recall(pairs, validate=not asked.unvalidated)
    failures = _show(found, asked.least_gain) if found else []
    timings = [] if asked.quick else agent_stack.measure()
    failures += _show_timings(timings)
    if took > MOST_DECOMPOSITION_MS:
        failures.append(f"decomposition took {took:.3f} ms")
    if asked.keep:
        keep_results(
            "agent",
            model=DEFAULT_MODEL,
            decomposition_p50_ms=took,
            found=[asdict(one) for one in found],
            timings=[asdict(one) for one in timings],
            failures=failures,
        )
    if failures:
        print("\n".join(["below the floor:", *failures]), file=sys.stderr)
        raise SystemExit(1)


def _recall(pairs: Sequence[Pair], *, validate: bool) -> list[Found]:
    """Ask every pair in both modes."""
    with answers_corpus.filled(lambda title: title) as context:
        for one in pairs[:5]:
            # The first ones load the model.
            _ask(context, one, "agentic", validate=True)
        return [
            _ask(context, one, mode, validate=validate)
            for one in pairs
            for mode in MODES
        ]


def _pairs() -> Iterator[Pair]:
    """Yield questions of two parts, of each logbook's own."""
    sample = [one for one in answer_questions.sample_questions() if one.answerable]
    events = [
        one for one in answer_questions.event_questions() if one.name == "N month"
    ]
    draw = random.Random(_SEED)  # noqa: S311 - the same pairs each time
    for some in (sample, events):
        made: set[tuple[str, str]] = set()
        while len(made) < PAIRS:
            one, other = draw.sample(some, 2)
            if one.relevant & other.relevant or (one.text, other.text) in made:
                continue
            made.add((one.text, other.text))
            yield Pair(one.tenant, _joined(one, other), one.relevant, other.relevant)


def _joined(one: KnownQuestion, other: KnownQuestion) -> str:
    second = other.text[0].lower() + other.text[1:]
    return f"{one.text.rstrip(' ?')} and {second}"


def _decomposition(texts: Sequence[str]) -> float:
    took = []
    for text in [*texts] * 5:
        began = time.perf_counter()
        decompose(text)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def _ask(context: SearchContext, one: Pair, mode: str, *, validate: bool) -> Found:
    plan = make_plan(
        SearchQuery(one.text, mode=mode, limit=LIMIT, validate=validate),
        Scope(one.logbook, "bench"),
        LIMITS,
        CLOCKS[one.logbook],
    )
    began = time.perf_counter()
    answer = search(context, plan)
    took = (time.perf_counter() - began) * 1000
    names = [hit.external_id for hit in answer.results]
    right = one.relevant.intersection(names)
    return Found(
        one.logbook,
        mode,
        len(right) / len(one.relevant),
        len(right) / len(names) if names else 0.0,
        all(not part.isdisjoint(names) for part in (one.first, one.second)),
        took,
    )


def _show(found: Sequence[Found], least_gain: float) -> list[str]:
    """Print how the modes fared, and return what is below its floor."""
    table = Table(title=f"two questions in one ({DEFAULT_MODEL})", title_justify="left")
    for heading in ("logbook", "mode", "n", "recall@10", "precision", "both", "ms"):
        table.add_column(heading)
    failures = []
    for logbook in dict.fromkeys(one.logbook for one in found):
        recalls = {}
        for mode in MODES:
            mine = [o for o in found if (o.logbook, o.mode) == (logbook, mode)]
            recalls[mode] = statistics.fmean(one.recall for one in mine)
            table.add_row(
                logbook,
                mode,
                str(len(mine)),
                f"{recalls[mode]:.3f}",
                f"{statistics.fmean(one.precision for one in mine):.3f}",
                f"{statistics.fmean(one.both for one in mine):.3f}",
                f"{statistics.median(one.took_ms for one in mine):.1f}",
            )
        gain = recalls["agentic"] - recalls["hybrid"]
        if gain < min(least_gain, 1 - recalls["hybrid"]):
            failures.append(f"{logbook}: {gain:+.3f} recall, {least_gain:+.2f} wanted")
    Console().print(table)
    return failures


def _show_timings(timings: Sequence[Timing]) -> list[str]:
    """Print how long searches and turns took, and return what took too long."""
    took = {one.name: one for one in timings}
    for one in timings:
        print(f"{one.name}: {one.p50_ms:.1f} ms p50, {one.p95_ms:.1f} ms p95")
    if not took:
        return []
    failures = []
    most = MOST_TIMES_HYBRID * took["hybrid"].p50_ms
    if took["agentic"].p50_ms > most:
        failures.append(f"agentic took {took['agentic'].p50_ms:.1f} ms, not {most:.1f}")
    turn, alike = took[agent_stack.TURN], took[agent_stack.THREE_SEARCHES]
    more = (turn.p50_ms - alike.p50_ms, turn.p95_ms - alike.p95_ms)
    told = f"a turn takes {more[0]:.1f} ms p50 and {more[1]:.1f} ms p95 more"
    print(f"{told} than its searches (at most {MOST_TURN_MS})")
    if any(one > most for one, most in zip(more, MOST_TURN_MS, strict=True)):
        failures.append(told)
    return failures


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="Keep the numbers.")
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--quick", action="store_true", help="Measure no stack.")
    parts.add_argument("--timings", action="store_true", help="Measure that alone.")
    parser.add_argument(
        "--unvalidated", action="store_true", help="Compare no hit with the whole."
    )
    parser.add_argument("--least-gain", type=float, default=LEAST_GAIN)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
