"""What plans depend on beside their questions, as the settings and files say it."""

import hashlib
import json
from collections.abc import Iterable, Mapping

from shared.embedding import load_model
from shared.language_models.chosen_model import has_model
from shared.search.pipelines import installed_pipelines as pipelines
from shared.search.query import modes
from shared.search.query.calendar_settings import make_calendar
from shared.search.query.modes import make_rag_mode
from shared.search.query.ordering import Ordering
from shared.search.query.plan import PlanLimits
from shared.search.query.wanted_answer import AnswerLimits
from shared.settings.plugin_sections import BUILT_IN
from shared.settings.settings import Settings
from shared.text.analysis.analyser import version_of
from shared.text.facility import facility
from shared.text.facility.facility import Facility
from shared.times.calendar import Clock

_HASH_CHARACTERS = 16


def config_hash(
    settings: Settings, own: Facility, scale: Mapping[str, float] | None = None
) -> str:
    """Return a digest of all that an order depends on beside its question.

    `scale`: what the raw scores of words were measured to be worth, if they were.
    """
    parts = (
        *("search", "search_modules", "keyword", "fusion", "reranking"),
        *("unified_search", "agentic"),
    )
    values = {name: getattr(settings, name).model_dump(mode="json") for name in parts}
    # As long as there are none, their answers and cursors stay what they were.
    if settings.pipelines.plugins:
        values["pipelines"] = settings.pipelines.model_dump(mode="json")
    values["limits"] = [settings.rrf_k, settings.max_window, settings.max_query_terms]
    values["analyser"] = [version_of(own), own.whole_fingerprint]
    if scale:
        values["scale"] = dict(scale)
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARACTERS]


def limits_of(settings: Settings) -> PlanLimits:
    """Return the limits of plans, from the settings."""
    families = {
        name: getattr(settings.search_modules, name) for name in sorted(BUILT_IN)
    }
    url = settings.opensearch_url
    return PlanLimits(
        opensearch=url is not None and url.get_secret_value() != "off",
        enabled=frozenset(name for name, one in families.items() if one.enabled),
        outside=frozenset(
            name for name, one in settings.search_modules.plugins.items() if one.enabled
        ),
        pipelines=(*pipelines.modes_of(settings), *_agent_modes(settings)),
        max_query_chars=settings.max_query_chars,
        max_query_chars_hard=settings.max_query_chars_hard,
        max_window=settings.max_window,
        default_limit=settings.default_limit,
        max_limit=settings.max_limit,
        max_filter_values=settings.max_filter_values,
        max_terms=settings.max_query_terms,
        any_word=settings.keyword.operator == "or",
        rrf_k=settings.rrf_k,
        ordering=ordering_of(settings),
        facet_max_matches=settings.facet_max_matches,
        acl_honesty=settings.search.acl_honesty,
        fuzzy_threshold=(
            settings.keyword.fuzzy_threshold if settings.keyword.fuzzy else None
        ),
        validation_threshold=settings.agentic.validation_threshold,
        fanout_cap=settings.fanout_cap,
        answers=answers_of(settings),
    )


def answers_of(settings: Settings) -> AnswerLimits:
    """Return which answers there are, and who words them."""
    given = settings.pipelines.rag
    families = tuple(dict.fromkeys(given.retrieval_modules))
    model_ms = int(settings.synthesis.timeout_seconds * 1000)
    rag = make_rag_mode(families, model_ms, has_model=has_model(settings, "rag"))
    tenants = settings.tenants.items()
    return AnswerLimits(
        enabled=settings.synthesis.enabled,
        rag=rag if given.enabled else None,
        has_writer=has_model(settings, "synthesis"),
        model_ms=model_ms,
        unmodelled=frozenset(n for n, one in tenants if not one.synthesis_enabled),
    )


def _agent_modes(settings: Settings) -> tuple[modes.Mode, ...]:
    """Return the agent mode if it is on."""
    agent = settings.pipelines.agent
    families = _switched_on(settings, agent.retrieval_modules)
    is_on = agent.enabled and settings.synthesis.enabled and families
    if not is_on or not has_model(settings, "agent"):
        return ()
    deadline_ms = int(settings.reasoning.total_timeout_seconds * 1000)
    return (modes.make_agent_mode(families, deadline_ms),)


def _switched_on(settings: Settings, names: Iterable[str]) -> tuple[str, ...]:
    """Return the modules and pipelines of a list that are on, in its order."""
    modules, composed = settings.search_modules, settings.pipelines
    known = {name: getattr(modules, name) for name in BUILT_IN}
    known |= modules.plugins | composed.plugins
    off = {name for name, one in known.items() if not one.enabled}
    return tuple(one for one in dict.fromkeys(names) if one not in off)


def calendar_of(settings: Settings) -> Clock:
    """Return the facility's calendar, without the present time."""
    return make_calendar(settings, facility_of(settings))


def facility_of(settings: Settings) -> Facility:
    """Return the facility's own words, as its file says them."""
    return facility.load(settings.analyser.facility_file, settings.facility_timezone)


def ordering_of(settings: Settings) -> Ordering:
    """Return the ordering of hits that holds if a request names none."""
    search, unified = settings.search, settings.unified_search
    gravity = unified.gravity_boost
    reranking = settings.reranking
    is_named = load_model.is_named(reranking.model, settings.api.providers)
    return Ordering(
        rerank=reranking.enabled,
        feedback=reranking.feedback,
        by_model=reranking.enabled and is_named,
        late=reranking.model == load_model.LATE,
        model_window=reranking.window,
        model_timeout_ms=reranking.timeout_ms,
        temperature=reranking.temperature,
        least_by_model=search.min_relevance_score,
        branch_weights=settings.fusion.weights,
        weigh_by_best=settings.fusion.weigh_by_best,
        domain_weights={str(k): w for k, w in unified.base_domain_weights.items()},
        domain_factor=unified.weighting.domain,
        intent_factor=unified.weighting.intent,
        role_factor=unified.weighting.role,
        role_domains={
            role: [str(kind) for kind in kinds]
            for role, kinds in unified.role_domains.items()
        },
        machine_factor=unified.weighting.machine,
        entity_factor=unified.weighting.entity,
        half_lives={str(k): d for k, d in unified.freshness.half_life_days.items()},
        gravity_factor=gravity.max_factor if gravity.enabled else 1.0,
        scope_factor=unified.weighting.scope,
        overflow_band=unified.overflow.band,
        overflow_lead=unified.overflow.clear_lead,
        session_factor=unified.weighting.session,
        source_share=search.source_share,
        high=search.confidence_high,
        medium=search.confidence_medium,
        low=search.confidence_low,
    )
