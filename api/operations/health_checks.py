"""The questions that the health probes ask, each of a real backend."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shared import migrations
from shared.embedding.load_model import load_encoder
from shared.embedding.models import model_folder
from shared.embedding.models.model_names import BUILT_IN
from shared.embedding.vectors import live_models
from shared.errors import DatabaseQueryError, EmbeddingGenerationError, OpenSearchError
from shared.messaging import broker_errors, redis_clients
from shared.opensearch import client as opensearch
from shared.postgres.pool import Connection, connect, translate_database_errors
from shared.settings.settings import Settings

_TIMEOUT_SECONDS = 2


class HealthChecks:
    """Each probe's question; it raises an error of ours, or it is well.

    Over connections of their own: a full pool does not make Postgres unwell.
    """

    def __init__(self, settings: Settings, database_url: str) -> None:
        self._database = SharedLogin(database_url)
        self._jobs = redis_clients.jobs_redis(
            settings, timeout_seconds=_TIMEOUT_SECONDS
        )
        self._opensearch = opensearch.make_client(settings)
        self._settings = settings

    def list_questions(self) -> dict[str, Callable[[], None]]:
        """Return the questions of health, to which none belongs that may cost."""
        return {
            "postgres": self.postgres,
            "broker": self.broker,
            "opensearch": self.opensearch,
            "embedding": self.embedding,
            "migrations": self.migrations,
        }

    def postgres(self) -> None:
        """Log in and ask for anything."""
        with self._database.lend() as conn:
            conn.execute("SELECT 1")

    def migrations(self) -> None:
        """Compare the schema with this release."""
        with self._database.lend() as conn:
            todo = migrations.list_pending(conn)
        if todo:
            message = "Run `logchord migrate`: the schema is older than this release."
            raise DatabaseQueryError(message, code="schema_missing", retriable=False)

    def broker(self) -> None:
        """Ask Redis for a sign of life."""
        with broker_errors.translate_broker_errors():
            self._jobs.ping()

    def opensearch(self) -> None:
        """Ask the engine who it is."""
        if self._opensearch is None:
            raise OpenSearchError(technical="switched off: OPENSEARCH_URL=off")
        with opensearch.translate_engine_errors():
            self._opensearch.info()

    def embedding(self) -> None:
        """Look for the files of the model that searches read."""
        self._look_for(self._find_model())

    def provider(self) -> None:
        """Ask the encoder's server for a vector, which may cost."""
        model, settings = self._find_model(), self._settings
        if model.partition(":")[0] not in settings.api.providers:
            self._look_for(model)
            return
        encoder = load_encoder(model, settings.cache, settings.api.providers)
        # How long its vectors are, only it can tell.
        _ = encoder.within(_TIMEOUT_SECONDS).dimension

    def _find_model(self) -> str:
        return live_models.read_model_name(self._settings, self._database.lend)

    def _look_for(self, model: str) -> None:
        folder = model_folder.folder_of(self._settings.cache, model)
        if model in BUILT_IN and not model_folder.is_whole(folder):
            raise EmbeddingGenerationError(technical=f"there is no whole {folder} yet")


class SharedLogin:
    """One login for all who ask Postgres at a time; it costs more than their questions.

    The last of them ends it: whoever comes later sees whether a new one is let in.
    """

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url
        self._opening, self._counting = threading.Lock(), threading.Lock()
        self._users = 0
        self._conn: Connection | None = None

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """Lend the connection, each statement a transaction of its own."""
        with self._counting:
            self._users += 1
        try:
            with self._opening:
                if self._conn is None or self._conn.closed:
                    self._conn = connect(
                        self._database_url,
                        application="probe",
                        autocommit=True,
                        options=f"-c statement_timeout={_TIMEOUT_SECONDS * 1000}",
                    )
            with translate_database_errors():
                yield self._conn
        finally:
            with self._counting:
                self._users -= 1
                if not self._users and self._conn is not None:
                    self._conn.close()
                    self._conn = None
