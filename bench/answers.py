"""How good answers are: told, to the point, refused where nobody knows; and how fast.

As shipped, over two logbooks, with 95 % intervals by bootstrap from one seed. What is
below its floor ends with 1.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import answer_questions, answers_corpus
from bench.answer_questions import CLOCKS, KnownQuestion
from shared.access.scope import Scope
from shared.answers.answer_question import answer_question
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.response.end_search import Beside
from shared.search.response.search import search
from shared.search.retrieval.search_context import SearchContext

RESULTS = Path(__file__).parent / "results" / "answers.json"
LIMITS = PlanLimits(any_word=True)
_DRAWS = 1000
# Of a set: facts told, citations to the point, refused; None: no floor.
FLOORS: dict[str, tuple[float | None, float | None, float | None]] = {
    "S": (0.80, 0.85, None),
    "N month": (0.75, 0.85, None),
    "N open": (0.62, 0.65, None),
    "S unanswerable": (None, None, 0.92),
    "N swapped": (None, None, 0.93),
    "N invented": (None, None, 1.0),
}
MAY_REFUSE, MOST_MS = 0.05, (30.0, 50.0)


@dataclass(frozen=True)
class Measured:
    """What one question came to."""

    name: str
    kind: str
    question: str
    told: bool
    to_the_point: float
    grounded: bool
    code: str
    took_ms: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, print tables, keep the numbers as JSON; below a floor ends with 1."""
    asked = _options(arguments)
    questions = [
        *answer_questions.sample_questions(),
        *answer_questions.perturbed_questions(),
        *(answer_questions.event_questions() if not asked.quick else ()),
    ]
    with answers_corpus.filled(answer_questions.fact_title) as context:
        # The first ones load the model.
        for one in questions[:5]:
            _ask(context, one)
        found = [_ask(context, one) for one in questions]
    failures = _show(found)
    _show_kinds(found)
    if asked.missed:
        _show_missed(found)
    if asked.keep:
        _keep(found, failures)
    if failures:
        print("\n".join(["below the floor:", *failures]), file=sys.stderr)
        raise SystemExit(1)


def _ask(context: SearchContext, one: KnownQuestion) -> Measured:
    plan = make_plan(
        SearchQuery(one.text, mode="hybrid", limit=10),
        Scope(one.tenant, "bench"),
        LIMITS,
        CLOCKS[one.tenant],
    )
    answer = search(context, plan, Beside(answer_question))
    said = answer.context_answer or {"status": "insufficient", "code": "none"}
    # What a refusal shows as the nearest is no answer.
    quotes = [quote["quote"] for quote in said.get("evidence", ())]
    known = {hit.entry_id: hit.external_id for hit in answer.results}
    known |= {cited.entry_id: cited.label for cited in answer.citations}
    ids = [known.get(quote["entry_id"]) for quote in said.get("evidence", ())]
    hits = [name in one.relevant for name in ids]
    return Measured(
        one.name,
        one.kind,
        one.text,
        one.is_told(" ".join(quotes)),
        statistics.fmean(hits) if hits else 0.0,
        said["status"] == "grounded",
        said["code"],
        answer.synthesis_duration_ms,
    )


def _show(found: Sequence[Measured]) -> list[str]:
    """Print how each set fared, and return what is below its floor."""
    table = Table(title=f"answers ({DEFAULT_MODEL})", title_justify="left")
    for heading in ("set", "n", "told", "to the point", "not grounded", "floor"):
        table.add_column(heading, justify="left" if heading == "set" else "right")
    failures = []
    for name, floors in FLOORS.items():
        mine = [one for one in found if one.name == name]
        if not mine:
            continue
        told = [float(one.told) for one in mine]
        point = [one.to_the_point for one in mine]
        refused = [float(not one.grounded) for one in mine]
        values = [statistics.fmean(one) for one in (told, point, refused)]
        is_answerable = floors[2] is None
        cells = [
            _with_interval(told) if is_answerable else "-",
            _with_interval(point) if is_answerable else "-",
            _with_interval(refused),
        ]
        floor = " / ".join(f"{one:.2f}" for one in floors if one is not None)
        table.add_row(name, str(len(mine)), *cells, floor)
        for value, least in zip(values, floors, strict=True):
            if least is not None and value < least:
                failures.append(f"{name}: {value:.3f}, {least:.2f} is the floor")
        if is_answerable and values[2] > MAY_REFUSE:
            failures.append(f"{name}: refuses {values[2]:.3f}, {MAY_REFUSE} it may")
    Console().print(table)
    return failures


def _show_kinds(found: Sequence[Measured]) -> None:
    """Print how many of each kind are not grounded, and how long answers took."""
    kinds: dict[str, list[float]] = defaultdict(list)
    for one in found:
        if not one.name.startswith("N"):
            kinds[f"{one.name}: {one.kind}"].append(float(not one.grounded))
    by_kind = Table(title="not grounded, by kind", title_justify="left")
    for heading in ("kind", "n", "share"):
        by_kind.add_column(heading)
    for kind, shares in sorted(kinds.items()):
        by_kind.add_row(kind, str(len(shares)), f"{statistics.fmean(shares):.2f}")
    Console().print(by_kind)
    for what, some in (
        ("why", [one.took_ms for one in found if one.kind == "why"]),
        ("others", [one.took_ms for one in found if one.kind != "why"]),
    ):
        p50, p95 = _percentile(some, 50), _percentile(some, 95)
        print(f"{what}: {p50:.1f} ms p50, {p95:.1f} ms p95 (at most {MOST_MS})")


def _show_missed(found: Iterable[Measured]) -> None:
    for one in found:
        is_wrong = (
            one.grounded
            if one.name not in {"S", "N month", "N open"}
            else (not one.told or not one.grounded)
        )
        if is_wrong:
            print(one.name, one.kind, one.question, one.code, one.told, sep=" | ")


def _with_interval(values: Sequence[float]) -> str:
    draw = random.Random(1)  # noqa: S311 - the same interval each time
    means = sorted(
        statistics.fmean(draw.choices(values, k=len(values))) for _ in range(_DRAWS)
    )
    low, high = means[_DRAWS // 40], means[-_DRAWS // 40]
    return f"{statistics.fmean(values):.2f} [{low:.2f}, {high:.2f}]"


def _percentile(values: Sequence[float], share: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * share // 100)]


def _keep(found: Sequence[Measured], failures: Sequence[str]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    told = {
        "at": datetime.now(UTC).isoformat(),
        "model": DEFAULT_MODEL,
        "failures": list(failures),
        "answers": [asdict(one) for one in found],
        "took_seconds": round(time.process_time(), 1),
    }
    RESULTS.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.answers", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="the sample logbook alone")
    parser.add_argument(
        "--missed", action="store_true", help="print what was not answered well"
    )
    parser.add_argument(
        "--no-keep", dest="keep", action="store_false", help="write no JSON"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
