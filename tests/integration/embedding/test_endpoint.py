"""Vectors from a server of others: checked, and an outage is nobody's fault."""

import time

import numpy as np
import psycopg
import pytest
from pydantic import SecretStr

from shared.embedding.load_model import load_encoder
from shared.embedding.models import endpoint_models
from shared.embedding.models.endpoint_models import EndpointEncoder
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.vectors import vector_tables, vectors
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.errors import (
    Category,
    ConfigurationError,
    EmbeddingGenerationError,
    EmbeddingOutageError,
    Severity,
)
from shared.messaging.stage_names import embed_stage
from shared.settings.sections import ProviderSettings
from shared.work import stage_pauses
from tests.support.stub_servers.embedding_server import Script
from workers.runtime.task import is_outage
from workers.tasks.enhance import embed_entries

MODEL = "here:tiny"


@pytest.fixture
def encoder(server: Script, tmp_path) -> EndpointEncoder:
    given = ProviderSettings(
        base_url=server.url,
        api_key=SecretStr("sesame"),
        timeout_seconds=0.5,
        embedding_batch=2,
    )
    made = load_encoder(MODEL, tmp_path, {"here": given})
    assert isinstance(made, EndpointEncoder)
    return made


def test_vectors_come_in_the_order_of_their_texts_and_of_length_one(server, encoder):
    texts = [f"quench {number}" for number in range(5)]

    found = encoder.encode(texts)

    assert np.allclose(found, HashingEncoder(32).encode(texts), atol=1e-6)
    assert encoder.dimension == 32
    assert [len(one["input"]) for one in server.asked] == [2, 2, 1]
    assert {one["model"] for one in server.asked} == {"tiny"}
    assert set(server.keys) == {"Bearer sesame"}


@pytest.mark.parametrize(
    "does", ["429", "500", "503", "hangs", "resets", "a page", "too few", "one twice"]
)
@pytest.mark.requirement("B15", "S2-54")
def test_what_every_text_would_meet_is_an_outage_and_no_texts_fault(
    server, encoder, does
):
    server.does = does

    with pytest.raises(EmbeddingOutageError) as told:
        encoder.encode(["beam dump", "quench"])

    assert told.value.retriable
    assert is_outage(told.value)
    assert told.value.retry_after_seconds == (7 if does in {"429", "503"} else None)
    if does == "hangs":
        asked = len(server.asked)
        with pytest.raises(EmbeddingOutageError, match="does not answer"):
            encoder.encode(["at once"])
        assert len(server.asked) == asked
        return
    server.does = "answers"
    assert encoder.encode(["beam dump"]).shape == (1, 32)


def test_one_text_may_take_as_long_as_is_set_and_a_question_what_it_has_left(
    server, tmp_path
):
    given = ProviderSettings(base_url=server.url, timeout_seconds=20)
    encoder = load_encoder(MODEL, tmp_path, {"here": given})
    assert encoder.dimension == 32
    # Longer than what was once the end of every call with one text.
    server.does, server.late_seconds = "late", 5.1
    began = time.monotonic()
    with pytest.raises(EmbeddingOutageError):
        encoder.within(0.3).encode(["a question"])
    assert time.monotonic() - began < 2

    # A question's short time says nothing of the server: nobody else gives up for it.
    assert encoder.encode(["a long entry"]).shape == (1, 32)

    with pytest.raises(EmbeddingOutageError, match="does not answer"):
        encoder.within(1.1).encode(["a question"])
    # By then the server was silent: whoever asks next does not wait as long again.
    began = time.monotonic()
    with pytest.raises(EmbeddingOutageError):
        encoder.encode(["at once"])
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("does", "retriable"),
    [("400", False), ("413", False), ("500", True), ("NaN", True), ("nothing", True)],
)
@pytest.mark.requirement("S2-61")
def test_what_one_text_alone_meets_is_its_own_fault(server, encoder, does, retriable):
    server.word, server.does = "poison", does

    with pytest.raises(EmbeddingGenerationError) as told:
        encoder.encode(["poison"])

    assert not isinstance(told.value, EmbeddingOutageError)
    assert told.value.category is Category.EMBEDDING
    assert told.value.severity is Severity.CRITICAL
    assert (told.value.retriable, is_outage(told.value)) == (retriable, False)
    assert encoder.encode(["beam dump"]).shape == (1, 32)


@pytest.mark.parametrize("does", ["401", "404", "301", "307", "other length"])
@pytest.mark.requirement("C11")
def test_what_an_admin_must_mend_is_critical_and_nobody_is_put_aside_for_it(
    server, encoder, does
):
    encoder.encode(["first"])
    server.does = does

    with pytest.raises(ConfigurationError) as told:
        encoder.encode(["beam dump"])

    assert not told.value.retriable
    assert is_outage(told.value)
    assert len(server.asked) <= 3


def test_long_texts_are_cut_by_a_count_that_is_rather_too_high(encoder):
    text = "beam " * 10 + "x" * 1000

    words = encoder.words(text)

    assert "".join(text[one.start : one.end] for one in words) == text.replace(" ", "")
    assert max(one.tokens for one in words) <= encoder.max_tokens
    assert encoder.count_tokens(text) == 10 * 2 + 500


def test_a_provider_without_an_address_is_refused_by_the_name_of_its_setting(tmp_path):
    for address in (None, "here.example", "http://me:pw@here.example"):
        given = {"here": ProviderSettings(base_url=address)}
        with pytest.raises(ConfigurationError, match=r"api\.providers\.here\.base_url"):
            load_encoder(MODEL, tmp_path, given)


@pytest.fixture
def embedding(server, make_context):
    """A worker whose vectors are asked of the server."""
    return make_context(
        EMBEDDING_MODEL="tiny",
        LOGCHORD_SEARCH_MODULES__SEMANTIC__PROVIDER="here",
        LOGCHORD_API__PROVIDERS__HERE__BASE_URL=server.url,
    )


@pytest.mark.parametrize("does", ["NaN", "Inf", "nothing", "400"])
@pytest.mark.requirement("B15")
def test_a_text_without_a_usable_vector_is_put_aside_and_harms_nobody(
    server, database, embedding, does
):
    server.word, server.does = "poison", does
    with psycopg.connect(database, autocommit=True) as conn:
        drafts = [
            EntryDraft("api", name, name) for name in ("beam dump", "poison", "quench")
        ]
        with conn.transaction():
            save_page(conn, "default", drafts, stages=[embed_stage(MODEL)], editor="t")
        for _ in range(5):
            conn.execute("UPDATE stage_pause SET until = now()")
            conn.execute("UPDATE work SET due_at = now()")
            embed_entries(embedding, MODEL)

        aside = conn.execute(
            "SELECT e.external_id, q.error ->> 'code'"
            "  FROM quarantine q JOIN entry e ON e.id = q.entry_id"
        ).fetchall()
        assert aside == [("poison", "embedding_unavailable")]
        assert conn.execute("SELECT count(*) FROM work").fetchone() == (0,)
        known = vector_tables.find_live_model(conn)
        assert known is not None
        assert vectors.count_embedded_entries(conn, known.table_name, "default") == 2


@pytest.mark.parametrize("does", ["503", "404", "resets"])
@pytest.mark.requirement("S2-54", "S0-34")
def test_in_an_outage_the_stage_rests_and_goes_on_by_itself(
    server, database, embedding, does
):
    server.does = does
    with psycopg.connect(database, autocommit=True) as conn:
        with conn.transaction():
            draft = EntryDraft("api", "one", "beam dump")
            save_page(conn, "default", [draft], stages=[embed_stage(MODEL)], editor="t")
        for _ in range(4):
            conn.execute("UPDATE stage_pause SET until = now()")
            conn.execute("UPDATE work SET due_at = now()")
            embed_entries(embedding, MODEL)

        (resting,) = stage_pauses.list_pauses(conn)
        assert resting.stage == embed_stage(MODEL)
        assert conn.execute("SELECT count(*) FROM quarantine").fetchone() == (0,)
        server.does = "answers"
        conn.execute("UPDATE stage_pause SET until = now()")
        conn.execute("UPDATE work SET due_at = now()")
        embed_entries(embedding, MODEL)

        assert stage_pauses.list_pauses(conn) == []
        known = vector_tables.find_live_model(conn)
        assert known is not None
        assert (known.model, known.dimension) == (MODEL, 32)
        assert vectors.count_embedded_entries(conn, known.table_name, "default") == 1


def test_after_its_rest_one_asks_a_silent_server_for_all_others():
    learnt = endpoint_models._Learnt()
    learnt.note(is_silent=True)
    over = learnt.rests_until

    assert learnt.rest(over - 1) == 1
    assert learnt.rest(over) <= 0
    assert learnt.rest(over) == endpoint_models.REST_SECONDS

    learnt.note(is_silent=False)
    assert learnt.rest(over) <= 0
    assert learnt.rest(over) <= 0
