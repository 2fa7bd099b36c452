"""Which models are in use now: asked of their rows, so that no restart is needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from shared.embedding.vectors import vector_tables
from shared.messaging.stage_names import EMBED_PREFIX, embed_stage
from shared.postgres.pool import connection
from shared.stages import entry_stages

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow

    from shared.embedding.vectors.vector_tables import EmbeddingModel
    from shared.postgres.pool import Pool
    from shared.settings.settings import Settings

KEPT_SECONDS = 1.0


def list_stages(conn: Connection[TupleRow], settings: Settings) -> tuple[str, ...]:
    """Return every stage as it is now, in the order in which an entry passes them."""
    used = [embed_stage(one.model) for one in vector_tables.list_active_models(conn)]
    found: list[str] = []
    for stage in entry_stages.list_configured_stages(settings):
        found += used if used and stage.startswith(EMBED_PREFIX) else [stage]
    return tuple(found)


class InUse:
    """The live model, asked for once a second: the one before it is still filled."""

    def __init__(self, pool: Pool, clock: Callable[[], float]) -> None:
        self._pool = pool
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[float, EmbeddingModel | None] | None = None

    def live(self) -> EmbeddingModel | None:
        """Return the model that searches read, with its table; None before the first.

        Whoever searches keeps to what this returned, for the vector and the table.
        """
        now = self._clock()
        known = self._still_known(now)
        if known is not None:
            return known[1]
        with connection(self._pool) as conn:
            found = vector_tables.find_live_model(conn)
        with self._lock:
            self._known = (now, found)
        return found

    def named(self, model: str) -> EmbeddingModel | None:
        """Return this model where it is known to be live; nobody is asked."""
        known = self._still_known(self._clock())
        live = None if known is None else known[1]
        return live if live is not None and live.model == model else None

    def _still_known(self, now: float) -> tuple[float, EmbeddingModel | None] | None:
        with self._lock:
            known = self._known
        return known if known is not None and now - known[0] < KEPT_SECONDS else None
