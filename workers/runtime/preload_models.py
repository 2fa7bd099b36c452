"""The models that a process has loaded, before anybody has to wait for one."""

import threading

from psycopg import Connection

from shared.embedding import load_model
from shared.embedding.vectors import live_models, vector_tables
from shared.log import get_logger
from workers.runtime.context import Context, Resources
from workers.runtime.task import attempt

log = get_logger()

# A model that takes longer for one text reads no page in time.
_READ_SECONDS = 10.0


class Warm:
    """Loads what the registry wants warm, aside from all work."""

    def __init__(self, resources: Resources) -> None:
        self._ctx = Context(resources, {})
        self._loaded: set[str] = set()
        self._loading: threading.Thread | None = None

    def begin(self) -> None:
        """Load the live model; with Postgres away, the one that settings name."""
        settings = self._ctx.settings
        self._load(
            [live_models.find_model_name(settings, settings.require_database_url())]
        )

    def begin_reranking(self) -> None:
        """Load the model that reads hits, if one is named; an endpoint's is there.

        The first search after a start has no time to spare for that.
        """
        reranking = self._ctx.settings.reranking
        model = reranking.model
        is_ours = model == load_model.LATE or load_model.is_folder(model)
        if reranking.enabled and is_ours:
            error = attempt(
                lambda: self._ctx.cross_encoder.logits("warm", ["warm"], _READ_SECONDS)
            )
            if error is not None:
                log.warning("cross_encoder_not_loaded", code=error.error_code)

    def look(self, conn: Connection) -> list[str]:
        """Return the loaded models, and begin to load those wanted besides."""
        wanted = [one.model for one in vector_tables.list_models(conn) if one.warm]
        missing = [one for one in wanted if one not in self._loaded]
        if missing and (self._loading is None or not self._loading.is_alive()):
            self._loading = threading.Thread(
                target=self._load, args=(missing,), name="warm", daemon=True
            )
            self._loading.start()
        return sorted(self._loaded)

    def _load(self, models: list[str]) -> None:
        for model in models:
            error = attempt(self._prove, model)
            if error is None:
                self._loaded.add(model)
            else:
                log.warning(
                    "model_not_loaded",
                    model=model,
                    code=error.error_code,
                    reason=error.message,
                )

    def _prove(self, model: str) -> None:
        self._ctx.encoder(model).encode(["warm"])
