"""The nearest to a vector, within scope, whichever way they are found."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from pgvector import HalfVector
from psycopg import Connection, sql

from shared.access.scope import Scope
from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.vectors import exact_or_index, nearest
from shared.embedding.vectors.nearest import Near, find_nearest
from shared.entries.reading.filter_sql import ANYTHING
from tests.support.fixtures.vectors import DIMENSION, NOON, unit

EVERYBODY = Scope(tenant="lab", subject="alice", groups=("shift",))
SPREAD = 600
QUERY = unit((1,))[0]

MakeSpread = Callable[..., list[UUID]]


def ids(found: Sequence[Near]) -> list[UUID]:
    return [near.entry_id for near in found]


def searching(
    conn: Connection,
    table: str,
    filters: Mapping[str, Any],
    *,
    page: int,
    vector: Vectors = QUERY,
) -> nearest._Search:
    params = {**EVERYBODY.params, **filters, "vector": HalfVector(vector)}
    return nearest._Search(conn, table, {**params, "page": page}, lambda _: True)


def test_an_entry_is_found_once_by_its_best_chunk(conn, table, make_vector_entry):
    long = make_vector_entry([(0, 1), (1, 0.1), (0, 0, 1)])
    short = make_vector_entry([(1, 1)])
    first, second = find_nearest(conn, table, EVERYBODY, unit((1,))[0], 10)
    assert (first.entry_id, first.chunk, first.start_at) == (long, 1, 10)
    assert first.cosine == pytest.approx(1 / np.sqrt(1.01), abs=2e-3)
    assert second.entry_id == short
    assert (first.source, first.kind, first.origin) == ("olog", "entry", "human")
    assert first.entry_time == NOON


def test_long_entries_do_not_crowd_short_ones_out(conn, table, make_vector_entry):
    long = make_vector_entry([(1,)] * 40)
    short = [make_vector_entry([(1, 1 + n)]) for n in range(4)]
    found = find_nearest(conn, table, EVERYBODY, unit((1,))[0], 5)
    assert ids(found) == [long, *short]


@pytest.mark.requirement("C37", "S4-79")
def test_ties_come_by_their_names_whatever_the_order_of_insertion_and_the_ids(
    conn, table, make_vector_entry
):
    kinds, sources = ("procedure", "entry"), ("olog", "elog")
    entries = [
        (kinds[number % 2], source, f"{number:03}")
        for source in sources
        for number in range(60)
    ]
    for kind, source, external_id in random.Random(7).sample(entries, len(entries)):
        make_vector_entry(
            [(1,), (1,)], kind=kind, source=source, external_id=external_id
        )
    books = replace(EVERYBODY, logbooks=("ops",))
    narrowed = {**ANYTHING, "only_sources": list(sources)}
    for limit in (3, 50, len(entries)):
        for scope, filters in (
            (EVERYBODY, ANYTHING),
            (books, ANYTHING),
            (EVERYBODY, narrowed),
        ):
            found = find_nearest(conn, table, scope, QUERY, limit, filters=filters)
            names = [(near.kind, near.source, near.external_id) for near in found]
            assert names == sorted(entries)[:limit]
            assert {near.chunk for near in found} == {0}


@pytest.mark.requirement("C37", "S0-36")
def test_the_page_comes_from_the_index_and_the_tie_break_stays_outside(
    conn, table, make_vector_entry
):
    for number in range(300):
        make_vector_entry([(1, number)])
    conn.execute("ANALYZE entry")
    conn.execute(f"ANALYZE {table}")
    params = {
        **EVERYBODY.params,
        **ANYTHING,
        "vector": HalfVector(unit((1,))[0]),
        "page": 5,
    }
    statement = nearest.nearest_statement(table, params, nearest._BY_INDEX)
    conn.execute("SET enable_seqscan = off")
    explain = sql.SQL("EXPLAIN (COSTS OFF) ") + statement
    plan = [row[0].strip() for row in conn.execute(explain, params, prepare=False)]
    index = next(place for place, line in enumerate(plan) if f"{table}_nearest" in line)
    assert "Index Scan using" in plan[index]
    assert plan[0] == "Limit"
    assert "Sort" in plan[1]


def test_only_what_the_caller_may_see_is_found(conn, table, make_vector_entry):
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
    found = find_nearest(conn, table, EVERYBODY, unit((1,))[0], 50)
    assert set(ids(found)) == set(seen)


def test_filters_and_the_logbooks_of_a_key_narrow_together(
    conn, table, make_vector_entry
):
    wanted = make_vector_entry(source="elog", logbooks=["rf", "ops"])
    make_vector_entry(source="elog", logbooks=["rf"])
    make_vector_entry(source="elog", logbooks=["ops"])
    make_vector_entry(source="olog", logbooks=["rf", "ops"])
    narrow = Scope(tenant="lab", subject="alice", logbooks=("ops",))
    both = {**ANYTHING, "only_sources": ["elog"], "only_logbooks": ["rf"]}
    found = find_nearest(conn, table, narrow, unit((1,))[0], 9, filters=both)
    assert ids(found) == [wanted]
    none = {**ANYTHING, "only_sources": []}
    assert find_nearest(conn, table, narrow, unit((1,))[0], 9, filters=none) == []


@pytest.mark.requirement("S0-37", "S0-38")
def test_similarity_is_one_minus_distance_and_the_floor_itself_is_kept(
    conn, table, make_vector_entry
):
    at_floor = make_vector_entry([(3, 4)])
    query = unit((1,))[0]
    (near,) = find_nearest(conn, table, EVERYBODY, query, 9)
    assert near.cosine == pytest.approx(0.6, abs=1e-3)
    kept = find_nearest(conn, table, EVERYBODY, query, 9, floor=near.cosine)
    above = find_nearest(conn, table, EVERYBODY, query, 9, floor=near.cosine + 1e-6)
    assert ids(kept) == [at_floor]
    assert above == []


@pytest.mark.parametrize("hidden", [0, 40, 90], ids=["none", "some", "most"])
def test_few_vectors_give_the_same_page_however_many_nobody_may_see(
    conn, table, make_vector_entry, monkeypatch, hidden
):
    for number in range(120):
        readers = ["bob"] if number < hidden else None
        # Some are equally far, and some entries have two chunks.
        rows = [(1.0, number // 3)] * (1 + number % 2)
        make_vector_entry(rows, readers=readers)
    query = unit((1,))[0]
    quick = find_nearest(conn, table, EVERYBODY, query, 10)
    monkeypatch.setattr(nearest, "_nearest_of_few", lambda *_: [])
    slow = find_nearest(conn, table, EVERYBODY, query, 10)
    assert [(one.entry_id, one.chunk, one.cosine, one.current) for one in quick] == [
        (one.entry_id, one.chunk, one.cosine, one.current) for one in slow
    ]
    assert len(quick) == 10


def test_a_size_is_asked_for_again_after_a_while(
    conn, table, make_vector_entry, monkeypatch
):
    monkeypatch.setattr(exact_or_index, "EXACT_ROWS", 1)
    now = [0.0]
    known = exact_or_index.Sizes(lambda: now[0])
    params = {**EVERYBODY.params, **ANYTHING}
    make_vector_entry()
    assert known.reach(conn, table, params, 9) is None
    make_vector_entry()
    assert known.reach(conn, table, params, 9) is None
    now[0] = exact_or_index.KEPT_SECONDS
    assert known.reach(conn, table, params, 9) == 9


@pytest.fixture
def make_spread(conn, table, make_vector_entry) -> MakeSpread:
    """Insert entries all around, one of so many a rare one; return these in order."""

    def make(one_of: int, **rare: Any) -> list[UUID]:
        random = np.random.default_rng(7)
        found = {}
        for number in range(SPREAD):
            row = random.normal(size=DIMENSION).tolist()
            columns = rare if number % one_of == 0 else {}
            entry_id = make_vector_entry([row], **columns)
            if columns:
                found[entry_id] = float(unit(row)[0, 0])
        conn.execute("ANALYZE entry")
        conn.execute(f"ANALYZE {table}")
        return sorted(found, key=lambda entry_id: -found[entry_id])

    return make


@pytest.mark.parametrize(
    ("one_of", "reach"),
    # A page of nine: 60 are fewer than 90 by the index, 100 more than 54.
    [pytest.param(10, None, id="few pass"), pytest.param(6, 54, id="many pass")],
)
def test_a_filter_chooses_the_way_that_reads_less(
    conn, table, make_spread, monkeypatch, one_of, reach
):
    monkeypatch.setattr(exact_or_index, "EXACT_ROWS", 99)
    monkeypatch.setattr(exact_or_index, "FEW_PASSING", 10)
    monkeypatch.setattr(nearest, "MIN_EF_SEARCH", 20)
    rare = make_spread(one_of, source="rare")
    only_rare = {**ANYTHING, "only_sources": ["rare"]}
    asked = {**EVERYBODY.params, **only_rare}
    chosen = exact_or_index.Sizes(time.monotonic).reach(conn, table, asked, 9)
    assert chosen == (None if reach is None else pytest.approx(reach, rel=0.1))
    found = find_nearest(conn, table, EVERYBODY, unit((1,))[0], 6, filters=only_rare)
    assert ids(found) == rare[:6]


@pytest.mark.requirement("U08")
@pytest.mark.parametrize("few", [0, 1000], ids=["by index", "exactly"])
@pytest.mark.parametrize(
    ("rare", "filters"),
    [
        pytest.param({"source": "rare"}, {"only_sources": ["rare"]}, id="filter"),
        pytest.param({"logbooks": ["rf"]}, {}, id="logbooks of a key"),
        pytest.param({"readers": ["alice"]}, {}, id="readers"),
    ],
)
def test_a_page_is_full_however_little_passes_and_however_soon_the_index_ends(
    conn, table, make_vector_entry, make_spread, monkeypatch, few, rare, filters
):
    monkeypatch.setattr(exact_or_index, "FEW_PASSING", few)
    monkeypatch.setattr(exact_or_index, "EXACT_ROWS", few)
    monkeypatch.setattr(nearest, "MIN_EF_SEARCH", 20)
    wanted = make_spread(100, **rare)
    scope = EVERYBODY
    if "logbooks" in rare:
        scope = Scope(tenant="lab", subject="alice", logbooks=("rf",))
    if "readers" in rare:
        ours = "UPDATE entry SET readers = ARRAY['bob'] WHERE readers IS NULL"
        conn.execute(ours)
    conn.execute("SET LOCAL enable_seqscan = off")
    conn.execute("SET LOCAL hnsw.max_scan_tuples = 1")
    found = find_nearest(
        conn, table, scope, unit((1,))[0], 6, filters={**ANYTHING, **filters}
    )
    assert ids(found) == wanted


def test_where_more_pass_than_were_expected_the_index_is_asked(
    conn, table, make_spread, monkeypatch
):
    monkeypatch.setattr(nearest, "EXACT_ROWS", 99)
    rare = make_spread(6, source="rare")
    filters = {**ANYTHING, "only_sources": ["rare"]}
    vector = unit((1,))[0]
    search = searching(conn, table, filters, page=9)
    assert nearest._exactly(search) is None
    found = find_nearest(conn, table, EVERYBODY, vector, 6, filters=filters)
    assert ids(found) == rare[:6]
    monkeypatch.setattr(nearest, "EXACT_ROWS", 100)
    exactly = nearest._exactly(search)
    assert exactly is not None
    assert [one.entry_id for one in exactly] == rare[:9]


@pytest.mark.requirement("U08")
def test_a_page_that_the_index_fills_behind_a_filter_is_that_of_all(
    conn, table, make_spread, monkeypatch
):
    monkeypatch.setattr(exact_or_index, "EXACT_ROWS", 99)
    monkeypatch.setattr(exact_or_index, "FEW_PASSING", 10)
    make_spread(2, source="rare")
    filters = {**ANYTHING, "only_sources": ["rare"]}
    exactly = searching(conn, table, filters, page=75).page(
        nearest._EXACTLY, nearest.Near
    )
    ways = []
    paged = nearest._page

    def page(*given: Any) -> Any:
        ways.append(given[3])
        return paged(*given)

    monkeypatch.setattr(nearest, "_page", page)
    conn.execute("SET LOCAL enable_seqscan = off")
    conn.execute("SET LOCAL enable_sort = off")
    found = find_nearest(conn, table, EVERYBODY, QUERY, 50, filters=filters)
    assert ways == [nearest._BY_INDEX]
    assert ids(found) == ids(exactly)[:50]


@pytest.fixture
def unreached(conn, table, make_vector_entry, monkeypatch) -> nearest._Search:
    """Insert what the index does not reach all of; return the search for its page."""
    monkeypatch.setattr(exact_or_index, "EXACT_ROWS", 0)
    random = np.random.default_rng(3)
    # Eighty notes of each that are nearly one and the same know no others.
    corners = random.normal(size=(8, DIMENSION))
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    for number in range(640):
        row = corners[number // 80] + random.normal(0, 0.0005, DIMENSION)
        make_vector_entry([row.tolist()])
    conn.execute(f"ANALYZE {table}")
    conn.execute("SET LOCAL enable_seqscan = off")
    conn.execute("SET LOCAL enable_sort = off")
    conn.execute(nearest.TUNE, {"ef_search": "200"})
    vector = corners[0].astype(np.float32)
    search = searching(conn, table, ANYTHING, page=495, vector=vector)
    assert len(search.page(nearest._BY_INDEX, nearest.Near)) < 495
    return search


@pytest.mark.requirement("U08")
def test_what_the_graph_cannot_reach_is_found_all_the_same(unreached):
    exactly = unreached.page(nearest._EXACTLY, nearest.Near)
    assert ids(nearest._by_index(unreached, 200)) == ids(exactly)


def test_where_too_many_pass_to_be_read_what_the_index_gave_is_kept(
    unreached, monkeypatch
):
    monkeypatch.setattr(nearest, "EXACT_ROWS", 639)
    assert 0 < len(nearest._by_index(unreached, 200)) < 495


def test_where_time_is_over_before_the_rest_is_read_what_the_index_gave_is_kept(
    unreached, monkeypatch
):
    shares = []

    def bound(share: float) -> bool:
        shares.append(share)
        ms = "50" if share < 1 else "10000"
        bounded = "SELECT set_config('statement_timeout', %s, true)"
        unreached.conn.execute(bounded, [ms])
        return True

    endless = "AND (SELECT count(*) FROM generate_series(1, 1000000000)) > 0"
    monkeypatch.setattr(nearest, "_EXACTLY_OF_FEW", endless + " LIMIT %(most)s")
    some = nearest._by_index(replace(unreached, bound=bound), 200)
    assert 0 < len(some) < 495
    assert shares == [nearest._SHARE, 1.0]
    # Neither is it begun where no time is left.
    late = replace(unreached, bound=lambda _: False)
    assert nearest._by_index(late, 200) == some
