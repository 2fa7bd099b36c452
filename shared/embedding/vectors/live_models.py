"""Which models are in use now: asked of their rows, so that no restart is needed."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple

from psycopg import Connection

from shared.embedding.models import model_names
from shared.embedding.models.model_names import SECOND
from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.errors import LogchordError
from shared.log import get_logger
from shared.messaging.stage_names import EMBED_PREFIX, embed_stage
from shared.postgres.pool import Pool, connect, connection, translate_database_errors
from shared.settings.settings import Settings
from shared.stages import entry_stages

log = get_logger()

KEPT_SECONDS = 1.0
_LOOK_MS = 2000


def list_stages(conn: Connection, settings: Settings) -> tuple[str, ...]:
    """Return every stage as it is now, in the order in which an entry passes them."""
    used = [embed_stage(one.model) for one in vector_tables.list_active_models(conn)]
    found: list[str] = []
    for stage in entry_stages.list_configured_stages(settings):
        found += used if used and stage.startswith(EMBED_PREFIX) else [stage]
    return tuple(found)


def find_model_name(settings: Settings, url: str | None) -> str:
    """Return the model that searches read; before the first, the one settings name.

    And that with Postgres away: an installation keeps the model that it began with.
    """
    if url is None:
        return model_names.choose_first_model(settings)
    options = f"-c statement_timeout={_LOOK_MS}"
    return read_model_name(
        settings, partial(connect, url, application="model", options=options)
    )


def read_model_name(
    settings: Settings, opened: Callable[[], AbstractContextManager[Connection]]
) -> str:
    """Return the model that searches read, asked over a connection opened for it."""
    first = model_names.choose_first_model(settings)
    try:
        with opened() as conn, translate_database_errors():
            live = vector_tables.find_live_model(conn)
    except LogchordError as exc:
        log.warning("live_model_not_known", code=exc.error_code)
        return first
    return first if live is None else live.model


class _Known(NamedTuple):
    """The models in use, and when they were read."""

    asked_at: float
    live: EmbeddingModel | None
    second: EmbeddingModel | None


class InUse:
    """The live model, asked for once a second: the one before it is still filled."""

    def __init__(self, pool: Pool, clock: Callable[[], float]) -> None:
        self._pool = pool
        self._clock = clock
        self._lock = threading.Lock()
        self._known: _Known | None = None

    def live(self) -> EmbeddingModel | None:
        """Return the model that searches read, with its table; None before the first.

        Whoever searches keeps to what this returned, for the vector and the table.
        """
        return self._look().live

    def find_second(self) -> EmbeddingModel | None:
        """Return the model for other languages, with its table; None: there is none."""
        return self._look().second

    def named(self, model: str) -> EmbeddingModel | None:
        """Return this model where it is known to be live; nobody is asked."""
        known = self._still_known(self._clock())
        live = None if known is None else known.live
        return live if live is not None and live.model == model else None

    def _look(self) -> _Known:
        now = self._clock()
        known = self._still_known(now)
        if known is None:
            with connection(self._pool) as conn:
                live = vector_tables.find_live_model(conn)
                second = vector_tables.find_model(conn, SECOND)
            serves = second is not None and second.active and not second.live
            known = _Known(now, live, second if serves else None)
            # That there is none is not kept: what waits for the first vectors, as a
            # saved search does, is not asked about them again.
            with self._lock:
                self._known = known if live is not None else None
        return known

    def _still_known(self, now: float) -> _Known | None:
        with self._lock:
            known = self._known
        if known is None or now - known.asked_at >= KEPT_SECONDS:
            return None
        return known
