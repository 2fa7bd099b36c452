"""A batch of the index goes portion by portion, and each ends as soon as it is in."""

from itertools import islice
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from shared.errors import DatabaseQueryError, InternalError, LogchordError
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.opensearch import bulk, documents, fill_index
from shared.work import batches
from tests.support.fixtures.workers import MakeContext
from tests.support.saving import save_many
from workers.runtime.context import Context
from workers.tasks import index
from workers.tasks.enhance import extract_metadata
from workers.tasks.index import index_entries

pytestmark = pytest.mark.timeout(180)
TENANT = "default"


@pytest.fixture
def ctx(make_indexing_context: MakeContext) -> Context:
    return make_indexing_context()


@pytest.fixture
def ids(conn: Connection, ctx: Context, monkeypatch) -> list[UUID]:
    """Five entries that are due, two a portion: in the order in which they are read."""
    found = save_many(conn, 5, stages=[METADATA_STAGE], text="RF trip")
    conn.commit()
    extract_metadata(ctx)
    monkeypatch.setattr(fill_index, "_LOADED_AT_ONCE", 2)
    return sorted(found)


@pytest.fixture
def written(monkeypatch) -> list[list[UUID]]:
    """What went to OpenSearch, request by request."""
    requests: list[list[UUID]] = []
    write = bulk.write

    def watched(client: Any, alias: str, some: list[Any]) -> Any:
        requests.append([one.entry_id for one in some])
        return write(client, alias, some)

    monkeypatch.setattr(bulk, "write", watched)
    return requests


def due(conn: Connection) -> list[tuple[UUID, int, UUID | None]]:
    conn.rollback()
    return conn.execute(
        "SELECT entry_id, attempts, claim FROM work WHERE stage = 'index' ORDER BY 1"
    ).fetchall()


def fails_at(monkeypatch, place: int, error: LogchordError) -> None:
    """Let the portion that begins at this place not be read, as long as it is one."""
    load, read = documents.load, [0]

    def watched(conn: Connection, tenant: str, some: list[UUID]) -> Any:
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

    # What is tried again later is that one, and the portion that was on its way then.
    assert written == [ids[:2], ids[2:4]]
    assert [(one, claim) for one, _, claim in due(conn)] == [
        (one, None) for one in ids[2:]
    ]


def test_beside_what_fails_for_good_whoever_is_left_goes_alone(
    ctx, conn, ids, written, monkeypatch
):
    fails_at(monkeypatch, 4, InternalError())

    index_entries(ctx)

    # Whoever is left goes alone, in which nothing fails; what is in stays as it is.
    assert written == [ids[:2], ids[2:4], *([one] for one in ids[2:])]
    assert due(conn) == []
    assert conn.execute("SELECT count(*) FROM quarantine").fetchone() == (0,)


def test_portions_for_which_there_is_no_time_go_back_untouched(
    ctx, conn, ids, written, monkeypatch
):
    monkeypatch.setattr(index, "BATCH_SECONDS", -1.0)
    one_batch = islice(batches.claim_batches(ctx.pool, INDEX_STAGE, (), limit=8), 1)
    monkeypatch.setattr(ctx, "batches", lambda *_, **__: one_batch)

    index_entries(ctx)

    assert written == []
    assert due(conn) == [(one, 0, None) for one in ids]
