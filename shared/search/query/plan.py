"""Makes the plan of a question: its branches, its scope, its deadline; no I/O."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from shared.access.scope import Scope
from shared.errors import InvalidRequestError, ModuleNotEnabledError
from shared.search.jobs.compatibility import read_fields, to_json_value
from shared.search.jobs.outcome import FACETS, Diagnostic
from shared.search.query import (
    branch_choice,
    facet_request,
    intent,
    list_by_time,
    modes,
    name_query,
    plan_parts,
    sub_queries,
    wanted_answer,
)
from shared.search.query.decomposition.decompose import Decomposition
from shared.search.query.facet_request import Counting
from shared.search.query.fault import Fault
from shared.search.query.filters import filters
from shared.search.query.filters.filters import Filters
from shared.search.query.intent import Intent
from shared.search.query.language import grammar, required_fields, tree, tree_text
from shared.search.query.language.tree import Node
from shared.search.query.list_by_time import LISTING_MODULE, Sort
from shared.search.query.ordering import SHIPPED, Ordering
from shared.search.query.plan_parts import PlanDetail, PlanRecord, PlanTime, PlanWords
from shared.search.query.result_detail import ANSWER, WHOLE, Amount, Synthesis
from shared.search.query.sub_queries import FLAT, FanOut
from shared.search.query.times import resolve_times
from shared.search.query.wanted_answer import EVERY_ANSWER, AnswerLimits, Wanted
from shared.text.facility.facility import PLAIN, Facility
from shared.times.calendar import NO_CLOCK, Clock
from shared.vocabulary.expand import ALIKE

MIN_WINDOW = 50


# Questions, orders and comparisons are searched part by part; a list of words is not.
_TAKEN_APART = frozenset(("multi_question", "sequential", "comparison"))


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search as it was asked, aliases resolved and texts admitted."""

    query: str
    mode: str = "auto"
    # None: the limit of the settings.
    limit: int | None = None
    filters: Mapping[str, object] | None = None
    deadline_ms: int | None = None
    fault: Fault | None = None
    # Fields of `Ordering` that this request sets itself.
    ordering: Mapping[str, object] = field(default_factory=dict)
    # The page that asks, what was done there last, and the search it continues.
    ambient: Mapping[str, Any] = field(default_factory=dict)
    session_id: str | None = None
    # How alike a word must be to replace one that no entry has; None: by the settings.
    fuzzy_threshold: float | None = None
    debug: bool = False
    sort: Sort = "relevance"
    # Fields by which all matches are counted.
    facets: Sequence[str] = ()
    # Whether all matches by words are found and counted, without window or fallback.
    exhaustive: bool = False
    # The search modules that are asked; None: the mode's.
    modules: Sequence[str] | None = None
    # Whether a thread shows its best entry alone.
    by_thread: bool = False
    # For modules of other packages, by name.
    parameters: Mapping[str, object] = field(default_factory=dict)
    # Whether it asks for the default by name: `rerank: true`.
    asks_rerank: bool = False
    # How much the answer tells of its results.
    amount: Amount = WHOLE
    # How an answer in sentences is to look; and whether there is one, None: by mode.
    synthesis: Synthesis = ANSWER
    synthesize: Wanted = None
    any_word: bool = False  # one word is enough, though no other branch searches
    read_by_model: bool = False  # by an installed model, though one branch finds all
    request: Mapping[str, object] | None = None  # as the caller gave it
    # Whether hits of sub-queries are compared with the whole question, and the limit.
    validate: bool = True
    validation_threshold: float | None = None


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """The settings that bound a plan, and the modules and pipelines that it may use."""

    opensearch: bool = True
    enabled: frozenset[str] = frozenset({"keyword", "semantic", *modes.EVIDENCE})
    # Search modules of other packages that are switched on.
    outside: frozenset[str] = frozenset()
    # Pipelines that are switched on, each a mode of its own name.
    pipelines: tuple[modes.Mode, ...] = ()
    max_query_chars: int = 1000
    max_query_chars_hard: int = 10_000
    max_window: int = 500
    default_limit: int = 10
    max_limit: int = 100
    max_filter_values: int = 100
    max_terms: int = 64
    any_word: bool = False
    rrf_k: int = 60
    ordering: Ordering = SHIPPED
    facet_max_matches: int = facet_request.MAX_MATCHES
    facet_budget_ms: int = facet_request.BUDGET_MS
    acl_honesty: bool = False
    fuzzy_threshold: float | None = ALIKE
    answers: AnswerLimits = EVERY_ANSWER
    validation_threshold: float = sub_queries.VALIDATION_THRESHOLD
    fanout_cap: int = sub_queries.FANOUT_CAP


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a worker needs to know of a search."""

    query: str
    asked: str
    method: str
    reasoning: str
    # Names of search modules, one branch each; none when there is nothing to ask.
    branches: tuple[str, ...]
    limit: int
    window: int
    filters: Filters
    scope: Scope
    deadline_ms: int
    rrf_k: int = 60
    ordering: Ordering = SHIPPED
    time: PlanTime = plan_parts.NO_TIME
    words: PlanWords = plan_parts.AS_SHIPPED
    detail: PlanDetail = plan_parts.HITS_ALONE
    record: PlanRecord = plan_parts.UNRECORDED
    fault: Fault | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    # The question as it was understood, but for the fields that became filters.
    tree: Node | None = None
    intent: Intent = "lookup"
    # The end that a listing begins with.
    sort: Sort = "relevance"
    # Whether the hits are all that match as it is asked, and are counted.
    exhaustive: bool = False
    # Parameters for modules of other packages, checked against their descriptors.
    parameters: Mapping[str, float | str | bool | None] = field(default_factory=dict)
    # Whether words are searched in Postgres because OpenSearch is switched off.
    without_opensearch: bool = False
    # Whether the end runs as the body of a chord: a model reasons in it.
    ends_in_chord: bool = False
    # The sub-queries, and which branch asks for which; none: all ask for the whole.
    fan_out: FanOut = FLAT

    def of_branch(self, number: int) -> Self:
        """Return the plan that one branch carries out: the whole, or a sub-query's."""
        is_part = number < len(self.fan_out.asks)
        return self.of_part(self.part_of(number)) if is_part else self

    def part_of(self, number: int) -> int:
        """Return the number of the sub-query that a branch asks for."""
        asks = self.fan_out.asks
        return asks[number] if number < len(asks) else 0

    def of_part(self, number: int) -> Self:
        """Return the plan of one sub-query, as if it had been asked alone."""
        asked = self.fan_out.sub_queries[number]
        names = zip(self.branches, self.fan_out.asks, strict=False)
        branches = tuple(name for name, asks in names if asks == number)
        return replace(
            self, query=asked.query, tree=asked.tree, branches=branches, fan_out=FLAT
        )

    @property
    def sub_queries(self) -> tuple[str, ...]:
        """Return all that is searched for, the whole question first."""
        return tuple(one.query for one in self.fan_out.sub_queries) or (self.query,)

    @property
    def searching(self) -> tuple[str, ...]:
        """Return the branches that find hits."""
        return tuple(name for name in self.branches if name != FACETS)

    def instead_of(self, branch: str) -> str | None:
        """Return the module in whose place a branch searches from the start, if any."""
        first, second = branch_choice.KEYWORD_MODULES
        return first if self.without_opensearch and branch == second else None

    @property
    def is_listing(self) -> bool:
        """Whether the hits are all matches, sorted by time."""
        return LISTING_MODULE in self.branches

    @property
    def asks_for_words(self) -> bool:
        """Whether the question has words to find, not only filters and exclusions."""
        return tree_text.wants(self.tree)

    def to_json(self) -> str:
        """Return the plan as it travels and is stored: flat, for every release."""
        values = to_json_value(self)
        for part in ("time", "words", "detail", "record"):
            values |= to_json_value(values.pop(part))
        values["times"] = values.pop("written")
        values["tree"] = None if self.tree is None else tree.to_values(self.tree)
        values["elsewhen"] = self.time.elsewhen and self.time.elsewhen.to_values()
        values["fan_out"] = self.fan_out.to_values()
        values["scope"] = self.scope.to_values()
        return json.dumps(values, separators=(",", ":"), default=to_json_value)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a plan back."""
        return cls.from_values(json.loads(text))

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Read a plan that was parsed already."""
        # A plan of the release before has no tree.
        asked = values["tree"] if "tree" in values else _planned_before(values["query"])
        raw = {**values, "tree": None if asked is None else tree.from_values(asked)}
        return replace(
            read_fields(cls, raw),
            time=read_fields(PlanTime, {**raw, "written": raw.get("times", ())}),
            words=read_fields(PlanWords, raw),
            detail=read_fields(PlanDetail, raw),
            record=read_fields(PlanRecord, raw),
        )


def make_plan(
    question: SearchQuery,
    scope: Scope,
    limits: PlanLimits,
    clock: Clock = NO_CLOCK,
    facility: Facility = PLAIN,
) -> Plan:
    """Make the plan of a question, or refuse it; the same input gives the same plan."""
    composed = (*limits.pipelines, *filter(None, (limits.answers.rag,)))
    chosen = modes.choose(question.mode, limits.enabled, limits.outside, composed)
    if chosen.mode.name == modes.AGENT and scope.tenant in limits.answers.unmodelled:
        message = "No model searches for this facility (`tenants`)."
        raise ModuleNotEnabledError(message, module_name=modes.AGENT)
    text, diagnostics = _bounded(question.query, limits)
    given = question.filters or {}
    narrowed = filters.parse(given, max_values=limits.max_filter_values, clock=clock)
    parsed = grammar.parse(text, clock)
    lifted = required_fields.lift(intent.strip_request(parsed.tree), narrowed)
    timed = resolve_times.resolve_times(lifted, given, text, clock)
    asked = timed.tree
    first = chosen.mode
    is_exact = name_query.names_all(asked, facility)
    parts = sub_queries.take_apart(asked, text, facility)
    if is_exact and _is_open(question, chosen):
        chosen = modes.by_words(chosen)
    elif _is_open(question, chosen) and parts.strategy in _TAKEN_APART:
        chosen = modes.by_parts(chosen, limits.enabled)
    else:
        chosen = wanted_answer.choose_answering(
            chosen,
            question.synthesize,
            limits.answers,
            scope,
            is_question=intent.is_question(asked, text),
        )
    synthesis = wanted_answer.want_answer(
        question.synthesize,
        question.synthesis,
        limits.answers,
        chosen,
        scope,
        is_number=any(one.isdecimal() for one in name_query.numbers(asked)),
    )
    by_model = wanted_answer.is_by_model(synthesis, asked)
    # An agent's deadline covers all its turns and its answer.
    if by_model and chosen.mode.name != modes.AGENT:
        chosen = modes.with_time_for_a_model(chosen, limits.answers.model_ms)
        first = chosen.mode
    # The time that a request asks for is kept, whatever mode its words choose.
    deadline_ms = _deadline_ms(question.deadline_ms, first)
    if question.deadline_ms is None:
        deadline_ms = chosen.mode.deadline_ms
    limit = limits.default_limit if question.limit is None else question.limit
    if limit > limits.max_limit:
        message = f"limit: at most {limits.max_limit} results are returned."
        raise InvalidRequestError.field("limit", "less_than_equal", message)
    window = max(MIN_WINDOW, min(2 * limit, limits.max_window))
    branches = branch_choice.branches(
        chosen,
        limits.outside,
        question.modules,
        opensearch=limits.opensearch,
        pipelines=modes.list_branches(
            limits.pipelines, limits.enabled | limits.outside
        ),
    )
    plan = Plan(
        query=text,
        asked=chosen.asked,
        method=chosen.mode.name,
        reasoning=chosen.reasoning,
        branches=branches,
        limit=limit,
        window=window,
        filters=timed.filters,
        scope=scope,
        deadline_ms=deadline_ms,
        rrf_k=limits.rrf_k,
        ordering=replace(
            _ordering(question, limits, len(branches)), beside_day=timed.edges
        ),
        time=timed.time,
        words=PlanWords(
            limits.max_terms,
            _alike(question, limits),
            any_word=limits.any_word
            and (question.any_word or branch_choice.is_leg(chosen, branches)),
            by_field=any(name_query.is_named(one.filters) for one in lifted.fields),
        ),
        detail=PlanDetail(
            debug=question.debug,
            by_thread=question.by_thread,
            amount=question.amount,
            acl_honesty=limits.acl_honesty,
            synthesis=synthesis,
        ),
        fault=question.fault,
        diagnostics=(*diagnostics, *parsed.diagnostics),
        tree=asked,
        # A question of nothing but a time has no word left, and asks all the same.
        intent=intent.classify_intent(asked or lifted.tree, text, is_exact=is_exact),
        ends_in_chord=by_model or wanted_answer.reasons_itself(chosen.mode),
        without_opensearch=not limits.opensearch,
    )
    facet_request.check(question.facets)
    listing = list_by_time.plan_listing(plan, question, limits)
    if listing is None and chosen.mode.name == modes.AGENTIC:
        plan = _fanned_out(plan, question, limits, parts, clock)
    return _counted(listing or plan, question, limits, clock)


def _fanned_out(
    plan: Plan,
    question: SearchQuery,
    limits: PlanLimits,
    parts: Decomposition,
    clock: Clock,
) -> Plan:
    """Return the plan with each of its sub-queries asked of each of its modules."""
    fan_out, branches, notes = sub_queries.fan_out(
        plan.tree, parts, plan.branches, clock, limits.fanout_cap
    )
    threshold = question.validation_threshold
    if threshold is None:
        threshold = limits.validation_threshold
    return replace(
        plan,
        branches=branches,
        fan_out=replace(fan_out, threshold=threshold if question.validate else None),
        diagnostics=(*plan.diagnostics, *notes),
        ends_in_chord=True,
    )


def _is_open(question: SearchQuery, chosen: modes.Chosen) -> bool:
    """Tell whether the mode is open and the request needs no hybrid search."""
    named = question.ordering.keys() & {"similarity_threshold", "by_model"}
    return modes.is_open(chosen) and question.modules is None and not named


def _counted(
    plan: Plan, question: SearchQuery, limits: PlanLimits, clock: Clock
) -> Plan:
    """Return the plan with a branch for its facets, if any are asked for."""
    if not question.facets or not plan.branches:
        return plan
    asked = Counting(
        tuple(question.facets),
        clock.zone,
        clock.day_starts.isoformat(),
        limits.facet_max_matches,
        limits.facet_budget_ms,
    )
    detail = replace(plan.detail, counting=asked)
    return replace(plan, branches=(*plan.branches, FACETS), detail=detail)


def _ordering(question: SearchQuery, limits: PlanLimits, branches: int) -> Ordering:
    asked, ours = dict(question.ordering), limits.ordering
    if asked.get("rerank") and not ours.rerank:
        message = "Reranking is switched off here (`reranking.enabled`)."
        raise ModuleNotEnabledError(message, module_name="rerank")
    if asked.get("by_model") and not ours.reads(asked.get("late")):
        message = "No such model is installed here (`reranking.model`)."
        raise ModuleNotEnabledError(message, module_name="rerank", available=ours.legal)
    # Without a wish, a model reads the hits where several branches search.
    by_model = ours.by_model and (branches > 1 or question.read_by_model)
    if asked.get("rerank") is False:
        by_model = False
    ordering = replace(ours, by_model=by_model)
    return replace(ordering, **asked)  # type: ignore[arg-type]


def _alike(question: SearchQuery, limits: PlanLimits) -> float | None:
    """Return how alike a word must be to replace a misspelt one; None: none does."""
    asked = question.fuzzy_threshold
    if asked is None:
        return limits.fuzzy_threshold
    if limits.fuzzy_threshold is None:
        message = "Misspelt words are not looked up here (`keyword.fuzzy`)."
        raise ModuleNotEnabledError(message, module_name="fuzzy_threshold")
    if question.exhaustive:
        message = "fuzzy_threshold: all that match is never widened to other words."
        raise InvalidRequestError.field("fuzzy_threshold", "not_exhaustive", message)
    return asked


def _planned_before(query: str) -> Mapping[str, Any] | None:
    parsed = grammar.parse(query).tree
    return None if parsed is None else tree.to_values(parsed)


def _bounded(query: str, limits: PlanLimits) -> tuple[str, tuple[Diagnostic, ...]]:
    if len(query) > limits.max_query_chars_hard:
        message = f"A query has at most {limits.max_query_chars_hard} characters."
        raise InvalidRequestError.field(
            "query", "query_too_long", message, top_code="query_too_long"
        )
    if len(query) <= limits.max_query_chars:
        return query, ()
    said = f"Only the first {limits.max_query_chars} characters are searched for."
    note = Diagnostic("warning", "query", "query_truncated", said, "query")
    return query[: limits.max_query_chars], (note,)


def _deadline_ms(asked: int | None, mode: modes.Mode) -> int:
    if asked is None:
        return mode.deadline_ms
    least, most = modes.MIN_DEADLINE_MS, mode.most_ms
    if not least <= asked <= most:
        message = f"{mode.name} takes {least} to {most} milliseconds."
        raise InvalidRequestError.field("deadline_ms", "range", message)
    return asked
