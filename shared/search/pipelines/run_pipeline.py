"""A pipeline as one branch, which asks modules as it likes, or all of them.

Entries that the pipeline names are looked up like those of another package's module:
rights, filters and the question's exclusions are applied to them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from shared.errors import LogchordError, ModuleNotEnabledError
from shared.search.jobs.outcome import Candidate, Outcome
from shared.search.pipelines import installed_pipelines
from shared.search.pipelines.pipeline_contract import PipelineDescriptor
from shared.search.query import branch_choice
from shared.search.query.language import grammar
from shared.search.ranking.fusion import rrf_contrib
from shared.search.retrieval import module_contract
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.installed_modules import Installed
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.search_context import SearchContext
from shared.suggest import hint

# The share of the time that a module may not use: the pipeline decides in it, and the
# entries that it names are looked up.
KEPT_BACK_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Modules:
    """The search modules that a pipeline may ask, in the time that it has."""

    names: tuple[str, ...]
    branch: Branch
    context: SearchContext
    # The outcomes of each module, and of its fallback, when it was last asked.
    told: dict[str, list[Outcome]] = field(default_factory=dict)

    def find(self, module: str, query: str | None = None) -> tuple[Candidate, ...]:
        """Return the hits of a module for the question, or for another `query`.

        The caller's rights and filters hold. Raises where the module fails and its
        fallback too.
        """
        if module not in self.names:
            message = (
                f"The pipeline {self.branch.name} does not search {module[:50]!r}."
            )
            raise ModuleNotEnabledError(
                f"{message}{hint(module, self.names)}",
                module_name=module[:50],
                available=list(self.names),
            )
        plan = self.branch.plan
        name = branch_choice.engine(module, opensearch=not plan.without_opensearch)
        if query is not None:
            plan = replace(plan, query=query, tree=grammar.parse(query).tree)
        now = self.branch.now()
        left = (self.branch.ends_at - now) * (1 - KEPT_BACK_SHARE)
        asked = replace(self.branch, plan=plan, name=name, ends_at=now + left)
        outcomes = branch_run.carry_out(asked, self.context)
        self.told[module] = outcomes
        last = outcomes[-1]
        if last.unsearched:
            message = f"{last.name} was not carried out."
            raise LogchordError(message, code=last.error_code or "search_failed")
        return last.hits


def carry_out_branch(context: SearchContext, branch: Branch) -> list[Outcome]:
    """Carry out a branch of a search module or of a pipeline; return its outcomes."""
    names = context.pipelines.get(branch.name)
    if names is None:
        outcomes = branch_run.carry_out(branch, context)
    else:
        outcomes = _carry_out_pipeline(branch, context, names)
    return [replace(one, part=branch.part) for one in outcomes]


def _carry_out_pipeline(
    branch: Branch, context: SearchContext, names: Sequence[str]
) -> list[Outcome]:
    """Run a pipeline; return its modules' outcomes without hits, and its own last."""
    described = installed_pipelines.pipeline(branch.name)
    modules = Modules(tuple(names), branch, context)
    as_module = module_contract.SearchToolDescriptor(
        described.name,
        description=described.description,
        search_mode=described.name,
        execute=partial(_run, described, modules),
        unit=described.name,
    )
    found = Installed(as_module, described.parameters, is_ours=False)
    outcomes = branch_run.outcomes_of(found, branch, context)
    own = outcomes[-1]
    asked = [one for told in list(modules.told.values()) for one in told]
    # A pipeline that failed has no answer, so the outcomes of its modules are left out.
    heard = [one for one in asked if one.unsearched or not own.unsearched]
    return [*(replace(one, hits=(), vector=None) for one in heard), *outcomes]


def _run(
    described: PipelineDescriptor, modules: Modules, ask: Ask, context: SearchContext
) -> Any:
    if described.execute is None:
        return _rank_as_one(ask, modules)
    return described.execute(ask, context, modules)


def _rank_as_one(ask: Ask, modules: Modules) -> ModuleResult:
    """Rank the hits of all modules as one list; one that fails costs its own hits."""
    scores: defaultdict[str, float] = defaultdict(float)
    failed: list[LogchordError] = []
    for name in modules.names:
        try:
            hits = modules.find(name)
        except LogchordError as exc:
            failed.append(exc)
            continue
        for rank, hit in enumerate(hits, 1):
            scores[hit.entry_id] += rrf_contrib(rank, ask.plan.rrf_k)
    if len(failed) == len(modules.names):
        raise failed[-1]
    best = max(scores.values(), default=1.0)
    named = (
        module_contract.Named(UUID(one), score / best) for one, score in scores.items()
    )
    return ModuleResult(named=tuple(named))
