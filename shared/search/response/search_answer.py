"""The answer to a search: typed while it is made, JSON only where it leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from shared.search.jobs.compatibility import read_fields
from shared.search.jobs.outcome import UNDER_RETURN, Diagnostic, Outcome
from shared.search.query import result_detail
from shared.search.query.result_detail import WHOLE, Amount
from shared.search.ranking.ranked_hits import Suppressed
from shared.search.response.answer import (
    AnswerSource,
    Citation,
    CitationMode,
    ModelStatus,
)
from shared.search.response.card import Card
from shared.search.results.hit import Hit
from shared.times.rfc3339 import timestamp

State = Literal["done", "partial"]


@dataclass(frozen=True, slots=True)
class TotalCandidates:
    """How many entries were found at least."""

    lower_bound: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Overflow:
    """Hits beside the page, which lie outside of the time or the scope asked for."""

    items: Sequence[Hit]
    reason: str
    # How near in score they are to the page's best; None: scores are not compared.
    band: float | None = None
    # The hit that was written nearest to the time asked for.
    nearest: str | None = None
    # The interval of an earlier year in which all of them were written.
    time: tuple[str, str] | None = None

    def to_json(self, amount: Amount) -> dict[str, Any]:
        """Return the overflow as answers show it, its hits cut to the wanted amount."""
        items, _ = trimmed(self.items, amount)
        return {
            "items": items,
            "reason": self.reason,
            "band": self.band,
            "nearest": self.nearest,
            "time": self.time and _interval(*self.time),
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Read an overflow back."""
        told = values.get("time")
        when = (told["from"], told["to"]) if told else None
        return read_fields(cls, {**values, "time": when})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """The answer to a search: its hits, the branches searched, and their freshness."""

    job_id: Annotated[str | None, "Null where nothing was asked for: that is no job."]
    state: State
    query: str
    mode: str
    method_used: str
    search_modes_used: Sequence[str]
    results: Sequence[Hit]
    total_candidates: TotalCandidates
    window_complete: bool
    complete: bool
    next_cursor: str | None
    sub_queries: Sequence[str]
    decomposed: bool
    meta: Annotated[
        Mapping[str, int],
        "Entries found before any is compared with the whole question, and after.",
    ]
    time: Mapping[str, Any]
    time_range_applied: bool
    branches: Sequence[Outcome]
    degraded: bool
    as_of: str | None
    sources_behind: Annotated[
        Sequence[Mapping[str, Any]],
        "Sources of which something newer may be missing, whatever `as_of` says: why"
        " (`paused`, `failing`, `degraded`, `not_read`), and when they last answered.",
    ]
    reasoning: str
    diagnostics: Sequence[Diagnostic]
    timings_ms: Mapping[str, float]
    search_duration_ms: float
    suppressed: Suppressed
    thresholds_applied: Mapping[str, float]
    stability_hash: str
    config_hash: Annotated[str, "Of the settings that it depends on."]
    replayable: Annotated[bool, "Not where a deadline cut the search."]
    deterministic: bool
    reranked: bool
    vector_model: str | None
    coverage: Annotated[
        Mapping[str, Any] | None,
        "What was searched, and what of it is unknown; null: nothing was, or it could"
        " not be read.",
    ]
    relaxation: Annotated[
        Mapping[str, Any] | None,
        "What a time among the words keeps out; where nothing was found, what filters"
        " do; else null.",
    ]
    context_answer: Annotated[
        Mapping[str, Any] | None,
        "What an empty answer means, or what must be asked back; else null.",
    ]
    facets: Annotated[
        Mapping[str, Any],
        "By the names asked for; of each whether its counts are exact.",
    ]
    answer: Annotated[str | None, "Sentences of entries, each with its mark."]
    answer_source: AnswerSource | None
    sources: Annotated[Sequence[str], "The labels of what is cited, in order."]
    citations: Sequence[Citation]
    citation_mode: CitationMode
    synthesis_duration_ms: float
    llm_status: Annotated[
        ModelStatus | None, "What came of a model's answer; null: none was asked for."
    ] = None
    llm_model: str | None = None
    grounding_score: Annotated[
        float | None, "Of the model's sentences, the share that its sources bear out."
    ] = None
    hallucinated_citations: int = 0
    context_truncated: Annotated[
        bool, "Whether the model read less than was found."
    ] = False
    # Only with `debug`: the plan, and the steps that each hit's score took.
    plan: Annotated[Mapping[str, Any] | None, "Only with `debug`."] = None
    score_trace: Annotated[Sequence[Mapping[str, Any]] | None, "Only with `debug`."] = (
        None
    )
    hidden_count: Annotated[
        int | None,
        "Only with `acl_honesty`: how many match by words that you may not see; 1000:"
        " as many at least; null: not counted.",
    ] = None
    agent: Annotated[
        Mapping[str, Any] | None,
        "Of an agent: why it ended, what it cost, and the answer without a model.",
    ] = None
    # How much of the answer is shown, and whether `hidden_count` is; neither is a field
    # of the response.
    amount: Amount = WHOLE
    counts_hidden: bool = False
    overflow: Annotated[
        Overflow | None,
        "Hits at other times, where a time was read and none is in it; or hits beyond"
        " the `scope` that are as good as its best.",
    ] = None
    cards: Annotated[
        Sequence[Card], "What the question names or its best hits share, told at once."
    ] = ()

    @property
    def entries(self) -> Sequence[Hit]:
        """The name of the results that orchestrators of the reference use."""
        return self.results

    def to_json(self) -> dict[str, Any]:
        """Return the answer as the contract has it, cut to the wanted amount."""
        results, cut = trimmed(self.results, self.amount)
        values = {
            name: getattr(self, name)
            for name in self.__slots__
            if name not in {"amount", "counts_hidden"}
        }
        if not self.counts_hidden:
            del values["hidden_count"]
        if self.agent is None:
            del values["agent"]
        if self.plan is None:
            del values["plan"], values["score_trace"]
        return {
            **values,
            "results": results,
            "total_results": len(results),
            "cut": cut,
            "total_candidates": asdict(self.total_candidates),
            "branches": [branch_body(one, self.sub_queries) for one in self.branches],
            "diagnostics": [asdict(one) for one in self.diagnostics],
            "degraded_recall": any(
                one.code == UNDER_RETURN for one in self.diagnostics
            ),
            "suppressed": asdict(self.suppressed),
            "citations": [asdict(one) for one in self.citations],
            "overflow": self.overflow and self.overflow.to_json(self.amount),
            "cards": [one.to_json() for one in self.cards],
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Read a whole answer back; fields of a newer release are left out."""
        # Fields that an older release does not store.
        before: dict[str, Any] = {
            "sources_behind": [],
            "meta": {},
            "answer_source": None,
            "sources": [],
            "citation_mode": "none",
            "synthesis_duration_ms": 0.0,
        }
        asked = values["sub_queries"]
        own = {
            "branches": [_branch_values(one, asked) for one in values["branches"]],
            "counts_hidden": "hidden_count" in values,
        }
        return read_fields(cls, {**before, **values, **own})


def _interval(since: str, until: str) -> dict[str, str]:
    ends = (timestamp(datetime.fromisoformat(one)) for one in (since, until))
    return dict(zip(("from", "to"), ends, strict=True))


def trimmed(
    hits: Sequence[Hit], amount: Amount
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return hits cut to the wanted amount, and how much was left off."""
    return result_detail.trim_results([one.to_json() for one in hits], amount)


def branch_body(outcome: Outcome, sub_queries: Sequence[str]) -> dict[str, Any]:
    """Return the outcome of a branch, with the question that it searched."""
    number = outcome.part if outcome.part < len(sub_queries) else 0
    return {**outcome.summary(), "sub_query": sub_queries[number]}


def _branch_values(values: Mapping[str, Any], asked: Sequence[str]) -> dict[str, Any]:
    # The unit of its scores is not a field of a response.
    own = values.get("sub_query")
    return {"unit": "", "part": asked.index(own) if own in asked else 0, **values}
