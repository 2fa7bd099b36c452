"""Ends a search in one row: conclude, read page, mark passages, answer, respond.

It runs with the last branch of a flat search, in the body of a chord, and in the API
when both are late.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import redis

from shared.errors import (
    DatabaseConnectionError,
    DatabaseQueryError,
    LogchordError,
    Severity,
)
from shared.log import get_logger
from shared.messaging.broker_errors import translate_broker_errors
from shared.postgres.pool import Pool, pipelined_connection
from shared.search.absence.coverage import Coverage
from shared.search.jobs import close_job
from shared.search.jobs.close_job import Ending
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import Outcome
from shared.search.jobs.stored_outcomes import MAILBOX_SECONDS
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.response.answer import Answer
from shared.search.response.card import Card
from shared.search.response.respond import respond
from shared.search.response.respond import reword as reword_response
from shared.search.response.response_parts import build_response_parts
from shared.search.response.search_answer import SearchAnswer
from shared.search.results import (
    cross_encoder_scores,
    paging,
    ranking_features,
    validate_candidates,
)
from shared.search.results.conclude import Conclusion, conclude
from shared.search.results.mark_passages import make_marker, mark_passages
from shared.search.results.result_page import ResultPage, read_page
from shared.search.retrieval.search_context import SearchContext

log = get_logger()

LATE_READ_MS = 400
# The share of the time left that reading facts may take: the page is worth more.
FACTS_SHARE = 0.4
# Answers and cards are made of so many hits, however few are shown.
EVIDENCE_HITS = 10


@dataclass(frozen=True, slots=True)
class FoundPage:
    """The best hits, to make an answer of, and the search that found them."""

    context: SearchContext
    plan: Plan
    conclusion: Conclusion
    page: ResultPage
    # What was searched and what is unknown, where it was measured.
    covered: Coverage | None = None


# Makes the answer where the plan asks for one, in so many milliseconds.
AnswerQuestion: TypeAlias = Callable[[FoundPage, int], Answer | None]


def no_answer(*_: object) -> None:
    """Answer nothing: the hits speak for themselves."""


# Makes the cards about the things of a page; none where there is no time for them.
MakeCards: TypeAlias = (
    "Callable[[SearchContext, Plan, ResultPage, int], Sequence[Card]]"
)


def no_cards(*_: object) -> tuple[()]:
    """Make no card."""
    return ()


@dataclass(frozen=True, slots=True)
class Beside:
    """The makers, from higher rooms, of an answer in sentences and of cards."""

    answer_question: AnswerQuestion = no_answer
    make_cards: MakeCards = no_cards


HITS_ALONE = Beside()


@dataclass(frozen=True, slots=True)
class EndedSearch:
    """A search that is over: its answer, or the error that takes its place."""

    conclusion: Conclusion
    answer: SearchAnswer | None
    error: LogchordError | None
    # The answer in sentences as it is stored with the job.
    sentences: Answer | None = None
    # The plan that was carried out in the end, where it is not the first one.
    asked: Plan | None = None

    @property
    def state(self) -> str:
        """Return how the job ended."""
        return "failed" if self.error else self.conclusion.state

    @property
    def ending(self) -> Ending:
        """Return the job's ending to store, once whoever waits has the answer."""
        error = self.error.body()["error"] if self.error else None
        digest = self.answer.stability_hash if self.answer else None
        return Ending(
            self.state,
            self.conclusion.branches,
            {
                **self.conclusion.window,
                "stability_hash": digest,
                **({"answer": self.sentences.to_json()} if self.sentences else {}),
                **({"asked": _asked(self.asked)} if self.asked else {}),
            },
            error,
        )


def _asked(plan: Plan) -> dict[str, Any]:
    return {"branches": list(plan.branches), "fan_out": plan.fan_out.to_values()}


def end_search(
    context: SearchContext,
    job: Job,
    plan: Plan,
    arrived: Mapping[int, Sequence[Outcome]],
    beside: Beside = HITS_ALONE,
) -> EndedSearch:
    """End a search with the outcomes that arrived; a failed read is the job's error.

    At its deadline a search gets a moment more to read the page, and no longer.
    """
    began = time.perf_counter()
    try:
        conclusion, facts_ms = _conclude(context, job, plan, arrived)
    except DatabaseConnectionError as exc:
        return EndedSearch(conclude(plan, arrived), None, exc)
    if conclusion.error is not None:
        return EndedSearch(conclusion, None, conclusion.error)
    ranked_at = time.perf_counter()
    runs = fold.group_runs(conclusion.ranked)
    try:
        left_ms = max(LATE_READ_MS, _left_ms(context, job))
        best = read_page(context.pool, plan, runs, left_ms, least=EVIDENCE_HITS)
        page = best[: plan.limit]
        marker = make_marker(context, plan, conclusion, page)
        hits = mark_passages(context, plan.scope.tenant, page, marker)
        parts = build_response_parts(
            context, plan, conclusion, hits, marker, _left_ms(context, job)
        )
        following = paging.following(context.signer, plan, job.job_id, runs, page)
        found = FoundPage(context, plan, conclusion, best, parts.covered)
        answer = beside.answer_question(found, _left_ms(context, job))
        cards_began = time.perf_counter()
        cards = beside.make_cards(context, plan, best, _left_ms(context, job))
        parts = parts._replace(cards=cards)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        return EndedSearch(conclusion, None, exc)
    took = {
        "facts": facts_ms,
        "rank": round(_ms(ranked_at - began) - facts_ms, 3),
        "hydrate": _ms(cards_began - ranked_at),
        "cards": _ms(time.perf_counter() - cards_began),
        "total": _ms(context.now() - job.created),
    }
    response = respond(
        plan, job.job_id, conclusion, hits, parts, took, following, answer
    )
    return EndedSearch(conclusion, response, None, answer)


def _conclude(
    context: SearchContext,
    job: Job,
    plan: Plan,
    arrived: Mapping[int, Sequence[Outcome]],
) -> tuple[Conclusion, float]:
    """Read facts and rank the outcomes that arrived; return how long reading took."""
    began = time.perf_counter()
    outcomes = [outcome for branch in arrived.values() for outcome in branch]
    facts_ms = int(_left_ms(context, job) * FACTS_SHARE)
    known = ranking_features.load_ranking_features(context, plan, outcomes, facts_ms)
    left = job.deadline - context.now()
    known = cross_encoder_scores.add_cross_encoder_scores(
        context, plan, arrived, known, left
    )
    left = job.deadline - context.now()
    known = validate_candidates.validate_candidates(context, plan, arrived, known, left)
    took = _ms(time.perf_counter() - began)
    return conclude(plan, arrived, known), took


def tell(client: redis.Redis, mailbox: str, job: Job, ended: EndedSearch) -> None:
    """Put the answer where the API waits for it."""
    if ended.error is not None:
        message = f"{job.job_id} failed {json.dumps(as_data(ended.error))}"
    else:
        assert ended.answer is not None
        message = f"{job.job_id} answer {json.dumps(ended.answer.to_json())}"
    pipe = client.pipeline(transaction=False)
    pipe.rpush(mailbox, message)
    pipe.expire(mailbox, MAILBOX_SECONDS)
    with translate_broker_errors():
        pipe.execute()


def store(pool: Pool, job: Job, ended: EndedSearch) -> bool:
    """Close the job in Postgres, once; the caller has its answer already.

    True for whoever closed it, who alone counts it.
    """
    try:
        with pipelined_connection(pool) as conn:
            return close_job.close_job(conn, job, ended.ending)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        # Upkeep ends a submitted job that stays open; a direct one has its answer.
        log.warning("job_not_stored", job_id=str(job.job_id), code=exc.error_code)
        return False


def reword(plan: Plan, ended: EndedSearch, answer: Answer) -> EndedSearch:
    """Return an ended search with another answer to the same hits."""
    assert ended.answer is not None
    response = reword_response(plan, ended.answer, answer)
    return replace(ended, answer=response, sentences=answer)


def as_data(error: LogchordError) -> dict[str, Any]:
    """Return an error as JSON, as the mailbox carries it to the API."""
    return {
        "message": error.message,
        "code": error.error_code,
        "severity": error.severity.value,
        "retriable": error.retriable,
        "technical": error.technical,
        "details": error.details,
    }


def as_error(values: Mapping[str, Any]) -> LogchordError:
    """Read an error back from the JSON in which it was sent."""
    return LogchordError(**{**values, "severity": Severity(values["severity"])})


def _left_ms(context: SearchContext, job: Job) -> int:
    return int((job.deadline - context.now()) * 1000)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
