"""A reply that says little is found by what it replies to, as far as that is open."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection, sql

from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.vectors import vector_tables
from shared.entries.saving.save import tombstone, tombstone_many
from shared.messaging.stage_names import embed_stage
from tests.support.fixtures.workers import MakeContext
from tests.support.saving import save_entry
from workers.runtime.context import Context
from workers.tasks.enhance import embed_entries

TENANT, MODEL = "default", "hashing-384"
STAGES = [embed_stage(MODEL)]
TITLE, SAID = "Klystron 2 modulator", "same again, reset"


@pytest.fixture
def ctx(make_context: MakeContext) -> Context:
    return make_context(EMBEDDING_MODEL=MODEL)


@pytest.fixture
def conn(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def save(conn: Connection, name: str, text: str, **fields: Any) -> UUID:
    return save_entry(conn, name, text, stages=STAGES, **fields)


def parent(conn: Connection, title: str = TITLE, **fields: Any) -> UUID:
    return save(conn, "parent", "Tripped.", title=title, **fields)


def reply(conn: Connection, **fields: Any) -> UUID:
    return save(conn, "reply", SAID, reply_to="parent", **fields)


def read_below(conn: Connection, entry_id: UUID, heading: str) -> bool:
    """Tell whether the one vector of the reply is of this, and place is in its text."""
    model = vector_tables.find_live_model(conn)
    assert model is not None
    statement = sql.SQL(
        "SELECT 1 - (embedding <=> %s::halfvec), start_at, end_at FROM {}"
        " WHERE entry_id = %s"
    ).format(sql.Identifier(model.table_name))
    (made,) = HashingEncoder().encode([f"{heading}\n{SAID}" if heading else SAID])
    ((cosine, *place),) = conn.execute(statement, (str(made.tolist()), entry_id))
    assert place == [0, len(SAID)]
    return bool(cosine > 0.999)


def test_a_reply_is_embedded_below_its_parent_whichever_of_them_comes_first(conn, ctx):
    entry_id = reply(conn)
    embed_entries(ctx, MODEL)
    assert read_below(conn, entry_id, "")

    parent(conn)
    embed_entries(ctx, MODEL)
    assert read_below(conn, entry_id, TITLE)

    parent(conn, title="Vacuum leak")
    embed_entries(ctx, MODEL)
    assert read_below(conn, entry_id, "Vacuum leak")

    parent(conn, title="Re:")
    embed_entries(ctx, MODEL)
    assert read_below(conn, entry_id, "Tripped.")


def test_a_reply_with_a_title_of_its_own_is_embedded_as_it_stands(conn, ctx):
    parent(conn)
    entry_id = reply(conn, title="Beam dump")
    embed_entries(ctx, MODEL)
    assert read_below(conn, entry_id, "Beam dump")


@pytest.mark.parametrize("by_the_source", [False, True], ids=["by hand", "by source"])
def test_what_is_deleted_is_in_the_vector_of_no_reply(conn, ctx, by_the_source):
    parent_id, entry_id = parent(conn), reply(conn)
    embed_entries(ctx, MODEL)
    assert read_below(conn, entry_id, TITLE)

    if by_the_source:
        gone = tombstone_many(
            conn, TENANT, "api", ["parent"], reason="gone", stages=STAGES
        )
        assert gone == [parent_id]
    else:
        assert tombstone(conn, TENANT, parent_id, reason=None, stages=STAGES)
    embed_entries(ctx, MODEL)

    assert read_below(conn, entry_id, "")


_CLOSED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("readers", {"readers": ("rf",)}, {}),
    ("other readers", {"readers": ("rf",)}, {"readers": ("rf", "ops")}),
    ("logbooks", {"logbooks": ("RF",)}, {"logbooks": ("RF", "Ops")}),
]
_OPEN: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("same readers", {"readers": ("rf",)}, {"readers": ("rf",)}),
    ("more readers", {"readers": ("rf", "ops")}, {"readers": ("rf",)}),
    ("open", {}, {"readers": ("rf",)}),
    ("logbooks", {"logbooks": ("RF", "Ops")}, {"logbooks": ("RF",)}),
]


@pytest.mark.parametrize(
    ("said_by_parent", "said_by_reply", "shown"),
    [
        *(pytest.param(a, b, False, id=f"closed by {name}") for name, a, b in _CLOSED),
        *(pytest.param(a, b, True, id=f"open: {name}") for name, a, b in _OPEN),
    ],
)
def test_only_what_every_reader_of_the_reply_may_see_is_in_its_vector(
    conn, ctx, said_by_parent, said_by_reply, shown
):
    parent(conn, **said_by_parent)
    entry_id = reply(conn, **said_by_reply)
    embed_entries(ctx, MODEL)
    assert read_below(conn, entry_id, TITLE if shown else "")


def test_a_parent_that_is_closed_leaves_the_vectors_of_its_replies(conn, ctx):
    parent(conn)
    entry_id = reply(conn)
    embed_entries(ctx, MODEL)
    assert read_below(conn, entry_id, TITLE)

    parent(conn, readers=("rf",))
    embed_entries(ctx, MODEL)
    assert read_below(conn, entry_id, "")
