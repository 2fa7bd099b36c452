"""The questions that the health probes ask, each of a real backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import psycopg
import redis

from shared import broker, migrations
from shared.embedding import stored
from shared.embedding.encoders import ALIASES
from shared.errors import (
    CapacityError,
    DatabaseQueryError,
    EmbeddingGenerationError,
)
from shared.opensearch import client as opensearch
from shared.postgres import as_logchord_error

if TYPE_CHECKING:
    from shared.settings import Settings

_TIMEOUT_SECONDS = 2


def questions(settings: Settings, database_url: str) -> dict[str, Callable[[], None]]:
    """Return each probe's question; it raises an error of ours, or it is well."""
    jobs = redis.Redis.from_url(
        broker.broker_url(settings),
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
    )

    def connect() -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            database_url,
            connect_timeout=_TIMEOUT_SECONDS,
            options=f"-c statement_timeout={_TIMEOUT_SECONDS * 1000}",
            application_name="logchord probe",
        )

    def postgres() -> None:
        try:
            with connect() as conn:
                conn.execute("SELECT 1")
        except psycopg.Error as exc:
            raise as_logchord_error(exc) from exc

    def migrated() -> None:
        try:
            with connect() as conn:
                todo = migrations.pending(conn)
        except psycopg.Error as exc:
            raise as_logchord_error(exc) from exc
        if todo:
            message = "Run `logchord migrate`: the schema is older than this release."
            raise DatabaseQueryError(message, code="schema_missing", retriable=False)

    def reach_broker() -> None:
        try:
            jobs.ping()
        except redis.RedisError as exc:
            raise CapacityError(code="broker_unavailable", technical=str(exc)) from exc

    def reach_opensearch() -> None:
        found = opensearch.make_client(settings)
        if found is not None:
            opensearch.ping(found)

    def embedding() -> None:
        name = ALIASES.get(settings.embedding_model, settings.embedding_model)
        folder = stored.folder_of(settings.cache, name)
        if stored.manifest_of(folder) is None and not name.startswith("hashing-"):
            raise EmbeddingGenerationError(technical="the model is not converted yet")

    return {
        "postgres": postgres,
        "broker": reach_broker,
        "opensearch": reach_opensearch,
        "embedding": embedding,
        "migrations": migrated,
    }
