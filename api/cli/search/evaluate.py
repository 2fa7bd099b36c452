"""`logchord eval`: how well judged questions of one's own are answered by hits."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import click
import httpx2
import tenacity

from api.cli import api_client, output
from api.cli.entry_input import refs
from api.cli.output import CommandError, UsageError
from api.cli.render.terminal import plain
from api.cli.search.fit_floors import OPEN_SEARCH, Floors, fit_floors, print_floors

_QUERY = "/v1/search/query"
# By any of these an entry may be judged.
_NAMES = ("entry_id", "source_uri", "permalink")
_PAUSE_SECONDS, _PATIENCE_SECONDS = 2.0, 120.0
_TOLD_EACH, _MISSING_SHOWN = 100, 10


@dataclass(frozen=True)
class JudgedQuestion:
    """A question, and the entries that answer it, each with its grade."""

    query: str
    grades: Mapping[str, float]


@dataclass(frozen=True)
class Worth:
    """The worth of the first hits of a question, by what judges call relevant."""

    hit: float
    precision: float
    recall: float
    mrr: float
    ndcg: float
    # Asked a second time, the same hits came in the same order.
    stable: float


@click.command("eval")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--mode", default="auto", help="auto, keyword, semantic, hybrid.")
@click.option(
    "--limit", type=click.IntRange(1, 100), default=10, help="The first hits."
)
@click.option(
    "--gate",
    type=click.FloatRange(0, 1),
    metavar="NDCG",
    help="Exit 1 if nDCG is less.",
)
@click.option("--each", is_flag=True, help="Also each question, the worst first.")
@click.option("--calibrate", is_flag=True, help="Also the floors that hide little.")
def evaluate(
    *,
    file: Path,
    mode: str,
    limit: int,
    gate: float | None,
    each: bool,
    calibrate: bool,
) -> int:
    """Ask judged questions, and say how well their entries are found.

    FILE has a JSON object a line: {"query": "...", "relevant": ["ops/4711"]}. An entry
    is named by its id, address, SOURCE/ID or number; {"ops/4711": 2} says a grade.
    """
    out = output.current()
    questions = _read(file)
    with api_client.open_client(out) as client:
        found: set[str] = set()
        worths: list[tuple[str, Worth]] = []
        how = {"mode": mode, "limit": limit}
        for number, question in enumerate(questions):
            if number and number % _TOLD_EACH == 0:
                out.say(f"{number} of {len(questions)} questions asked.")
            try:
                worths.append((question.query, _judge(client, question, how, found)))
            except CommandError as exc:
                if exc.exit_code != output.USAGE:
                    raise
                message = f"{exc.message}\nquestion: {plain(question.query)[:100]}"
                raise UsageError(message) from exc
        judged = {name for one in questions for name in one.grades}
        missing = [one for one in sorted(judged - found) if not _is_there(client, one)]
        floors = _fit_floors(client, questions, mode) if calibrate else None
    mean = {
        name: round(fmean(getattr(one, name) for _, one in worths), 4)
        for name in Worth.__dataclass_fields__
    }
    passed = gate is None or mean["ndcg"] >= gate
    told = {"questions": len(worths), "mode": mode, "limit": limit, "mean": mean}
    told["missing"] = missing
    worst_first = sorted(worths, key=lambda one: (one[1].ndcg, one[0]))
    asked = [{"query": query, **asdict(one)} for query, one in worst_first]
    fitted = {"floors": asdict(floors)} if floors else {}
    if not out.prints_json({**told, **fitted, "passed": passed, "each": asked}):
        for query, one in worst_first if each else ():
            out.data(f"{one.ndcg:.3f}  hit {one.hit:.0f}  {query}")
        out.data(
            f"{len(worths)} questions, the first {limit} hits, {mode}:"
            f" nDCG {mean['ndcg']:.3f} · hit {mean['hit']:.3f} · MRR {mean['mrr']:.3f}"
            f" · recall {mean['recall']:.3f} · precision {mean['precision']:.3f}"
            f" · stable {mean['stable']:.3f}"
        )
        if floors:
            print_floors(out, floors)
        if missing:
            out.complain(
                f"Judged, but no entry here is called so ({len(missing)}), which costs"
                f" nDCG and recall: {plain(', '.join(missing[:_MISSING_SHOWN]))}"
                f"{', ...' if len(missing) > _MISSING_SHOWN else ''}."
            )
        if not passed:
            out.complain(f"nDCG is less than {gate}.")
    return output.DONE if passed else output.FAILED


def _read(file: Path) -> list[JudgedQuestion]:
    # Not as text: a sign of a question may end a line there.
    lines = file.read_bytes().splitlines()
    found = [
        _question(number, line) for number, line in enumerate(lines, 1) if line.strip()
    ]
    if not found:
        message = f"{file} holds no question."
        raise UsageError(message)
    return found


def _question(number: int, line: bytes) -> JudgedQuestion:
    try:
        match json.loads(line):
            case {"query": str() as query, "relevant": dict() as given}:
                grades = {name: float(grade) for name, grade in given.items()}
            case {"query": str() as query, "relevant": [str(), *_] as names}:
                grades = dict.fromkeys(map(str, names), 1.0)
            case _:
                query, grades = "", {}
    except (TypeError, ValueError):
        query, grades = "", {}
    is_graded = all(0 <= one < math.inf for one in grades.values())
    if query.strip() and is_graded and any(grades.values()) and "" not in grades:
        return JudgedQuestion(query, grades)
    message = (
        f"Line {number} is no judged question: write it in UTF-8 as"
        ' {"query": "...", "relevant": ["SOURCE/ID"]}, or with grades as'
        ' {"SOURCE/ID": 2}, none below 0 and one above.'
    )
    raise UsageError(message)


def _judge(
    client: httpx2.Client,
    question: JudgedQuestion,
    how: Mapping[str, Any],
    found: set[str],
) -> Worth:
    """Weigh the hits of a question, and add the names that they have."""
    first, second = (_ask(client, question.query, how) for _ in range(2))
    found |= {name for hit in first["results"] for name in _list_names(hit)}
    return weigh(
        [_take_grade(hit, question.grades) for hit in first["results"]],
        question.grades.values(),
        how["limit"],
        stable=first["stability_hash"] == second["stability_hash"],
    )


def _fit_floors(
    client: httpx2.Client, questions: Sequence[JudgedQuestion], mode: str
) -> Floors:
    near, scored = (
        [
            hit
            for one in questions
            for hit in _ask(client, one.query, {**OPEN_SEARCH, "mode": how})["results"]
            if _take_grade(hit, one.grades) > 0
        ]
        for how in ("semantic", mode)
    )
    judged = sum(grade > 0 for one in questions for grade in one.grades.values())
    return fit_floors(near, scored, judged)


def _is_put_off(exc: BaseException) -> bool:
    """Tell whether the API, which is there, wants to be asked later."""
    return (
        isinstance(exc, CommandError)
        and bool(exc.error)
        and exc.exit_code == output.TRY_AGAIN
    )


# Whoever asks hundreds of questions meets the rate limit of a key, and waits for it.
_patient = tenacity.retry(
    retry=tenacity.retry_if_exception(_is_put_off),
    wait=tenacity.wait_fixed(_PAUSE_SECONDS),
    stop=tenacity.stop_after_delay(_PATIENCE_SECONDS),
    reraise=True,
)


@_patient
def _ask(client: httpx2.Client, query: str, how: Mapping[str, Any]) -> dict[str, Any]:
    # The names and scores of each hit are enough, without an answer.
    fields = ["source", "external_id", "relevance_score", "scores", *_NAMES]
    body = {"query": query, **how, "synthesize": False, "fields": fields}
    answer: dict[str, Any] = api_client.call(client, "POST", _QUERY, json=body)
    return answer


@_patient
def _is_there(client: httpx2.Client, name: str) -> bool:
    """Tell whether an entry, or any of several, is called so."""
    try:
        refs.entry(client, name)
    except CommandError as exc:
        if exc.exit_code not in {output.NOT_FOUND, output.USAGE}:
            raise
        return exc.exit_code == output.USAGE
    return True


def _list_names(hit: Mapping[str, Any]) -> set[str]:
    number = hit["external_id"]
    return {number, f"{hit['source']}/{number}", *(str(hit.get(one)) for one in _NAMES)}


def _take_grade(hit: Mapping[str, Any], grades: Mapping[str, float]) -> float:
    graded = _list_names(hit) & grades.keys()
    return max((grades[one] for one in graded), default=0.0)


def weigh(
    gains: Sequence[float], judged: Collection[float], limit: int, *, stable: bool
) -> Worth:
    """Weigh the grades of hits in their order, as `trec_eval` does."""
    relevant = [place for place, gain in enumerate(gains, 1) if gain > 0]
    ideal = _discount(sorted(judged, reverse=True)[:limit])
    wanted = sum(grade > 0 for grade in judged)
    return Worth(
        hit=float(bool(relevant)),
        precision=len(relevant) / limit,
        recall=len(relevant) / wanted if wanted else 0.0,
        mrr=1 / relevant[0] if relevant else 0.0,
        ndcg=_discount(gains) / ideal if ideal else 0.0,
        stable=float(stable),
    )


def _discount(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))
