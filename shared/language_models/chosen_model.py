"""Which language model answers where, as the settings name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from shared.language_models.provider import WELL_KNOWN
from shared.settings.sections import ProviderSettings

if TYPE_CHECKING:
    from shared.language_models.chat_client import ChatClient
    from shared.settings.settings import Settings

# `synthesis` words answers over the results of any other search.
Purpose = Literal["rag", "agent", "synthesis"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
_OPENAI = "openai"


class ChosenModel(NamedTuple):
    """A provider, its model, and how it is to speak."""

    provider: str
    model: str
    temperature: float
    max_tokens: int

    @property
    def name(self) -> str:
        """Return the model's full name, with its provider."""
        return f"{self.provider}:{self.model}"


class _ModelSection(NamedTuple):
    """The model settings in one section; None where it has none."""

    provider: str | None = None
    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None


def choose_model(settings: Settings, purpose: Purpose) -> ChosenModel | None:
    """Return the model of a purpose; None: none is configured.

    Whoever names a provider names its model with it; `OPENAI_API_KEY` alone is enough.
    """
    own, *others = _sections(settings, purpose)
    found = next((one for one in (own, *others) if one.provider), None)
    if found is None or found.provider is None:
        return None
    synthesis = settings.synthesis
    # A pipeline may have a model, or a temper, of its own at the provider of all.
    heats = (own.temperature, found.temperature, synthesis.temperature)
    return ChosenModel(
        found.provider,
        own.model or found.model or synthesis.model,
        next(one for one in heats if one is not None),
        own.max_tokens or synthesis.max_tokens,
    )


def _sections(settings: Settings, purpose: Purpose) -> list[_ModelSection]:
    """Return the sections that name a model for a purpose, the nearest first."""
    reasoning, synthesis = settings.reasoning, settings.synthesis
    openai = _OPENAI if _is_openai_for_answers(settings) else None
    of_all = _ModelSection(
        reasoning.provider, reasoning.model_id, reasoning.temperature
    )
    of_answers = _ModelSection(
        synthesis.provider or openai, synthesis.model, synthesis.temperature
    )
    if purpose == "rag":
        rag = settings.pipelines.rag
        own = _ModelSection(rag.provider, rag.model, rag.temperature, rag.max_tokens)
    elif purpose == "agent":
        agent = settings.pipelines.agent
        heat = reasoning.temperature
        own = _ModelSection(agent.provider, agent.model, heat, agent.max_tokens)
    else:
        own = of_answers if synthesis.provider else _ModelSection()
    return [own, of_all, of_answers]


def _is_openai_for_answers(settings: Settings) -> bool:
    """Tell whether the key of OpenAI is there for answers, though none names it.

    A key for vectors or reranking sends no sentences of entries to a language model.
    """
    named = (
        settings.search_modules.semantic.provider,
        settings.embedding_model,
        settings.reranking.model,
    )
    is_for_others = any(one and one.partition(":")[0] == _OPENAI for one in named)
    return _OPENAI in settings.api.providers and not is_for_others


def has_model(settings: Settings, purpose: Purpose) -> bool:
    """Tell whether a model is configured whose provider has an address."""
    chosen = choose_model(settings, purpose)
    if chosen is None:
        return False
    given = settings.api.providers.get(chosen.provider)
    return chosen.provider in WELL_KNOWN or bool(given and given.base_url)


def find_excluded_logbooks(settings: Settings, chosen: ChosenModel) -> frozenset[str]:
    """Return the logbooks of which no text may be sent to a model's provider."""
    given = settings.api.providers.get(chosen.provider)
    return frozenset(given.excluded_logbooks if given else ())


def make_client(settings: Settings, chosen: ChosenModel) -> ChatClient:
    """Return the client of a model; one without an address is `ConfigurationError`."""
    # Most processes speak to no model: only who does loads what that takes.
    from shared.language_models.chat_client import ChatClient

    given = settings.api.providers.get(chosen.provider) or ProviderSettings()
    return ChatClient(chosen.provider, given, chosen.model)
