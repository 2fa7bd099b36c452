"""The context of a process that searches: made once, shared by its threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, LiteralString

from shared.access.cursors import Signer
from shared.embedding.models import model_names
from shared.embedding.models.encoder_contract import CrossEncoder, Encoder
from shared.embedding.vectors import not_embedded
from shared.embedding.vectors.exact_or_index import Sizes
from shared.embedding.vectors.live_models import InUse
from shared.errors import EmbeddingGenerationError, InternalError
from shared.kept_values import KeptValues
from shared.postgres.pool import Pool, connection
from shared.postgres.statement_deadline import timed_pipeline
from shared.search.retrieval.circuit import Circuit, Circuits
from shared.search.retrieval.query_vectors import PassageVectors, QueryVectors
from shared.search.retrieval.tenant_languages import WrittenIn
from shared.settings.settings import Settings
from shared.sources.known_sources import KnownSources, pushed_names
from shared.text.facility.facility import PLAIN, Facility
from shared.vocabulary.recent_words import Present
from shared.work import lag

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

# A new source has little that another one could hide in so short a time.
_KEPT_SECONDS = 10.0
_MOST_SOURCES = 100

# Takes a step for each source, not for each entry.
_SOURCES: LiteralString = """
    WITH RECURSIVE found (source) AS (
        (SELECT e.source
           FROM entry e
          WHERE e.tenant = %(tenant)s
          ORDER BY e.source
          LIMIT 1)
         UNION ALL
        SELECT n.source
          FROM found f
         CROSS JOIN LATERAL (
               SELECT e.source
                 FROM entry e
                WHERE e.tenant = %(tenant)s AND e.source > f.source
                ORDER BY e.source
                LIMIT 1) AS n)
    SELECT source
      FROM found
     LIMIT %(most)s"""


class TenantSources:
    """The names of sources by tenant, asked for every ten seconds at most."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._names: KeptValues[str, tuple[str, ...]] = KeptValues(clock, _KEPT_SECONDS)

    def list_sources(self, pool: Pool, tenant: str, budget_ms: int) -> tuple[str, ...]:
        """Return the first sources that a tenant's entries are of, by name."""

        def read() -> tuple[str, ...]:
            with timed_pipeline(pool, budget_ms) as conn:
                given = {"tenant": tenant, "most": _MOST_SOURCES}
                rows = conn.execute(_SOURCES, given, prepare=True).fetchall()
            return tuple(source for (source,) in rows)

        return self._names.get(tenant, read)


# The floor where the settings name none, not even the model's.
FLOOR = 0.7
# How long a watermark is reported before it is read again.
_WATERMARK_SECONDS = 1.0


def no_signer() -> Signer:
    """Refuse to sign a cursor: this process answers no pages."""
    raise InternalError(technical="this process signs no cursors")


def no_encoder(model: str) -> Encoder:
    """Refuse to make vectors: this process has no model."""
    raise EmbeddingGenerationError(technical=f"this process has no encoder of {model}")


def no_opensearch() -> OpenSearch | None:
    """Return no client: words are searched in Postgres."""
    return None


def _circuit() -> Circuit:
    return Circuit(time.monotonic)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchContext:
    """Everything with which modules search and the end of a search reads and signs."""

    pool: Pool
    # The facility by whose words texts are read.
    facility: Facility = PLAIN
    # Epoch seconds by the broker's clock.
    now: Callable[[], float] = time.time
    signer: Callable[[], Signer] = no_signer
    opensearch: Callable[[], OpenSearch | None] = no_opensearch
    index: str = "none"
    # None: the floor that the registry keeps for the model.
    similarity_threshold: float | None = None
    encoder: Callable[[str], Encoder] = no_encoder
    # None: no model reads hits in this process.
    cross_encoder: Callable[[], CrossEncoder] | None = None
    # The search modules that each pipeline of another package may ask, by its name.
    pipelines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # The languages of a model, by its name; none: all of them.
    speaks: Callable[[str], Sequence[str]] = lambda _: ()
    # The length of a model's vectors by the settings; None: they do not tell.
    told_dimension: Callable[[str], int | None] = lambda _: None
    # Remembers how many vectors a tenant has; None: they are counted each time.
    sizes: Sizes | None = None
    # Words that are known to exist; None: each word is looked up.
    present: Present | None = None
    # Remembers the languages of entries; None: they may be in any.
    written_in: WrittenIn | None = None
    tenant_sources: TenantSources = field(
        default_factory=lambda: TenantSources(time.monotonic)
    )
    # Knows the sources and which of them are behind; None: answers do not tell.
    sources: KnownSources | None = None
    query_vectors: QueryVectors = field(default_factory=QueryVectors)
    passage_vectors: PassageVectors = field(default_factory=PassageVectors)
    freshness: Freshness = field(default_factory=lambda: Freshness(time.monotonic))
    # Circuits for backends that keep failing: the encoder, the model that reads hits,
    # and modules of other packages by name.
    circuit: Circuit = field(default_factory=_circuit)
    rerank_circuit: Circuit = field(default_factory=_circuit)
    circuits: Circuits = field(default_factory=Circuits)
    # The models in use, by the registry.
    models: InUse = field(init=False)

    def __post_init__(self) -> None:
        """Watch the registry of models in the pool's database."""
        object.__setattr__(self, "models", InUse(self.pool, time.monotonic))

    def is_removed(self, source: str) -> bool:
        """Tell whether a source is known to be removed, so nothing updates it."""
        return self.sources is not None and self.sources.is_removed(source)


def make_search_context(
    settings: Settings,
    *,
    pool: Pool,
    now: Callable[[], float],
    signer: Callable[[], Signer],
    facility: Facility,
    opensearch: Callable[[], OpenSearch | None],
    encoder: Callable[[str], Encoder] = no_encoder,
    cross_encoder: Callable[[], CrossEncoder] | None = None,
) -> SearchContext:
    """Return the context of a process by its settings, with its caches still empty."""
    semantic = settings.search_modules.semantic.settings
    return SearchContext(
        pool=pool,
        facility=facility,
        now=now,
        signer=signer,
        opensearch=opensearch,
        index=settings.opensearch_index,
        similarity_threshold=chosen_floor(semantic.similarity_threshold),
        encoder=encoder,
        cross_encoder=cross_encoder,
        pipelines={
            name: one.retrieval_modules
            for name, one in settings.pipelines.plugins.items()
        },
        speaks=lambda model: not_embedded.spoken(model, settings),
        told_dimension=lambda model: model_names.told_dimension(model, settings),
        sizes=Sizes(time.monotonic),
        present=Present(time.monotonic),
        written_in=WrittenIn(),
        sources=KnownSources(pool, pushed_names(settings), time.monotonic),
    )


def chosen_floor(setting: float | Literal["model"] | None) -> float | None:
    """Return the floor that a setting names; None: the floor of the model in use."""
    if setting is None:
        return FLOOR
    return None if setting == "model" else setting


class Freshness:
    """Watermarks, asked for once a second: an older one is true, only less fresh."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._known: KeptValues[tuple[str, ...], datetime] = KeptValues(
            clock, _WATERMARK_SECONDS
        )

    def of(self, pool: Pool, *stages: str) -> datetime:
        """Return the time up to which all entries have passed these stages.

        It is read before searching, so that it is never later than the search.
        """

        def read() -> datetime:
            with connection(pool) as conn:
                return lag.find_watermark(conn, list(stages))

        return self._known.get(stages, read)
