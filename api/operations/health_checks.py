"""The questions that the health probes ask, each of a real backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shared import migrations
from shared.embedding.load_model import load_encoder
from shared.embedding.models import model_folder
from shared.embedding.models.model_names import BUILT_IN
from shared.embedding.vectors import live_models
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
    """Return a probe of the encoder's server, which may cost: health leaves it out."""
    return _ProbeConnections(settings, database_url).provider


class _ProbeConnections:
    """Connections of the probes' own: a full pool does not make Postgres unwell."""

    def __init__(self, settings: Settings, database_url: str) -> None:
        self._database_url = database_url
        self._jobs = redis_clients.jobs_redis(
            settings, timeout_seconds=_TIMEOUT_SECONDS
        )
        self._opensearch = opensearch.make_client(settings)
        self._settings = settings

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
        self._look_for(self._find_model())

    def provider(self) -> None:
        model, settings = self._find_model(), self._settings
        if model.partition(":")[0] not in settings.api.providers:
            self._look_for(model)
            return
        encoder = load_encoder(model, settings.cache, settings.api.providers)
        # How long its vectors are, only it can tell.
        _ = encoder.within(_TIMEOUT_SECONDS).dimension

    def _find_model(self) -> str:
        return live_models.find_model_name(self._settings, self._database_url)

    def _look_for(self, model: str) -> None:
        folder = model_folder.folder_of(self._settings.cache, model)
        if model in BUILT_IN and not model_folder.is_whole(folder):
            raise EmbeddingGenerationError(technical=f"there is no whole {folder} yet")

    def _connect(self) -> Connection[TupleRow]:
        return connect(
            self._database_url,
            application="probe",
            options=f"-c statement_timeout={_TIMEOUT_SECONDS * 1000}",
        )
