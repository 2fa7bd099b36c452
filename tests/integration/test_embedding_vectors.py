"""Vectors are stored once, follow their entry, and are found within scope."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from shared.access.scope import Scope
from shared.embedding import sizes, vectors
from shared.embedding.chunks import Chunk
from shared.embedding.encoders import Vectors
from shared.entries.narrowing import ANYTHING
from shared.errors import ConfigurationError, EmbeddingGenerationError

DIMENSION = 8
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
EVERYBODY = Scope(tenant="lab", subject="alice", groups=("shift",))

MakeEntry = Callable[..., UUID]


@pytest.fixture
def table(conn: Connection[TupleRow]) -> str:
    return vectors.ensure_table(conn, "knowledge_base", "Tiny-Model.v1", DIMENSION)


@pytest.fixture
def make_vector_entry(conn: Connection[TupleRow], table: str) -> MakeEntry:
    """Insert an entry with its vectors, bypassing the text it stands for."""

    def make(rows: Sequence[Sequence[float]] = ((1,),), **columns: Any) -> UUID:
        entry = {
            "id": uuid4(),
            "tenant": "lab",
            "source": "olog",
            "external_id": str(uuid4()),
            "revision": 1,
            "doc_version": 1,
            "content_hash": b"",
            "access_hash": b"",
            "kind": "entry",
            "origin": "human",
            "logbooks": ["ops"],
            "authors": [],
            "tags": [],
            "metadata": "{}",
            "entry_time": NOON,
        } | columns
        names = ", ".join(entry)
        values = ", ".join(f"%({name})s" for name in entry)
        conn.execute(f"INSERT INTO entry ({names}) VALUES ({values})", entry)
        entry_id = UUID(str(entry["id"]))
        vectors.store(
            conn,
            table,
            str(entry["tenant"]),
            entry_id,
            int(str(entry["revision"])),
            chunks_of(len(rows)),
            unit(*rows),
        )
        return entry_id

    return make


def chunks_of(count: int) -> list[Chunk]:
    return [Chunk(n, n * 10, n * 10 + 12, f"chunk {n}") for n in range(count)]


def unit(*rows: Sequence[float]) -> Vectors:
    array = np.zeros((len(rows), DIMENSION), dtype=np.float32)
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    return np.asarray(array / np.where(norms == 0, 1, norms), dtype=np.float32)


def stored_of(conn: Connection[TupleRow], table: str, entry_id: UUID) -> list[TupleRow]:
    return conn.execute(
        f"SELECT revision, chunk, start_at, end_at FROM {table} WHERE entry_id = %s"
        " ORDER BY chunk",
        [entry_id],
    ).fetchall()


def eventually_waits_for_a_lock(database: str, who: Connection[TupleRow]) -> None:
    """Return once the session waits; fail after five seconds."""
    pid = who.info.backend_pid
    deadline = time.monotonic() + 5
    with psycopg.connect(database, autocommit=True) as watch:
        while time.monotonic() < deadline:
            waits = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"
            if watch.execute(waits, [pid]).fetchone() == ("Lock",):
                return
    pytest.fail("the late attempt never met the lock")


def ids(found: list[vectors.Near]) -> list[UUID]:
    return [near.entry_id for near in found]


@pytest.mark.requirement("S0-36")
def test_each_model_has_a_table_of_its_own(
    conn: Connection[TupleRow], table: str
) -> None:
    other = vectors.ensure_table(conn, "knowledge_base", "wide", 768)
    assert table == "knowledge_base_tiny_model_v1"
    assert other == "knowledge_base_wide"
    known = {m.model: m.dimension for m in vectors.active(conn)}
    assert known == {"Tiny-Model.v1": 8, "wide": 768}
    plan = conn.execute(
        f"EXPLAIN SELECT entry_id FROM {other}"
        f" ORDER BY embedding <=> array_fill(1, ARRAY[768])::halfvec LIMIT 5"
    ).fetchall()
    assert f"Index Scan using {other}_nearest" in plan[1][0]


def test_ensuring_a_table_twice_changes_nothing(
    conn: Connection[TupleRow], table: str
) -> None:
    again = vectors.ensure_table(conn, "another_prefix", "Tiny-Model.v1", DIMENSION)
    assert again == table


def test_names_that_read_the_same_get_tables_apart(
    conn: Connection[TupleRow], table: str
) -> None:
    twin = vectors.ensure_table(conn, "knowledge_base", "tiny_model-V1", DIMENSION)
    long = vectors.ensure_table(conn, "knowledge_base", "m" * 200, DIMENSION)
    assert twin.startswith(f"{table}_")
    assert len(long) <= 54


def test_a_model_that_changes_its_dimension_is_refused(
    conn: Connection[TupleRow], table: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"{table} holds vectors of length 8"):
        vectors.ensure_table(conn, "knowledge_base", "Tiny-Model.v1", 16)
    with pytest.raises(ConfigurationError, match="1 to 4000"):
        vectors.ensure_table(conn, "knowledge_base", "huge", 5_000)


def test_storing_twice_equals_storing_once(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    entry_id = make_vector_entry([(1,), (0, 1)])
    before = stored_of(conn, table, entry_id)
    assert vectors.store(
        conn, table, "lab", entry_id, 1, chunks_of(2), unit((1,), (0, 1))
    )
    assert stored_of(conn, table, entry_id) == before == [(1, 0, 0, 12), (1, 1, 10, 22)]


def test_a_newer_revision_replaces_every_chunk_and_an_older_one_none(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    entry_id = make_vector_entry([(1,), (0, 1), (0, 0, 1)])
    conn.execute("UPDATE entry SET revision = 2 WHERE id = %s", [entry_id])
    assert vectors.store(conn, table, "lab", entry_id, 2, chunks_of(1), unit((1, 1)))
    late = vectors.store(
        conn, table, "lab", entry_id, 1, chunks_of(3), unit((1,), (1,), (1,))
    )
    assert not late
    assert stored_of(conn, table, entry_id) == [(2, 0, 0, 12)]


def test_an_entry_that_became_blank_has_no_vector_and_a_late_attempt_adds_none(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    entry_id = make_vector_entry([(1,)])
    conn.execute("UPDATE entry SET revision = 2 WHERE id = %s", [entry_id])
    assert vectors.store(conn, table, "lab", entry_id, 2, [], unit())
    assert not vectors.store(conn, table, "lab", entry_id, 1, chunks_of(1), unit((1,)))
    assert stored_of(conn, table, entry_id) == []


@pytest.mark.parametrize("gone", ["deleted", "purged", "of another tenant"])
def test_nothing_is_stored_for_an_entry_that_is_gone(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry, gone: str
) -> None:
    entry_id = make_vector_entry([(1,)])
    if gone == "deleted":
        conn.execute("UPDATE entry SET deleted_at = now() WHERE id = %s", [entry_id])
        vectors.store(conn, table, "lab", entry_id, 9, [], unit())
    elif gone == "purged":
        conn.execute("DELETE FROM entry WHERE id = %s", [entry_id])
    tenant = "other" if gone == "of another tenant" else "lab"
    assert not vectors.store(
        conn, table, tenant, entry_id, 9, chunks_of(2), unit((1,), (1,))
    )
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
def test_a_bad_vector_leaves_the_good_one_in_place(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry, bad: Vectors
) -> None:
    entry_id = make_vector_entry([(1,)])
    with pytest.raises(EmbeddingGenerationError):
        vectors.store(conn, table, "lab", entry_id, 1, chunks_of(1), bad)
    assert len(stored_of(conn, table, entry_id)) == 1


@pytest.mark.requirement("B15")
def test_a_vector_of_another_dimension_is_refused_by_the_table(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    entry_id = make_vector_entry([(1,)])
    longer = np.eye(1, DIMENSION + 1, dtype=np.float32)
    with pytest.raises(psycopg.errors.DataException), conn.transaction():
        vectors.store(conn, table, "lab", entry_id, 1, chunks_of(1), longer)
    assert len(stored_of(conn, table, entry_id)) == 1


def test_two_revisions_stored_at_once_leave_the_newer_one_alone(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry, database: str
) -> None:
    entry_id = make_vector_entry([(1,)])
    conn.commit()
    older, newer = unit((1,), (1,), (1,)), unit((0, 1))
    with psycopg.connect(database) as late, ThreadPoolExecutor(1) as pool:
        conn.execute("UPDATE entry SET revision = 2 WHERE id = %s", [entry_id])
        assert vectors.store(conn, table, "lab", entry_id, 2, chunks_of(1), newer)
        waiting = pool.submit(
            vectors.store, late, table, "lab", entry_id, 1, chunks_of(3), older
        )
        eventually_waits_for_a_lock(database, late)
        conn.commit()
        assert waiting.result(timeout=5) is False
    assert stored_of(conn, table, entry_id) == [(2, 0, 0, 12)]


def test_two_processes_that_meet_a_new_model_at_once_make_one_table(
    conn: Connection[TupleRow], database: str
) -> None:
    def ensure(_: int) -> str:
        with psycopg.connect(database) as own:
            return vectors.ensure_table(own, "knowledge_base", "fresh", DIMENSION)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ensure, range(4))) == {"knowledge_base_fresh"}
    assert vectors.registered(conn, "fresh") is not None


def test_removing_twice_equals_removing_once(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    entry_id, kept = make_vector_entry(), make_vector_entry()
    for _ in range(2):
        vectors.store(conn, table, "lab", entry_id, 9, [], unit())
    assert stored_of(conn, table, entry_id) == []
    assert vectors.embedded_entries(conn, table, "lab") == 1
    assert stored_of(conn, table, kept) != []


def test_an_entry_is_found_once_by_its_best_chunk(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    long = make_vector_entry([(0, 1), (1, 0.1), (0, 0, 1)])
    short = make_vector_entry([(1, 1)])
    first, second = vectors.nearest(conn, table, EVERYBODY, unit((1,))[0], 10)
    assert (first.entry_id, first.chunk, first.start_at) == (long, 1, 10)
    assert first.cosine == pytest.approx(1 / np.sqrt(1.01), abs=2e-3)
    assert second.entry_id == short
    assert (first.source, first.kind, first.origin) == ("olog", "entry", "human")
    assert first.entry_time == NOON


def test_long_entries_do_not_crowd_short_ones_out(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    long = make_vector_entry([(1,)] * 40)
    short = [make_vector_entry([(1, 1 + n)]) for n in range(4)]
    found = vectors.nearest(conn, table, EVERYBODY, unit((1,))[0], 5)
    assert ids(found) == [long, *short]


@pytest.mark.requirement("C37")
def test_ties_come_in_one_order_whatever_the_order_of_insertion(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    entries = [(kind, uuid4()) for kind in ("procedure", "entry") for _ in range(5)]
    for kind, entry_id in sorted(entries, reverse=True):
        make_vector_entry([(1,), (1,)], id=entry_id, kind=kind)
    for limit in (3, 10):
        found = vectors.nearest(conn, table, EVERYBODY, unit((1,))[0], limit)
        assert [(n.kind, n.entry_id) for n in found] == sorted(entries)[:limit]
        assert {near.chunk for near in found} == {0}


@pytest.mark.requirement("C37", "S0-36")
def test_the_page_comes_from_the_index_and_the_tie_break_stays_outside(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    for number in range(300):
        make_vector_entry([(1, number)])
    conn.execute("ANALYZE entry")
    conn.execute(f"ANALYZE {table}")
    params = {
        **EVERYBODY.params,
        **ANYTHING,
        "vector": vectors.as_text(unit((1,))[0]),
        "page": 5,
    }
    statement = vectors.nearest_statement(table, params, vectors._BY_INDEX)
    conn.execute("SET enable_seqscan = off")
    explain = sql.SQL("EXPLAIN (COSTS OFF) ") + statement
    plan = [row[0].strip() for row in conn.execute(explain, params, prepare=False)]
    index = next(place for place, line in enumerate(plan) if f"{table}_nearest" in line)
    assert "Index Scan using" in plan[index]
    assert plan[0] == "Limit"
    assert "Sort" in plan[1]


def test_only_what_the_caller_may_see_is_found(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    seen = [
        make_vector_entry(),
        make_vector_entry(readers=["shift"]),
        make_vector_entry(readers=["bob", "alice"]),
        make_vector_entry(visible_from=NOON - timedelta(days=900)),
    ]
    make_vector_entry(tenant="other")
    make_vector_entry(readers=["bob"])
    make_vector_entry(readers=[])
    make_vector_entry(visible_from=later)
    hidden = make_vector_entry()
    conn.execute("UPDATE entry SET deleted_at = now() WHERE id = %s", [hidden])
    found = vectors.nearest(conn, table, EVERYBODY, unit((1,))[0], 50)
    assert set(ids(found)) == set(seen)


def test_filters_and_the_logbooks_of_a_key_narrow_together(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    wanted = make_vector_entry(source="elog", logbooks=["rf", "ops"])
    make_vector_entry(source="elog", logbooks=["rf"])
    make_vector_entry(source="elog", logbooks=["ops"])
    make_vector_entry(source="olog", logbooks=["rf", "ops"])
    narrow = Scope(tenant="lab", subject="alice", logbooks=("ops",))
    both = {**ANYTHING, "only_sources": ["elog"], "only_logbooks": ["rf"]}
    found = vectors.nearest(conn, table, narrow, unit((1,))[0], 9, filters=both)
    assert ids(found) == [wanted]
    none = {**ANYTHING, "only_sources": []}
    assert vectors.nearest(conn, table, narrow, unit((1,))[0], 9, filters=none) == []


@pytest.mark.requirement("S0-37", "S0-38")
def test_similarity_is_one_minus_distance_and_the_floor_itself_is_kept(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    at_floor = make_vector_entry([(3, 4)])
    query = unit((1,))[0]
    (near,) = vectors.nearest(conn, table, EVERYBODY, query, 9)
    assert near.cosine == pytest.approx(0.6, abs=1e-3)
    kept = vectors.nearest(conn, table, EVERYBODY, query, 9, floor=near.cosine)
    above = vectors.nearest(conn, table, EVERYBODY, query, 9, floor=near.cosine + 1e-6)
    assert ids(kept) == [at_floor]
    assert above == []


@pytest.mark.parametrize("hidden", [0, 40, 90], ids=["none", "some", "most"])
def test_few_vectors_give_the_same_page_however_many_nobody_may_see(
    conn: Connection[TupleRow],
    table: str,
    make_vector_entry: MakeEntry,
    monkeypatch: pytest.MonkeyPatch,
    hidden: int,
) -> None:
    for number in range(120):
        readers = ["bob"] if number < hidden else None
        # Some are equally far, and some entries have two chunks.
        rows = [(1.0, number // 3)] * (1 + number % 2)
        make_vector_entry(rows, readers=readers)
    query = unit((1,))[0]
    quick = vectors.nearest(conn, table, EVERYBODY, query, 10)
    monkeypatch.setattr(vectors, "_nearest_of_few", lambda *_: [])
    slow = vectors.nearest(conn, table, EVERYBODY, query, 10)
    assert [(one.entry_id, one.chunk, one.cosine, one.current) for one in quick] == [
        (one.entry_id, one.chunk, one.cosine, one.current) for one in slow
    ]
    assert len(quick) == 10


def test_a_size_is_asked_for_again_after_a_while(
    conn: Connection[TupleRow],
    table: str,
    make_vector_entry: MakeEntry,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sizes, "EXACT_ROWS", 1)
    now = [0.0]
    known = sizes.Sizes(lambda: now[0])
    params = {**EVERYBODY.params, **ANYTHING}
    make_vector_entry()
    assert known.is_small(conn, table, params)
    make_vector_entry()
    assert known.is_small(conn, table, params)
    # What a filter leaves is never kept.
    assert not known.is_small(conn, table, {**params, "only_others": []})
    now[0] = sizes.KEPT_SECONDS
    assert not known.is_small(conn, table, params)


def test_missing_cosines_are_read_by_id(
    conn: Connection[TupleRow], table: str, make_vector_entry: MakeEntry
) -> None:
    long = make_vector_entry([(0, 1), (3, 4)])
    foreign = make_vector_entry(tenant="other")
    asked = [long, foreign, uuid4()]
    read = vectors.cosines(conn, table, "lab", unit((1,))[0], asked)
    assert read == {long: pytest.approx(0.6, abs=1e-3)}
    assert vectors.cosines(conn, table, "lab", unit((1,))[0], []) == {}


@pytest.mark.requirement("U08")
@pytest.mark.parametrize("exact_rows", [0, 20_000], ids=["by index", "exactly"])
def test_a_narrow_filter_still_fills_the_page(
    conn: Connection[TupleRow],
    table: str,
    make_vector_entry: MakeEntry,
    monkeypatch: pytest.MonkeyPatch,
    exact_rows: int,
) -> None:
    monkeypatch.setattr(sizes, "EXACT_ROWS", exact_rows)
    random = np.random.default_rng(7)
    rare = {}
    for number in range(600):
        row = random.normal(size=DIMENSION).tolist()
        source = "rare" if number % 100 == 0 else "common"
        entry_id = make_vector_entry([row], source=source)
        if source == "rare":
            rare[entry_id] = float(unit(row)[0, 0])
    conn.execute(f"ANALYZE {table}")
    conn.execute("SET enable_seqscan = off")
    query = unit((1,))[0]
    only_rare = {**ANYTHING, "only_sources": ["rare"]}
    found = vectors.nearest(conn, table, EVERYBODY, query, 6, filters=only_rare)
    assert ids(found) == sorted(rare, key=lambda e: -rare[e])
