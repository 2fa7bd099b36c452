"""What is set for search modules and pipelines, built in and plugged in."""

from collections.abc import Iterator
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from shared import plugins as registry
from shared import suggest
from shared.errors import ConfigurationError
from shared.settings.sections import Section


class SemanticSettings(Section):
    """Settings of the semantic search module."""

    similarity_threshold: float | Literal["model"] | None = "model"
    """Cosine floor; `model` takes the encoder's own, `null` 0.7."""
    embedding_dimension: int | None = Field(None, ge=1)
    """The length of its vectors; with another one nothing is embedded, and searches
    warn."""


class ModuleSettings(Section):
    """One search module."""

    enabled: bool = Field(default=True, description="Off: its use answers 422.")


class SemanticModuleSettings(ModuleSettings):
    """The semantic search module."""

    provider: str | None = None
    """Under `api.providers`, who embeds; none is the built-in encoder."""
    settings: SemanticSettings = SemanticSettings()


class PluginSettings(Section):
    """A search module that another package brings."""

    enabled: bool = Field(default=False, description="Off until asked for.")


class PluginPipelineSettings(PluginSettings):
    """A pipeline that another package brings."""

    retrieval_modules: tuple[str, ...] = ()
    """The modules it searches."""


class PluginSection(Section):
    """A section that also holds a section for each installed plug-in."""

    model_config = ConfigDict(frozen=True, extra="allow")
    plugin_group: ClassVar[str]
    plugin_settings: ClassVar[type[PluginSettings]]


class SearchModulesSettings(PluginSection):
    """The search modules, built in and plugged in."""

    __pydantic_extra__: dict[str, PluginSettings]
    plugin_group = registry.SEARCH_MODULES
    plugin_settings = PluginSettings

    keyword: ModuleSettings = ModuleSettings()
    semantic: SemanticModuleSettings = SemanticModuleSettings()
    procedure: ModuleSettings = ModuleSettings()
    tag: ModuleSettings = ModuleSettings()
    graph: ModuleSettings = ModuleSettings()
    attachment_name: ModuleSettings = ModuleSettings()

    @property
    def plugins(self) -> dict[str, PluginSettings]:
        """Return the sections of plug-ins in the file, by name."""
        return dict(self.__pydantic_extra__ or {})


# What a pipeline may always search; of other packages' modules those installed.
BUILT_IN = frozenset(SearchModulesSettings.model_fields)


class PipelineSettings(Section):
    """One pipeline."""

    enabled: bool = Field(default=True, description="Off: its mode answers 422.")
    retrieval_modules: tuple[str, ...] = ("keyword", "semantic")
    """The modules it searches."""


class ModelPipelineSettings(PipelineSettings):
    """A pipeline in which a language model has a part, and which model."""

    provider: str | None = None
    """Name under `api.providers`; none: that of `reasoning`."""
    model: str | None = None
    """The provider's name of the model; none: as above."""
    max_tokens: int | None = Field(None, ge=1)
    """Length of what it says at once; none: `synthesis`'s."""


class RAGSettings(ModelPipelineSettings):
    """The pipeline that has a model answer from what was retrieved."""

    temperature: float | None = Field(None, ge=0, le=2)
    """Of the model's words; none: as above."""
    prompt: str | None = None
    """What the model is told to do, in place of our own words."""
    max_context_chars: int = Field(12_000, ge=200, le=200_000)
    """Length of what it reads, in all."""
    max_context_tokens: int | None = Field(None, ge=100)
    """The same in tokens, counted by `tokenizer`."""
    tokenizer: str | None = None
    """Path of the model's `tokenizer.json`."""
    max_chars_per_entry: int = Field(2000, ge=100, le=100_000)
    """Length of what it reads of one entry."""

    @model_validator(mode="after")
    def _can_count(self) -> Self:
        if self.max_context_tokens is not None and self.tokenizer is None:
            raise ValueError("max_context_tokens needs a tokenizer")
        return self


class PipelinesSettings(PluginSection):
    """The pipelines, built in and plugged in."""

    __pydantic_extra__: dict[str, PluginPipelineSettings]
    plugin_group = registry.PIPELINES
    plugin_settings = PluginPipelineSettings

    rag: RAGSettings = RAGSettings()
    agent: ModelPipelineSettings = ModelPipelineSettings()

    @property
    def plugins(self) -> dict[str, PluginPipelineSettings]:
        """Return the sections of plug-ins in the file, by name."""
        return dict(self.__pydantic_extra__ or {})

    def check(self) -> None:
        """Refuse what names no search module, or nothing to search where it is on."""
        wrong = next(self._flaws(), None)
        if wrong:
            key, why = wrong
            raise ConfigurationError(f"pipelines.{key} {why}", config_key=key)

    def _flaws(self) -> Iterator[tuple[str, str]]:
        named: dict[str, PipelineSettings | PluginPipelineSettings]
        named = {"rag": self.rag, "agent": self.agent, **self.plugins}
        searched = {
            module for one in named.values() for module in one.retrieval_modules
        }
        others: set[str] = set()
        if self.plugins or not searched <= BUILT_IN:
            # What is installed takes a moment to read: nobody waits for it in vain.
            others = registry.of_others(registry.SEARCH_MODULES)
        known = BUILT_IN | others
        for name, one in named.items():
            for module in one.retrieval_modules:
                # Ours may ask a pipeline as they ask a module.
                if name in {"agent", "rag"} and module in self.plugins:
                    continue
                if module not in known:
                    hint = suggest.hint(module, known)
                    why = f"names {module[:50]}, which is no search module.{hint}"
                    yield f"{name}.retrieval_modules", why
            if one.enabled and not one.retrieval_modules:
                yield f"{name}.retrieval_modules", "names nothing to search."
        for name in sorted(others.intersection(self.plugins)):
            yield name, "has the name of a search module."
