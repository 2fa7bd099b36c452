"""A batch of the index goes portion by portion, and each ends as soon as it is in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from shared.broker import INDEX_STAGE, METADATA_STAGE
from shared.due import batches
from shared.entries.draft import EntryDraft
from shared.entries.entry import save_page
from shared.errors import (
    DatabaseQueryError,
    InternalError,
    LogchordError,
    OpenSearchError,
)
from shared.opensearch import documents, filling
from shared.opensearch.filling import Portion
from tests.fix_workers import MakeContext
from workers import index, indexing
from workers.context import Context
from workers.enhance import extract_metadata
from workers.index import index_entries

pytestmark = pytest.mark.timeout(180)
TENANT = "default"


@pytest.fixture
def ctx(make_context: MakeContext, opensearch) -> Iterator[Context]:
    made = make_context(OPENSEARCH_URL=opensearch.url)
    yield made
    name = f"{made.settings.opensearch_index}-v*"
    made.opensearch.indices.delete(index=name, params={"request_timeout": 30})  # type: ignore[union-attr]


@pytest.fixture
def ids(conn: Connection[TupleRow], ctx: Context, monkeypatch) -> list[UUID]:
    """Five entries that are due, two a portion: in the order in which they are read."""
    drafts = [EntryDraft("api", str(number), "RF trip") for number in range(5)]
    found = save_page(conn, TENANT, drafts, stages=[METADATA_STAGE], editor="test")
    conn.commit()
    extract_metadata(ctx)
    monkeypatch.setattr(filling, "_LOADED_AT_ONCE", 2)
    return sorted(one.entry_id for one in found)


@pytest.fixture
def written(monkeypatch) -> list[list[UUID]]:
    """What went to OpenSearch, request by request."""
    requests: list[list[UUID]] = []
    write = filling.write

    def watched(client: Any, portion: Portion) -> Any:
        requests.append([*portion.ids])
        return write(client, portion)

    monkeypatch.setattr(filling, "write", watched)
    return requests


def due(conn: Connection[TupleRow]) -> list[tuple[UUID, int, UUID | None]]:
    conn.rollback()
    found: list[tuple[UUID, int, UUID | None]] = conn.execute(
        "SELECT entry_id, attempts, claim FROM work WHERE stage = 'index' ORDER BY 1"
    ).fetchall()
    return found


def fails_at(monkeypatch, place: int, error: LogchordError) -> None:
    """Let the portion that begins at this place not be read, as long as it is one."""
    load, read = documents.load, [0]

    def watched(conn: Connection[TupleRow], tenant: str, some: list[UUID]) -> Any:
        at, read[0] = read[0], read[0] + len(some)
        if at == place:
            raise error
        return load(conn, tenant, some)

    monkeypatch.setattr(documents, "load", watched)


def test_a_portion_that_fails_takes_nothing_back_of_what_is_in(
    ctx, conn, ids, written, monkeypatch
):
    fails_at(monkeypatch, 4, DatabaseQueryError())

    index_entries(ctx)

    # What is tried again later is that one; what was on its way then has ended, too.
    assert written == [ids[:2], ids[2:4]]
    assert [(one, claim) for one, _, claim in due(conn)] == [(ids[4], None)]


def test_beside_what_fails_for_good_whoever_is_left_goes_alone(
    ctx, conn, ids, written, monkeypatch
):
    fails_at(monkeypatch, 2, InternalError())

    index_entries(ctx)

    # Whoever is left goes alone, in which nothing fails; what is in stays as it is.
    assert written == [ids[:2], *([one] for one in ids[2:])]
    assert due(conn) == []
    assert conn.execute("SELECT count(*) FROM quarantine").fetchone() == (0,)


def test_portions_for_which_there_is_no_time_go_back_untouched(
    ctx, conn, ids, written, monkeypatch
):
    monkeypatch.setattr(indexing, "BATCH_SECONDS", -1.0)
    one_batch = islice(batches.batches(ctx.pool, INDEX_STAGE, (), limit=8), 1)
    monkeypatch.setattr(ctx, "batches", lambda *_, **__: one_batch)

    index_entries(ctx)

    assert written == []
    assert due(conn) == [(one, 0, None) for one in ids]


@pytest.fixture
def backlog(monkeypatch) -> None:
    """Two entries are a backlog, and a batch."""
    monkeypatch.setattr(index, "INDEX_BATCH", 2)
    monkeypatch.setattr(index, "INDEX_MOST", 2)


@pytest.mark.usefixtures("backlog")
def test_of_a_backlog_the_next_batch_is_claimed_while_one_is_written(
    ctx, conn, ids, monkeypatch
):
    claimed: list[int] = []
    is_next_claimed = threading.Event()

    def look(name, *entry_ids):
        if name == "after_claim":
            claimed.append(len(entry_ids))
            if len(claimed) == 2:
                is_next_claimed.set()

    monkeypatch.setattr(ctx, "checkpoint", look)
    write = filling.write
    waited: list[bool] = []

    def watched(client: Any, portion: Portion) -> Any:
        waited.append(is_next_claimed.wait(10))
        return write(client, portion)

    monkeypatch.setattr(filling, "write", watched)

    index_entries(ctx)

    assert claimed == [2, 2, 1]
    assert all(waited)
    assert due(conn) == []


@pytest.mark.requirement("P7")
@pytest.mark.usefixtures("backlog")
def test_a_batch_that_fails_beside_the_next_goes_alone_and_takes_nobody_along(
    ctx, conn, ids, written, monkeypatch
):
    write = filling.write

    def watched(client: Any, portion: Portion) -> Any:
        found = write(client, portion)
        if [*portion.ids] == ids[:2]:
            raise InternalError
        return found

    monkeypatch.setattr(filling, "write", watched)

    index_entries(ctx)

    # Those two once more, each by itself, whichever goes first beside the second batch.
    once = [ids[:2], ids[2:4], ids[4:]]
    assert sorted(written) == sorted([*once, ids[:1], ids[1:2]])
    assert due(conn) == []
    assert conn.execute("SELECT count(*) FROM quarantine").fetchone() == (0,)


@pytest.mark.usefixtures("backlog")
def test_a_batch_whose_answer_never_comes_rests_the_stage_with_nothing_spent(
    ctx, conn, ids, monkeypatch
):
    def refuse(client: Any, portion: Portion) -> Any:
        raise OpenSearchError(technical="nobody there")

    monkeypatch.setattr(filling, "write", refuse)

    index_entries(ctx)

    found = due(conn)
    assert [one for one, *_ in found] == ids
    assert {(attempts, claim) for _, attempts, claim in found} == {(0, None)}
    paused = conn.execute("SELECT code FROM stage_pause").fetchall()
    assert paused == [("opensearch_unavailable",)]
