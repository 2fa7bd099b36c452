"""What a search by meaning stands on: broken in turn, and each named by itself."""

from typing import Any

import psycopg
import pytest

from api.cli.doctor import checks, database_checks
from shared.embedding.models import model_names
from shared.embedding.vectors import vector_tables
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.messaging.celery_app import make_app
from shared.messaging.stage_names import embed_stage
from shared.settings.settings import Settings
from tests.support.fixtures.system import Factory, System
from tests.support.stub_servers.embedding_server import Script
from tests.support.waiting import until
from workers.runtime.context import Context, Resources
from workers.tasks.enhance import embed_entries

TEXTS = ("klystron tripped", "vacuum pump replaced")
# As `doctor` calls what /v1/status names `provider`, `pgvector` and `table`.
CALLED = {
    "embedding model": "provider",
    "extension vector": "pgvector",
    "vectors": "table",
}


@pytest.fixture
def system(make_system: Factory, server: Script) -> System:
    made = make_system(
        EMBEDDING_MODEL="nomic-embed-text",
        LOGCHORD_SEARCH_MODULES__SEMANTIC__PROVIDER="ollama",
        LOGCHORD_API__PROVIDERS__OLLAMA__BASE_URL=server.url,
    )
    made.bring_up("api")
    return made


def embed(settings: Settings, text: str) -> None:
    """Store an entry with its vector, as the worker of its stage does."""
    model = model_names.choose_first_model(settings)
    ctx = Context(Resources(settings, make_app(settings), "test"), {})
    with psycopg.connect(_address(settings)) as conn:
        draft = EntryDraft("api", text, text)
        save_page(conn, "default", [draft], stages=[embed_stage(model)], editor="test")
    embed_entries(ctx, model)
    ctx._resources.close()


def _address(settings: Settings) -> str:
    assert settings.database_url is not None
    return settings.database_url.get_secret_value()


def failed_checks(settings: Settings) -> set[str]:
    """Return which of its preconditions `doctor` says are not met."""
    found = [*checks.of_backends(settings), *database_checks.of_database(settings)]
    assert {one.name for one in found} >= CALLED.keys()
    return {CALLED[one.name] for one in found if one.name in CALLED and _failed(one)}


def _failed(check: checks.Check) -> bool:
    return check.state == "failed" and bool(check.remedy)


def told(system: System) -> dict[str, Any]:
    with system.client(system.key(scopes=("admin",))) as client:
        answer: dict[str, Any] = client.get("/v1/status").json()["semantic"]
    return answer


def failed_parts(said: dict[str, Any]) -> set[str]:
    return {name for name in CALLED.values() if not said[name]["ok"]}


@pytest.mark.requirement("S0-40")
def test_each_precondition_of_meaning_is_named_by_itself(system, server):
    settings = Settings.load(system.environment)
    for text in TEXTS:
        embed(settings, text)
    with psycopg.connect(system.database, autocommit=True) as conn:
        draft = EntryDraft("api", "later", "not embedded yet")
        with conn.transaction():
            save_page(conn, "default", [draft], stages=[], editor="test")
        said = told(system)
        assert failed_parts(said) == failed_checks(settings) == set()
        assert (said["entries"], said["embedded"], said["share"]) == (3, 2, 0.67)
        assert said["table"]["model"] == model_names.choose_first_model(settings)
        shown = [
            one.found
            for one in database_checks.of_database(settings)
            if one.name == "vectors"
        ]
        assert shown == [
            f"{model_names.choose_first_model(settings)}: 2 of 3 entries (67%)"
        ]

        # Nobody searches the one that everything is embedded anew for.
        vector_tables.ensure_table(conn, "test", "next", 8)
        assert failed_parts(told(system)) == failed_checks(settings) == set()
        conn.execute("DELETE FROM embedding_model WHERE model = 'next'")

        server.does = "503"
        # What a provider said is kept for a moment: each question to one may cost.
        until(lambda: failed_parts(told(system)) == {"provider"}, within_seconds=10)
        assert failed_checks(settings) == {"provider"}
        server.does = "answers"
        until(lambda: failed_parts(told(system)) == set(), within_seconds=10)

        (model,) = vector_tables.list_models(conn)
        conn.execute(f"TRUNCATE {model.table_name}")
        said = told(system)
        assert failed_parts(said) == failed_checks(settings) == {"table"}
        assert said["share"] == 0

        embed(settings, "a cavity")
        assert failed_parts(told(system)) == failed_checks(settings) == set()
        conn.execute("DROP EXTENSION vector CASCADE")
        assert failed_parts(told(system)) == failed_checks(settings) == {"pgvector"}


def test_a_status_stands_where_vectors_cannot_be_counted_in_time(system):
    settings = Settings.load(system.environment)
    embed(settings, "klystron tripped")
    with (
        psycopg.connect(system.database) as conn,
        system.client(system.key(scopes=("admin",))) as client,
    ):
        (model,) = vector_tables.list_models(conn)
        # Nobody reads a vector until the end of this transaction.
        conn.execute(f"LOCK TABLE {model.table_name}")
        answer = client.get("/v1/status")
        conn.rollback()
        # Nor does the next one try in vain: what took long serves for a while.
        again = client.get("/v1/status").json()
    assert answer.status_code == 200
    for body in (answer.json(), again):
        said = body["semantic"]
        assert (said["share"], said["entries"], said["embedded"]) == (None, None, None)
        assert said["table"] == {"ok": True, "model": model.model}
        assert body["entries"] == body["index"]["entries"] == 1
