"""What this installation can do: for pages, programs and people who look first."""

import re
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from api.context import Ctx, needs
from api.search.schemas.capabilities import Capabilities
from api.strict_route import described, strict_router
from shared.embedding.models.model_names import ALIASES
from shared.errors import ConfigurationError
from shared.search.jobs.outcome import FACETS
from shared.search.pipelines import installed_pipelines as pipelines
from shared.search.pipelines.pipeline_contract import PipelineDescriptor
from shared.search.pipelines.plan_settings import limits_of
from shared.search.query import modes
from shared.search.query.filters import filters
from shared.search.query.plan import PlanLimits
from shared.search.retrieval import installed_modules
from shared.search.retrieval.installed_modules import Installed
from shared.search.retrieval.search_parameters import ParameterDescriptor
from shared.settings.settings import Settings
from shared.version import VERSION

router = strict_router("/v1", "search", needs("search", counts_as="default"))

_LIMIT = re.compile(
    r"(max|rate|search_queue)_\w+|\w+_(hours|minutes)"
    r"|default_limit|facet_max_matches|fanout_cap"
)


@router.get("/capabilities")
@described("What can be asked here", Capabilities)
async def get_capabilities(ctx: Ctx) -> dict[str, Any]:
    """Modes with what they may be given, modules, filters, and the limits in force."""
    settings = ctx.settings
    limits = limits_of(settings)
    model = settings.embedding_model
    return {
        "modes": list_modes(limits),
        "default_mode": modes.AUTO,
        "shared_parameters": [asdict(one) for one in _shared(settings)],
        "modules": [
            _module(name, one, limits)
            for name, one in installed_modules.find_modules().items()
        ],
        "filters": sorted(filters.ALLOWED),
        "limits": _limits(settings),
        "encoder": ALIASES.get(model, model),
        "version": VERSION,
    }


def _limits(settings: Settings) -> dict[str, int]:
    """Return every limit in force by its setting, as the contract names it."""
    names = filter(_LIMIT.fullmatch, Settings.model_fields)
    return {
        **{name: getattr(settings, name) for name in names},
        "rerank_window": settings.reranking.window,
        "synthesis.quota_per_day": settings.synthesis.quota_per_day,
        "synthesis.quota_per_minute": settings.synthesis.quota_per_minute,
    }


def list_modes(limits: PlanLimits) -> list[dict[str, Any]]:
    """Return every mode and pipeline, and whether it can be asked in here."""
    composed = pipelines.find_pipelines().items()
    return [
        *(_mode(mode, limits) for mode in _modes(limits)),
        _agent(limits),
        *(_pipeline(name, one, limits) for name, one in composed),
    ]


def _mode(mode: modes.Mode, limits: PlanLimits) -> dict[str, Any]:
    known = installed_modules.list_modules().values()
    # The first module of a family stands for it; the others replace it.
    named = {one.descriptor.search_mode: one for one in reversed(list(known))}
    ours = (named[one] for one in mode.families if one in named)
    others = [one for one in mode.families if one not in named]
    own = [p for one in ours for p in one.parameters]
    own += pipelines.list_parameters(others, limits.pipelines)
    is_off = mode.name == modes.RAG and limits.answers.rag is None
    return _told(mode, own, enabled=not is_off and mode.is_on(_branches(limits)))


def _agent(limits: PlanLimits) -> dict[str, Any]:
    """Return the mode of agents: as it is, or as it would be with a model."""
    given = next((one for one in limits.pipelines if one.name == modes.AGENT), None)
    mode = given or modes.make_agent_mode((), modes.MOST_DEADLINE_MS)
    own = pipelines.list_parameters(mode.families, limits.pipelines)
    is_on = given is not None and given.is_on(_branches(limits))
    return _told(mode, own, enabled=is_on)


def _branches(limits: PlanLimits) -> frozenset[str]:
    """Return the modules and pipelines that may each be a branch of a search."""
    on = limits.enabled | limits.outside
    return on | modes.list_branches(limits.pipelines, on)


def _pipeline(
    name: str, one: PipelineDescriptor | ConfigurationError, limits: PlanLimits
) -> dict[str, Any]:
    """Return a pipeline as a mode: as it is switched on, or as it could be."""
    usable = isinstance(one, PipelineDescriptor)
    mode = next((m for m in limits.pipelines if m.name == name), None)
    on = limits.enabled | limits.outside
    enabled = usable and mode is not None and on.issuperset(mode.families)
    mode = mode or pipelines.mode_of(name, ())
    return _told(mode, pipelines.list_parameters((name,), (mode,)), enabled=enabled)


def _told(
    mode: modes.Mode, own: Iterable[ParameterDescriptor], *, enabled: bool
) -> dict[str, Any]:
    deadline = ParameterDescriptor(
        "deadline_ms",
        "Deadline",
        "int",
        default=mode.deadline_ms,
        min=modes.MIN_DEADLINE_MS,
        max=mode.most_ms,
        step=100,
        section="Time",
    )
    return {
        "name": mode.name,
        "label": mode.label,
        "description": mode.description,
        "category": mode.category,
        "enabled": enabled,
        "deadline_ms": mode.deadline_ms,
        "parameters": [asdict(one) for one in (deadline, *own)],
    }


def _modes(limits: PlanLimits) -> list[modes.Mode]:
    """Return `auto`, our modes, and one for each module of another package."""
    others = [
        one for one in installed_modules.list_modules().values() if not one.is_ours
    ]
    return [
        modes.AUTOMATIC,
        *modes.MODES.values(),
        limits.answers.rag or modes.make_rag_mode((), has_model=False),
        *(
            replace(modes.make_single_mode(one.name), description=one.description)
            for one in (other.descriptor for other in others)
        ),
    ]


def _module(
    name: str, one: Installed | ConfigurationError, limits: PlanLimits
) -> dict[str, Any]:
    if isinstance(one, ConfigurationError):
        named = {"name": name, "description": str(one), "search_mode": name}
        off = {"enabled": False, "needs_embedder": False, "fallback": None}
        return {**named, **off, "parameters": [], "arguments": {}}
    told = one.descriptor
    # Facets are counted by Postgres then.
    away = not limits.opensearch and told.engine == "opensearch" and name != FACETS
    on = limits.enabled if one.is_ours else limits.outside
    return {
        "name": name,
        "description": told.description,
        "search_mode": told.search_mode,
        "enabled": told.search_mode in {*on, FACETS} and not away,
        "needs_embedder": told.needs_embedder,
        "fallback": told.fallback,
        "parameters": [asdict(p) for p in one.parameters],
        "arguments": told.args_schema.model_json_schema(),
    }


def _shared(settings: Settings) -> list[ParameterDescriptor]:
    """Return the parameters that every mode takes."""
    return [
        ParameterDescriptor(
            "query",
            "Question",
            "text",
            default="",
            max=settings.max_query_chars_hard,
            placeholder="RF trip last night",
        ),
        ParameterDescriptor(
            "limit",
            "Results",
            "int",
            default=settings.default_limit,
            min=1,
            max=settings.max_limit,
            step=1,
        ),
    ]
