"""Whether a question that is offered would be answered: asked by words, nothing kept.

`viable` is what the one function says that grounds answers. No vector is made: what
meaning might add is taken for nothing, so that what is viable here is grounded there.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, LiteralString

from shared.access import rights
from shared.access.scope import Scope
from shared.answers.answer_question import answer_question
from shared.answers.choice.sentence_meaning import no_likeness
from shared.postgres.statement_deadline import timed_connection
from shared.search.query.context import ranking_context
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.response.end_search import FoundPage
from shared.search.response.search import carry_out_branches
from shared.search.results.conclude import conclude
from shared.search.results.result_page import read_page
from shared.search.retrieval.search_context import SearchContext
from shared.text.analysis.analyser import quote_lexeme

ViabilityState = Literal[
    "grounded", "needs_clarification", "no_match", "scope_unready", "corpus_unready"
]
# A suggestion that takes longer is not worth it, and says so as an error.
TIMEOUT_MS = 1_000
_READY_MS = 200

# Read by the index of times, the newest first: of most callers it is the first entry.
_READY: LiteralString = f"""
    SELECT EXISTS (
        SELECT FROM entry e
          JOIN entry_text t ON t.entry_id = e.id AND t.tenant = %(tenant)s
         WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}
           AND (%(kinds)s::text[] IS NULL OR e.kind = ANY (%(kinds)s))
           AND (%(books)s::text[] IS NULL OR e.logbooks && %(books)s)
           AND (%(sources)s::text[] IS NULL OR e.source = ANY (%(sources)s))
           AND (%(devices)s::text IS NULL OR t.tsv @@ %(devices)s::tsquery))"""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the tenant has anything indexed, and whether the page's scope has."""

    corpus: bool
    scope: bool


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The state in which the answer to a suggested question would be."""

    query: str
    state: ViabilityState
    scope_ready: bool
    evidence_count: int = 0
    # How many of its hits are of which kind.
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def viable(self) -> bool:
        """Tell whether the question would be answered, and not asked back."""
        return self.state == "grounded"


def find_readiness(
    context: SearchContext, whose: Scope, scope: Mapping[str, Sequence[str]]
) -> Readiness:
    """Return whether the caller, and the scope of their page, have anything indexed."""
    nowhere: dict[str, object] = dict.fromkeys(("kinds", "books", "sources", "devices"))
    within = {
        "kinds": list(scope.get("kinds", ())) or None,
        "books": list(scope.get("logbooks", ())) or None,
        "sources": list(scope.get("sources", ())) or None,
        "devices": _any_of(ranking_context.list_device_terms(scope.get("devices", ()))),
    }
    with timed_connection(context.pool, _READY_MS) as conn:
        found = [
            bool(
                (conn.execute(_READY, {**whose.params, **asked}).fetchone() or (0,))[0]
            )
            for asked in ((nowhere, within) if any(within.values()) else (nowhere,))
        ]
    return Readiness(found[0], found[-1])


def evaluate_suggestion(
    context: SearchContext, plan: Plan, ready: Readiness
) -> Suggestion:
    """Search for a question by words alone; return the state its answer would have."""
    if not ready.corpus:
        return Suggestion(plan.query, "corpus_unready", scope_ready=False)
    if not ready.scope:
        return Suggestion(plan.query, "scope_unready", scope_ready=False)
    if not plan.branches:
        return Suggestion(plan.query, "no_match", scope_ready=True)
    ends_at = context.now() + TIMEOUT_MS / 1000
    conclusion = conclude(plan, carry_out_branches(context, plan, ends_at))
    if conclusion.error is not None:
        raise conclusion.error
    runs = fold.group_runs(conclusion.ranked)
    page = read_page(context.pool, plan, runs, TIMEOUT_MS, with_values=False)
    if not page:
        return Suggestion(plan.query, "no_match", scope_ready=True)
    kinds = Counter(one.row.kind for one in page)
    found = FoundPage(context, plan, conclusion, page)
    answer = answer_question(found, TIMEOUT_MS, no_likeness)
    is_grounded = answer is not None and answer.context.status == "grounded"
    evidence = len(answer.context.evidence) if answer and is_grounded else 0
    state: ViabilityState = "grounded" if is_grounded else "needs_clarification"
    return Suggestion(
        plan.query, state, scope_ready=True, evidence_count=evidence, kinds=kinds
    )


def _any_of(terms: Sequence[str]) -> str | None:
    return " | ".join(map(quote_lexeme, terms)) or None
