"""What the settings say of vectors: their least cosine, and how long they are."""

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from api.cli.doctor import checks
from shared.embedding.load_model import load_encoder
from shared.embedding.models import model_names
from shared.embedding.vectors import vector_tables, vectors
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.messaging.stage_names import embed_stage
from shared.postgres.pool import connection
from shared.search.retrieval.search_context import FLOOR, chosen_floor
from shared.settings.settings import Settings
from tests.support.fixtures.asking import ENCODER
from tests.support.fixtures.workers import MakeContext
from tests.support.stub_servers.embedding_server import Script, serving
from workers.runtime.context import Context
from workers.tasks.enhance import embed_entries

ENTRY = EntryDraft("api", "one", "klystron tripped")
MODEL = "here:tiny"


@pytest.fixture
def server() -> Iterator[Script]:
    with serving() as script:
        script.dimension = ENCODER.dimension
        yield script


@pytest.mark.requirement("S0-33")
@pytest.mark.parametrize(
    ("asked", "setting", "floor"),
    [
        pytest.param(0.5, 0.9, 0.5, id="the request"),
        pytest.param(None, 0.5, 0.5, id="a number of the settings"),
        pytest.param(None, "model", 0.3, id="the registry of the model"),
        pytest.param(None, None, 0.7, id="the constant of the code"),
    ],
)
def test_the_least_cosine_is_the_first_that_is_named_and_the_answer_says_which(
    asking, asked, setting, floor
):
    assert FLOOR == 0.7
    assert Settings().search_modules.semantic.settings.similarity_threshold == "model"
    asking.write(ENTRY)
    with connection(asking.pool) as conn:
        conn.execute("UPDATE embedding_model SET similarity_floor = 0.3")
    asking.context = replace(asking.context, similarity_threshold=chosen_floor(setting))
    ordering = {} if asked is None else {"similarity_threshold": asked}

    body = asking.ask("klystron tripped", mode="semantic", ordering=ordering)

    assert body["thresholds_applied"] == {"similarity_threshold": floor}
    assert body["total_results"] == 1


@pytest.fixture
def ctx(make_context: MakeContext, server: Script) -> Context:
    """A worker whose vectors are asked of the server."""
    return make_context(
        EMBEDDING_MODEL="nomic-embed-text",
        LOGCHORD_SEARCH_MODULES__SEMANTIC__PROVIDER="ollama",
        LOGCHORD_API__PROVIDERS__OLLAMA__BASE_URL=server.url,
    )


def due(conn: psycopg.Connection, stage: str) -> None:
    with conn.transaction():
        save_page(conn, "default", [ENTRY], stages=[stage], editor="test")


@pytest.mark.requirement("S1-48")
def test_each_profile_has_its_encoder_and_another_model_its_own_table(
    database, ctx, server, place
):
    server.dimension = 768
    older = model_names.choose_first_model(ctx.settings)
    assert older == "ollama:nomic-embed-text"
    with psycopg.connect(database, autocommit=True) as conn:
        due(conn, embed_stage(older))
        embed_entries(ctx, older)
        ours = load_encoder(model_names.choose_first_model(Settings()), place.cache)
        assert (model_names.choose_first_model(Settings()), ours.dimension) == (
            "bge-small-en-v1.5-int8",
            384,
        )
        with conn.transaction():
            vector_tables.ensure_table(conn, "test", ours.model, ours.dimension)
        hashing = load_encoder("hashing-384", place.cache)
        assert (hashing.encode(["beam"]) == hashing.encode(["beam"])).all()
        assert [
            (one.model, one.dimension) for one in vector_tables.list_models(conn)
        ] == [(older, 768), (ours.model, 384)]
        table = vector_tables.list_models(conn)[0].table_name
        assert vectors.count_embedded_entries(conn, table, "default") == 1


@pytest.mark.parametrize("does", ["answers", "503", "resets", "401"])
def test_doctor_asks_whoever_makes_the_vectors(ctx, server, does):
    server.does = does
    (said,) = [
        one for one in checks.of_backends(ctx.settings) if one.name == "embedding model"
    ]
    assert said.found.startswith("ollama:nomic-embed-text")
    assert said.state == ("ok" if does == "answers" else "failed")
    assert (said.remedy is None) == (does == "answers")
