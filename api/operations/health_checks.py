"""The questions that the health probes ask, each of a real backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shared import migrations
from shared.embedding.models import model_folder, model_names
from shared.embedding.models.encoders import load_encoder
from shared.embedding.models.model_names import BUILT_IN
from shared.errors import (
    DatabaseQueryError,
    EmbeddingGenerationError,
    OpenSearchError,
)
from shared.messaging import broker_errors, redis_clients
from shared.opensearch import client as opensearch
from shared.postgres.pool import connect, translate_database_errors

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow

    from shared.settings.settings import Settings

_TIMEOUT_SECONDS = 2


def questions(settings: Settings, database_url: str) -> dict[str, Callable[[], None]]:
    """Return each probe's question; it raises an error of ours, or it is well."""
    asked = _ProbeConnections(settings, database_url)
    return {
        "postgres": asked.postgres,
        "broker": asked.broker,
        "opensearch": asked.opensearch,
        "embedding": asked.embedding,
        "migrations": asked.migrations,
    }


def of_provider(settings: Settings, database_url: str) -> Callable[[], None]:
    """Return what asks the encoder itself, which may cost: no health probe does."""
    return _ProbeConnections(settings, database_url).provider


class _ProbeConnections:
    """Connections of the probes' own: a full pool does not make Postgres unwell."""

    def __init__(self, settings: Settings, database_url: str) -> None:
        self._database_url = database_url
        self._jobs = redis_clients.jobs_redis(
            settings, timeout_seconds=_TIMEOUT_SECONDS
        )
        self._opensearch = opensearch.make_client(settings)
        self._model = model_names.choose_first_model(settings)
        self._cache = settings.cache
        self._providers = settings.api.providers

    def postgres(self) -> None:
        with translate_database_errors(), self._connect() as conn:
            conn.execute("SELECT 1")

    def migrations(self) -> None:
        with translate_database_errors(), self._connect() as conn:
            todo = migrations.list_pending(conn)
        if todo:
            message = "Run `logchord migrate`: the schema is older than this release."
            raise DatabaseQueryError(message, code="schema_missing", retriable=False)

    def broker(self) -> None:
        with broker_errors.translate_broker_errors():
            self._jobs.ping()

    def opensearch(self) -> None:
        if self._opensearch is None:
            raise OpenSearchError(technical="switched off: OPENSEARCH_URL=off")
        with opensearch.translate_engine_errors():
            self._opensearch.info()

    def embedding(self) -> None:
        folder = model_folder.folder_of(self._cache, self._model)
        if self._model in BUILT_IN and model_folder.manifest_of(folder) is None:
            raise EmbeddingGenerationError(technical="the model is not converted yet")

    def provider(self) -> None:
        if self._model.partition(":")[0] not in self._providers:
            self.embedding()
            return
        encoder = load_encoder(self._model, self._cache, self._providers)
        # How long its vectors are, only it can tell.
        _ = encoder.within(_TIMEOUT_SECONDS).dimension

    def _connect(self) -> Connection[TupleRow]:
        return connect(
            self._database_url,
            application="probe",
            options=f"-c statement_timeout={_TIMEOUT_SECONDS * 1000}",
        )
