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
    """Where a question's words are looked up, and compared with those of entries."""

    @property
    def pool(self) -> Pool:
        """The database that has them."""

    @property
    def facility(self) -> Facility:
        """The facility's own names and words."""

    @property
    def present(self) -> Present | None:
        """The words that entries were seen to have; None: looked up each time."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One branch's share of a search."""

    plan: Plan
    limit: int
    # Monotonic: every step gets what the ones before it have left.
    ends_at: float
    # Whether the branch has failed once before.
    again: bool = False

    @classmethod
    def lasting(cls, plan: Plan, seconds: float) -> Ask:
        """Return a share of so many seconds from now."""
        return cls(plan, plan.window, time.monotonic() + seconds)

    @property
    def budget_seconds(self) -> float:
        """Return what is left of it, or raise `branch_timeout`."""
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise LogchordError("The branch was late.", code="branch_timeout")
        return left

    @property
    def budget_ms(self) -> int:
        """Return what is left as servers take it; never 0, which means no limit."""
        return max(1, int(self.budget_seconds * 1000))


@dataclass(frozen=True, slots=True)
class Named:
    """An entry that a module of another package names: the higher, the better."""

    entry_id: UUID
    # From 0 to 1, where nothing else found the entry: shown as it is.
    score: float


@dataclass(frozen=True, slots=True)
class ModuleResult:
    """What a module came to when nothing went wrong."""

    hits: tuple[Candidate, ...] = ()
    as_of: datetime | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    # Set when the module had no reason to search at all.
    skipped: str | None = None
    # What was asked of the vectors, for whoever ranks.
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
    # Of a branch that counts: how many match, whether these are all, and their facets.
    matches: int = 0
    counted: bool = False
    counts: dict[str, Any] | None = None
    # What a module of another package fills instead of `hits`: rights, filters and all
    # that is known of an entry are looked up for it.
    named: tuple[Named, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchToolDescriptor:
    """What the rest of the system knows of a search module."""

    name: str
    description: str
    # The family: what `mode` calls it, and what an answer says was used.
    search_mode: str
    # Returns what it found; another package's may be a coroutine function.
    execute: Callable[[Ask, SearchContext], Any]
    # What its scores are called in an answer.
    unit: str
    needs_embedder: bool = False
    # Which server answers it: `package`, whatever the module asks by itself.
    engine: Engine = "package"
    # Stages that an entry must have passed before the module can find it.
    needs_stages: tuple[str, ...] = ()
    # Whether it compares the words of the question with those of entries.
    compares_words: bool = False
    # Takes over within the same task and budget.
    fallback: str | None = None
    # As a tool of an agent or of a program: what it is given, and the text of what it
    # has found, from the results of an answer.
    args_schema: type[BaseModel] = SearchArguments
    format_result: Callable[[Sequence[Mapping[str, Any]]], str] = as_json
