"""What a branch of a search came to: data, never an exception."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from shared.errors import LogchordError
from shared.search.jobs.compatibility import read_fields, to_json_value

Status = Literal["ok", "empty", "timeout", "error", "skipped"]

FAILED: tuple[Status, ...] = ("timeout", "error")
_KEPT_TO_OURSELVES = frozenset(
    (
        *("unit", "hits", "diagnostics", "model", "vector", "floor", "exact"),
        *("counts", "counted", "meant", "words", "whole", "part"),
    )
)
# Why a branch was skipped: its backend had failed too often and was not asked.
CIRCUIT_OPEN = "circuit_open"
# Why a branch that changes the order alone was skipped: there was no time for it.
DEADLINE = "deadline"
# The branch that counts and finds no hits.
FACETS = "facets"
# The code of a diagnostic: a model was to read the hits and did not.
RERANK = "rerank"
# The code of a diagnostic: a branch returned fewer candidates than were asked for.
UNDER_RETURN = "under_return"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One entry that a branch found, by its best chunk; ids and columns, no text."""

    entry_id: str
    chunk_id: str
    score: float
    kind: str
    source: str
    origin: str
    entry_time: str
    revision: int
    # Where the chunk stands in that revision's text; None: no chunk in particular.
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something about a search that its reader should know."""

    level: Literal["info", "warning", "error"]
    source: str
    code: str
    message: str
    category: str


# Diagnostics that say that a part of the question was left out of the search.
_CUT = frozenset({"query_truncated", "terms_dropped", "wildcard_capped"})


def list_cuts(notes: Iterable[Diagnostic]) -> tuple[str, ...]:
    """Return the codes of cuts in a question; empty: the whole question was asked."""
    return tuple(sorted({note.code for note in notes} & _CUT))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one search module fared: the fields of the contract, and its hits."""

    name: str
    status: Status
    unit: str
    reason: str | None = None
    error_code: str | None = None
    error_category: str | None = None
    severity: str | None = None
    retriable: bool | None = None
    queued_ms: float = 0.0
    took_ms: float = 0.0
    attempts: int = 1
    candidates: int = 0
    kept: int = 0
    index_watermark: str | None = None
    as_of: str | None = None
    fallback_for: str | None = None
    hits: tuple[Candidate, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    # What was asked of the vectors: the model, its vector, and the lowest cosine kept.
    model: str | None = None
    vector: str | None = None
    floor: float | None = None
    # Whether every hit has the very name or phrase that was asked for.
    exact: bool = False
    # How many words its hits were looked for by, and whether each hit has them all.
    words: int = 1
    whole: bool = False
    # The entries among the hits whose very number was asked for.
    meant: tuple[str, ...] = ()
    # The counts by facet, as the answer shows them; only the branch `facets` has them.
    counts: dict[str, Any] | None = None
    # Whether `candidates` are all that match, and no fewer.
    counted: bool = False
    # The number of the sub-query that the branch was asked.
    part: int = 0

    @property
    def failed(self) -> bool:
        """Whether this part of the search was not carried out."""
        return self.status in FAILED

    @property
    def unsearched(self) -> bool:
        """Whether the module failed now, or was not asked for it had failed before."""
        return self.failed or self.reason == CIRCUIT_OPEN

    @property
    def ran_out_of_time(self) -> bool:
        """Whether time cut this branch: with more time the search may end otherwise."""
        was_skipped = self.status == "skipped" and self.reason == DEADLINE
        return self.status == "timeout" or was_skipped

    def values(self, *, with_hits: bool = True) -> dict[str, Any]:
        """Return all fields as JSON takes them, or all but the hits."""
        values: dict[str, Any] = to_json_value(self)
        values["hits"] = [*map(to_json_value, self.hits if with_hits else ())]
        values["diagnostics"] = [*map(to_json_value, self.diagnostics)]
        return values

    def summary(self) -> dict[str, object]:
        """Return the branch as answers and stored jobs show it, without its hits."""
        return {
            name: getattr(self, name)
            for name in self.__slots__
            if name not in _KEPT_TO_OURSELVES
        }


def make_failure(name: str, unit: str, error: LogchordError) -> Outcome:
    """Return the outcome of a branch that could not be carried out."""
    timed_out = error.error_code == "branch_timeout"
    return Outcome(
        name=name,
        status="timeout" if timed_out else "error",
        unit=unit,
        error_code=error.error_code,
        error_category=error.category.value,
        severity=error.severity.value,
        retriable=error.retriable,
    )


def make_overdue(name: str, unit: str, reason: str | None = None) -> Outcome:
    """Return the outcome of a branch that was not heard of in time."""
    error = LogchordError("The branch was not done in time.", code="branch_timeout")
    return replace(make_failure(name, unit, error), reason=reason)


def to_json(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes of one branch as the JSON that is sent and stored."""
    return json.dumps([item.values() for item in outcomes], separators=(",", ":"))


def from_json(text: str) -> list[Outcome]:
    """Read the outcomes of one branch back from JSON."""
    return [read_fields(Outcome, item) for item in json.loads(text)]
