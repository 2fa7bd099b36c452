"""What a search module is: a function, and a frozen descriptor beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import UUID

from shared.errors import LogchordError
from shared.search.jobs.outcome import Candidate, Diagnostic
from shared.search.retrieval.tool_schema import SearchArguments, as_json

if TYPE_CHECKING:
    from pydantic import BaseModel

    from shared.postgres.pool import Pool
    from shared.search.query.plan import Plan
    from shared.search.retrieval.search_context import SearchContext
    from shared.text.facility.facility import Facility
    from shared.vocabulary.recent_words import Present


Engine = Literal["opensearch", "postgres", "package"]


class Lexicon(Protocol):
    """The database and the facility's words by which a question is compiled."""

    @property
    def pool(self) -> Pool:
        """The database with the vocabulary and the entries."""

    @property
    def facility(self) -> Facility:
        """The facility's own names and words."""

    @property
    def present(self) -> Present | None:
        """The words that entries are known to have; None: looked up each time."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One branch's share of a search."""

    plan: Plan
    limit: int
    # By the monotonic clock: each step gets the time that earlier steps have left.
    ends_at: float
    # Whether the branch has failed once before.
    again: bool = False

    @classmethod
    def lasting(cls, plan: Plan, seconds: float) -> Ask:
        """Return an ask whose time ends so many seconds from now."""
        return cls(plan, plan.window, time.monotonic() + seconds)

    @property
    def budget_seconds(self) -> float:
        """Return the seconds that are left, or raise `branch_timeout`."""
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise LogchordError("The branch was late.", code="branch_timeout")
        return left

    @property
    def budget_ms(self) -> int:
        """Return the milliseconds left; never 0, which servers take as no limit."""
        return max(1, int(self.budget_seconds * 1000))


@dataclass(frozen=True, slots=True)
class Named:
    """An entry that a module of another package names; a higher score is better."""

    entry_id: UUID
    # Shown as it is, from 0 to 1, where nothing else found the entry.
    score: float


@dataclass(frozen=True, slots=True)
class ModuleResult:
    """The result of a module that did not fail."""

    hits: tuple[Candidate, ...] = ()
    as_of: datetime | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    # Why the module did not search; None: it did.
    skipped: str | None = None
    # The model and the vector of the question, which ranking needs.
    model: str | None = None
    vector: str | None = None
    floor: float | None = None
    # Whether every hit has the very name or phrase that was asked for.
    exact: bool = False
    # How many words the hits were looked for by, and whether each hit has them all.
    words: int = 1
    whole: bool = False
    # The entries among the hits whose very number was asked for: they stand first.
    meant: tuple[str, ...] = ()
    # From a branch that counts: how many match, whether all were counted, the facets.
    matches: int = 0
    counted: bool = False
    counts: dict[str, Any] | None = None
    # Filled by a module of another package instead of `hits`: rights, filters and the
    # columns of each entry are looked up for it.
    named: tuple[Named, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchToolDescriptor:
    """Describes a search module to the rest of the system."""

    name: str
    description: str
    # The family of the module, as `mode` and answers name it.
    search_mode: str
    # Returns a `ModuleResult`; another package's may be a coroutine function.
    execute: Callable[[Ask, SearchContext], Any]
    # The unit of its scores in an answer.
    unit: str
    needs_embedder: bool = False
    # The server that answers it; `package`: the module asks another one by itself.
    engine: Engine = "package"
    # Stages that an entry must have passed before the module can find it.
    needs_stages: tuple[str, ...] = ()
    # Whether it compares the words of the question with those of entries.
    compares_words: bool = False
    # The module that takes over within the same task and time.
    fallback: str | None = None
    # As a tool of an agent or of a program: its arguments, and how the results of an
    # answer become text.
    args_schema: type[BaseModel] = SearchArguments
    format_result: Callable[[Sequence[Mapping[str, Any]]], str] = as_json
