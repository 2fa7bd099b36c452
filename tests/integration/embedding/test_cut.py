"""A text of more chunks than are embedded says so, as long as it is so long."""

from uuid import UUID

import psycopg
from psycopg import Connection

from api.entries import entry_bodies
from shared.access.scope import Scope
from shared.embedding.switch import switch_model
from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.chunks import MAX_CHUNKS
from shared.entries.reading import read_entries
from shared.messaging.stage_names import embed_stage
from tests.support.fixtures.workers import MakeContext
from tests.support.saving import save_entry
from workers.tasks.enhance import embed_entries

TENANT, MODEL = "default", "hashing-384"
LONG = "The klystron tripped again. " * 40_000


def save(conn: Connection, name: str, text: str) -> UUID:
    return save_entry(conn, name, text, stages=[embed_stage(MODEL)])


def flags(conn: Connection, entry_id: UUID) -> list[str]:
    entry = read_entries.load_entry(conn, Scope(TENANT, "anna"), entry_id)
    assert entry is not None
    return entry.read_flags


def tags(conn: Connection, *entry_ids: UUID) -> list[str]:
    found = [
        read_entries.load_entry(conn, Scope(TENANT, "anna"), one) for one in entry_ids
    ]
    return [entry_bodies.tag_of(entry) for entry in found if entry]


def test_an_entry_whose_end_has_no_vector_is_flagged_until_it_is_shorter(
    make_context: MakeContext, database: str
):
    ctx = make_context(EMBEDDING_MODEL=MODEL)
    with psycopg.connect(database, autocommit=True) as conn:
        long, short = save(conn, "long", LONG), save(conn, "short", "Beam is back")
        assert flags(conn, long) == []

        embed_entries(ctx, MODEL)

        assert (flags(conn, long), flags(conn, short)) == (["vectors_cut"], [])
        # What is asked for by its ETag is another answer by now.
        assert tags(conn, long, short) == ['"r1+vectors_cut"', '"r1"']
        model = vector_tables.find_live_model(conn)
        assert model is not None
        held = conn.execute(
            f"SELECT count(*), max(end_at) < %s FROM {model.table_name}"
            " WHERE entry_id = %s",
            (len(LONG), long),
        ).fetchone()
        assert held == (MAX_CHUNKS, True)

        save(conn, "long", "Nothing but this")
        save(conn, "short", LONG)
        assert flags(conn, long) == []
        embed_entries(ctx, MODEL)
        assert (flags(conn, long), flags(conn, short)) == ([], ["vectors_cut"])

        # Only of the model that is searched with.
        vector_tables.ensure_table(conn, "other", "other", 8)
        switch_model.switch(conn, "other")
        assert flags(conn, short) == []
        switch_model.drop(conn, MODEL, drain_seconds=0.0)
        assert flags(conn, short) == []
