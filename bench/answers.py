"""How good answers are: told, to the point, refused where nobody knows; and how fast.

As shipped, over two logbooks, with 95 % intervals by bootstrap from one seed. What is
below its floor ends with 1.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

from bench import (
    answer_questions,
    answers_corpus,
    answers_folds,
    answers_perturbed,
    answers_stack,
    answers_stale,
    answers_table,
    answers_verifier,
)
from bench.answer_questions import CLOCKS, KnownQuestion
from bench.answers_table import Measured
from bench.keep_results import keep_results
from shared.access.scope import Scope
from shared.answers.answer_question import PreparedAnswer, prepare_answer
from shared.answers.choice import answer_status
from shared.answers.choice.sentence_meaning import make_meanings
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.entries.reading import read_entries
from shared.postgres.pool import connection
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.response.answer import Answer, Evidence
from shared.search.response.end_search import Beside, FoundPage
from shared.search.response.search import search
from shared.search.response.search_answer import SearchAnswer
from shared.search.results.conclude import Conclusion
from shared.search.retrieval.search_context import SearchContext

LIMITS = PlanLimits(any_word=True)
# As long as a search may be given: what others do on this machine is no measure.
DEADLINE_MS = 6000


@dataclass(slots=True)
class Keeping:
    """Answers as shipped, and keeps what the last answer was made of."""

    prepared: PreparedAnswer | None = None
    conclusion: Conclusion | None = None

    def __call__(self, found: FoundPage, timeout_ms: int) -> Answer | None:
        """Answer from a page of hits."""
        self.prepared = prepare_answer(found, timeout_ms)
        self.conclusion = found.conclusion
        return self.prepared.answer if self.prepared else None


@dataclass(frozen=True)
class Asked:
    """A question that was asked, its answer, and what that was made of."""

    known: KnownQuestion
    answer: SearchAnswer
    prepared: PreparedAnswer | None
    conclusion: Conclusion | None
    confidence: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, print tables, keep the numbers as JSON; below a floor ends with 1."""
    wanted = _options(arguments)
    questions = list(_list_questions(wanted))
    with answers_corpus.filled(
        answer_questions.fact_title, has_events=not wanted.quick
    ) as context:
        # The first ones load the model.
        for one in questions[:5]:
            _ask(context, one)
        asked = [_ask(context, one) for one in questions]
        found = [_measure(context, one) for one in asked]
        failures = [
            *answers_table.show(found),
            *answers_table.show_promises(found),
            *answers_table.show_risk(found),
        ]
        answers_table.show_kinds(found)
        failures += answers_verifier.show(context, [one.prepared for one in asked])
        failures += answers_stale.show(context, lambda one: _ask(context, one).prepared)
        if wanted.folds or not wanted.quick:
            answers_folds.show(_list_cases(context, asked))
    if wanted.times or not wanted.quick:
        failures += answers_stack.show()
    if wanted.missed:
        print(*answers_table.list_missed(found), sep="\n")
    if wanted.keep:
        keep_results(
            "answers",
            model=DEFAULT_MODEL,
            failures=list(failures),
            answers=[asdict(one) for one in found],
            took_seconds=round(time.process_time(), 1),
        )
    if failures:
        print("\n".join(["below the floor:", *failures]), file=sys.stderr)
        raise SystemExit(1)


def _list_questions(wanted: argparse.Namespace) -> Iterator[KnownQuestion]:
    yield from answer_questions.sample_questions()
    yield from answer_questions.new_questions(wanted.questions)
    yield from answer_questions.foreign_questions()
    yield from answers_perturbed.perturb_sample()
    if not wanted.quick:
        yield from answer_questions.event_questions()
        yield from answers_perturbed.perturb_events()


def _ask(context: SearchContext, one: KnownQuestion) -> Asked:
    plan = make_plan(
        SearchQuery(one.text, mode="hybrid", limit=10, deadline_ms=DEADLINE_MS),
        Scope(one.tenant, "bench"),
        LIMITS,
        CLOCKS[one.tenant],
    )
    keeping = Keeping()
    with patch.object(answer_status, "ground", wraps=answer_status.ground) as judged:
        answer = search(context, plan, Beside(keeping))
    supports: list[answer_status.Support] = [
        call.args[2] for call in judged.call_args_list
    ]
    confidence = min(
        (
            one.coverage + max(one.compare() or 0.0, one.best_sentence)
            for one in supports
        ),
        default=0.0,
    )
    return Asked(one, answer, keeping.prepared, keeping.conclusion, confidence)


def _measure(context: SearchContext, asked: Asked) -> Measured:
    one, answer = asked.known, asked.answer
    said = answer.context_answer or {"status": "insufficient", "code": "none"}
    # What a refusal shows as the nearest is no answer.
    evidence = [Evidence(**quote) for quote in said.get("evidence", ())]
    names = {hit.entry_id: hit.external_id for hit in answer.results}
    names |= {cited.entry_id: cited.label for cited in answer.citations}
    hits = [names.get(quote.entry_id) in one.relevant for quote in evidence]
    again = _ask(context, one).answer
    return Measured(
        name=one.name,
        kind=one.kind,
        question=one.text,
        answerable=one.answerable,
        told=one.is_told(" ".join(quote.quote for quote in evidence)),
        to_the_point=statistics.fmean(hits) if hits else 0.0,
        grounded=said["status"] == "grounded",
        code=said["code"],
        took_ms=answer.synthesis_duration_ms,
        supported=_is_supported(context, one.tenant, evidence),
        is_stable=(again.answer, again.stability_hash)
        == (answer.answer, answer.stability_hash),
        confidence=asked.confidence,
    )


def _is_supported(
    context: SearchContext, tenant: str, evidence: Sequence[Evidence]
) -> bool:
    """Tell whether each quote stands in the stored text at the place that is named."""
    ids = [UUID(one.entry_id) for one in evidence]
    with connection(context.pool) as conn:
        stored = read_entries.load_contents(conn, tenant, ids)
    for one in evidence:
        entry = stored[UUID(one.entry_id)]
        text = entry.title if one.start is None else entry.text[one.start : one.end]
        if entry.revision != one.revision or text.strip() != one.quote:
            return False
    return True


def _list_cases(
    context: SearchContext, asked: Sequence[Asked]
) -> Iterator[answers_folds.Case]:
    for one in asked:
        if one.known.answerable and one.prepared and one.conclusion:
            yield answers_folds.Case(
                one.known,
                one.prepared.entries,
                make_meanings(context, one.prepared.plan, one.conclusion),
                context.facility,
                one.prepared.plan,
            )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.answers", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="the sample logbook alone")
    parser.add_argument(
        "--questions",
        type=Path,
        default=answer_questions.NEW,
        help="other new questions to the sample logbook, as JSON lines",
    )
    parser.add_argument(
        "--folds",
        action="store_true",
        help="fit the weights to each part in turn, in a quick run too",
    )
    parser.add_argument(
        "--times",
        action="store_true",
        help="what an answer adds on a stack of processes, in a quick run too",
    )
    parser.add_argument(
        "--missed", action="store_true", help="print what was not answered well"
    )
    parser.add_argument(
        "--no-keep", dest="keep", action="store_false", help="write no JSON"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
