"""Vectors are stored once, follow their entry, and are found within scope."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import numpy as np
import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.vectors import vector_tables, vectors
from shared.embedding.vectors.chunks import Chunk
from shared.errors import ConfigurationError, EmbeddingGenerationError
from tests.support.fixtures.vectors import DIMENSION, chunks_of, unit


def store(
    conn: Connection,
    table: str,
    tenant: str,
    entry_id: UUID,
    revision: int,
    chunks: Sequence[Chunk],
    made: Vectors,
) -> bool:
    one = vectors.EntryVectors(entry_id, revision, chunks, made)
    return entry_id in vectors.store_all(conn, table, tenant, [one])


def stored_of(conn: Connection, table: str, entry_id: UUID) -> list[TupleRow]:
    return conn.execute(
        f"SELECT revision, chunk, start_at, end_at FROM {table} WHERE entry_id = %s"
        " ORDER BY chunk",
        [entry_id],
    ).fetchall()


def eventually_waits_for_a_lock(database: str, who: Connection) -> None:
    """Return once the session waits; fail after five seconds."""
    pid = who.info.backend_pid
    deadline = time.monotonic() + 5
    with psycopg.connect(database, autocommit=True) as watch:
        while time.monotonic() < deadline:
            waits = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"
            if watch.execute(waits, [pid]).fetchone() == ("Lock",):
                return
    pytest.fail("the late attempt never met the lock")


@pytest.mark.requirement("S0-36")
def test_each_model_has_a_table_of_its_own(conn, table):
    other = vector_tables.ensure_table(conn, "knowledge_base", "wide", 768)
    assert table == "knowledge_base_tiny_model_v1"
    assert other == "knowledge_base_wide"
    known = {m.model: m.dimension for m in vector_tables.list_active_models(conn)}
    assert known == {"Tiny-Model.v1": 8, "wide": 768}
    plan = conn.execute(
        f"EXPLAIN SELECT entry_id FROM {other}"
        f" ORDER BY embedding <=> array_fill(1, ARRAY[768])::halfvec LIMIT 5"
    ).fetchall()
    assert f"Index Scan using {other}_nearest" in plan[1][0]


def test_ensuring_a_table_twice_changes_nothing(conn, table):
    again = vector_tables.ensure_table(
        conn, "another_prefix", "Tiny-Model.v1", DIMENSION
    )
    assert again == table


def test_names_that_read_the_same_get_tables_apart(conn, table):
    twin = vector_tables.ensure_table(
        conn, "knowledge_base", "tiny_model-V1", DIMENSION
    )
    long = vector_tables.ensure_table(conn, "knowledge_base", "m" * 200, DIMENSION)
    assert twin.startswith(f"{table}_")
    assert len(long) <= 54


def test_a_model_that_changes_its_dimension_is_refused(conn, table):
    with pytest.raises(ConfigurationError, match=f"{table} holds vectors of length 8"):
        vector_tables.ensure_table(conn, "knowledge_base", "Tiny-Model.v1", 16)
    with pytest.raises(ConfigurationError, match="1 to 4000"):
        vector_tables.ensure_table(conn, "knowledge_base", "huge", 5_000)


def test_storing_twice_equals_storing_once(conn, table, make_vector_entry):
    entry_id = make_vector_entry([(1,), (0, 1)])
    before = stored_of(conn, table, entry_id)
    assert store(conn, table, "lab", entry_id, 1, chunks_of(2), unit((1,), (0, 1)))
    assert stored_of(conn, table, entry_id) == before == [(1, 0, 0, 12), (1, 1, 10, 22)]


def test_a_newer_revision_replaces_every_chunk_and_an_older_one_none(
    conn, table, make_vector_entry
):
    entry_id = make_vector_entry([(1,), (0, 1), (0, 0, 1)])
    conn.execute("UPDATE entry SET revision = 2 WHERE id = %s", [entry_id])
    assert store(conn, table, "lab", entry_id, 2, chunks_of(1), unit((1, 1)))
    late = store(conn, table, "lab", entry_id, 1, chunks_of(3), unit((1,), (1,), (1,)))
    assert not late
    assert stored_of(conn, table, entry_id) == [(2, 0, 0, 12)]


def test_an_entry_that_became_blank_has_no_vector_and_a_late_attempt_adds_none(
    conn, table, make_vector_entry
):
    entry_id = make_vector_entry([(1,)])
    conn.execute("UPDATE entry SET revision = 2 WHERE id = %s", [entry_id])
    assert store(conn, table, "lab", entry_id, 2, [], unit())
    assert not store(conn, table, "lab", entry_id, 1, chunks_of(1), unit((1,)))
    assert stored_of(conn, table, entry_id) == []


@pytest.mark.parametrize("gone", ["deleted", "purged", "of another tenant"])
def test_nothing_is_stored_for_an_entry_that_is_gone(
    conn, table, make_vector_entry, gone
):
    entry_id = make_vector_entry([(1,)])
    if gone == "deleted":
        conn.execute("UPDATE entry SET deleted_at = now() WHERE id = %s", [entry_id])
        store(conn, table, "lab", entry_id, 9, [], unit())
    elif gone == "purged":
        conn.execute("DELETE FROM entry WHERE id = %s", [entry_id])
    tenant = "other" if gone == "of another tenant" else "lab"
    assert not store(conn, table, tenant, entry_id, 9, chunks_of(2), unit((1,), (1,)))
    assert len(stored_of(conn, table, entry_id)) == (gone == "of another tenant")


@pytest.mark.requirement("B15")
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(np.array([[np.nan] + [0] * 7], dtype=np.float32), id="NaN"),
        pytest.param(np.zeros((1, DIMENSION), dtype=np.float32), id="zero"),
        pytest.param(np.ones((2, DIMENSION), dtype=np.float32), id="one too many"),
    ],
)
def test_a_bad_vector_leaves_the_good_one_in_place(conn, table, make_vector_entry, bad):
    entry_id = make_vector_entry([(1,)])
    with pytest.raises(EmbeddingGenerationError):
        store(conn, table, "lab", entry_id, 1, chunks_of(1), bad)
    assert len(stored_of(conn, table, entry_id)) == 1


@pytest.mark.requirement("B15")
def test_a_vector_of_another_dimension_is_refused_by_the_table(
    conn, table, make_vector_entry
):
    entry_id = make_vector_entry([(1,)])
    longer = np.eye(1, DIMENSION + 1, dtype=np.float32)
    with pytest.raises(psycopg.errors.DataException), conn.transaction():
        store(conn, table, "lab", entry_id, 1, chunks_of(1), longer)
    assert len(stored_of(conn, table, entry_id)) == 1


def test_two_revisions_stored_at_once_leave_the_newer_one_alone(
    conn, table, make_vector_entry, database
):
    entry_id = make_vector_entry([(1,)])
    conn.commit()
    older, newer = unit((1,), (1,), (1,)), unit((0, 1))
    with psycopg.connect(database) as late, ThreadPoolExecutor(1) as pool:
        conn.execute("UPDATE entry SET revision = 2 WHERE id = %s", [entry_id])
        assert store(conn, table, "lab", entry_id, 2, chunks_of(1), newer)
        waiting = pool.submit(
            store, late, table, "lab", entry_id, 1, chunks_of(3), older
        )
        eventually_waits_for_a_lock(database, late)
        conn.commit()
        assert waiting.result(timeout=5) is False
    assert stored_of(conn, table, entry_id) == [(2, 0, 0, 12)]


def test_two_processes_that_meet_a_new_model_at_once_make_one_table(conn, database):
    def ensure(_: int) -> str:
        with psycopg.connect(database) as own:
            return vector_tables.ensure_table(own, "knowledge_base", "fresh", DIMENSION)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ensure, range(4))) == {"knowledge_base_fresh"}
    assert vector_tables.find_model(conn, "fresh") is not None


def test_removing_twice_equals_removing_once(conn, table, make_vector_entry):
    entry_id, kept = make_vector_entry(), make_vector_entry()
    for _ in range(2):
        store(conn, table, "lab", entry_id, 9, [], unit())
    assert stored_of(conn, table, entry_id) == []
    assert vectors.count_embedded_entries(conn, table, "lab") == 1
    assert stored_of(conn, table, kept) != []


def test_missing_cosines_are_read_by_id(conn, table, make_vector_entry):
    long = make_vector_entry([(0, 1), (3, 4)])
    foreign = make_vector_entry(tenant="other")
    asked = [long, foreign, uuid4()]
    read = vectors.load_cosines(conn, table, "lab", unit((1,))[0], asked)
    assert read == {long: pytest.approx(0.6, abs=1e-3)}
    assert vectors.load_cosines(conn, table, "lab", unit((1,))[0], []) == {}
