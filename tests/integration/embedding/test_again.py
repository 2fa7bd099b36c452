"""What an encoder would read as before is not encoded again, and counts as embedded."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection, sql

from shared.access.scope import Scope
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.switch import switch_model
from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.chunks import MAX_CHUNKS
from shared.embedding.vectors.input_digests import READ_BY
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page, tombstone
from shared.messaging.stage_names import embed_stage
from shared.work import due_work as due_rows
from workers.tasks.enhance import embed_entries

TENANT, MODEL = "default", "hashing-384"
STAGES = [embed_stage(MODEL)]
TITLE, TEXT = "Klystron 2 modulator", "Tripped at noon. " + "Reset step by step. " * 200
LONG = "The klystron tripped again. " * 20_000

# Saves an entry, embeds what is due, and returns how many texts were encoded.
Work = Callable[..., int]


@pytest.fixture
def conn(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def work(conn, make_context, monkeypatch) -> Work:
    ctx = make_context(EMBEDDING_MODEL=MODEL)
    read: list[str] = []
    encode = HashingEncoder.encode

    def counted(self: HashingEncoder, texts: Any) -> Any:
        read.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(HashingEncoder, "encode", counted)

    def work(
        name: str = "A-1", title: str = TITLE, text: str = TEXT, **more: Any
    ) -> int:
        draft = EntryDraft("api", name, text, title=title, **more)
        save_page(conn, TENANT, [draft], stages=STAGES, editor="test")
        before = len(read)
        embed_entries(ctx, MODEL)
        assert conn.execute("SELECT count(*) FROM work").fetchone() == (0,)
        return len(read) - before

    return work


def table_of(conn: Connection) -> sql.Identifier:
    model = vector_tables.find_live_model(conn)
    assert model is not None
    return sql.Identifier(model.table_name)


def held(conn: Connection, name: str = "A-1") -> list[tuple[Any, ...]]:
    """Return the vectors of an entry, each with the revision that it is of."""
    statement = sql.SQL(
        "SELECT v.revision, v.chunk, v.start_at, v.end_at, v.embedding::text"
        "  FROM {} v JOIN entry e ON e.id = v.entry_id"
        " WHERE e.external_id = %s ORDER BY v.chunk"
    ).format(table_of(conn))
    return conn.execute(statement, (name,)).fetchall()


def id_of(conn: Connection, name: str = "A-1") -> UUID:
    row = conn.execute(
        "SELECT id FROM entry WHERE external_id = %s", (name,)
    ).fetchone()
    assert row is not None
    return UUID(str(row[0]))


@pytest.mark.requirement("U13")
def test_what_only_has_other_tags_authors_or_level_is_not_encoded_again(conn, work):
    chunks = work()
    assert chunks > 1
    first = held(conn)

    assert work(tags=("trip",)) == 0
    assert work(tags=("trip",), authors=("anna",)) == 0
    assert work(tags=("trip",), authors=("anna",), level="Problem") == 0

    # Of the newest revision, at the same places: a search shows them as they are.
    assert held(conn) == [(4, *rest) for _, *rest in first]
    assert work(title="Klystron 3") == chunks
    assert work(title="Klystron 3", text=TEXT + "And more.") >= chunks
    assert {revision for revision, *_ in held(conn)} == {6}


def test_what_passes_the_stage_again_as_it_is_runs_no_model(conn, work):
    """A new version of the stage has each entry pass it; most read the same."""
    chunks = work()
    work("B-1", text="Beam is back")
    first = held(conn)
    due_rows.add(conn, TENANT, [id_of(conn), id_of(conn, "B-1")], STAGES)
    assert work("C-1", text="Beam is lost") == 1
    assert held(conn) == first
    assert len(first) == chunks


@pytest.mark.requirement("U13")
def test_a_text_that_is_the_same_after_another_is_compared_with_that_one(conn, work):
    chunks = work()
    assert work(text="Beam is back") == 1
    assert work() == chunks
    assert work(tags=("trip",)) == 0


def test_an_entry_whose_end_has_no_vector_stays_flagged_without_another_run(conn, work):
    assert work(text=LONG) == MAX_CHUNKS
    assert work(text=LONG, tags=("trip",)) == 0
    entry = read_entries.load_entry(conn, Scope(TENANT, "anna"), id_of(conn))
    assert entry is not None
    assert (entry.revision, entry.read_flags) == (2, ["vectors_cut"])


def test_an_edit_of_the_parent_that_a_reply_does_not_repeat_runs_no_model(conn, work):
    work("parent", text="Tripped.")
    assert work("reply", title="", text="reset", reply_to="parent") == 1
    assert work("told", title="Beam dump", text="reset", reply_to="parent") == 1

    assert work("parent", text="Tripped.", tags=("trip",)) == 0
    assert work("parent", text="Tripped twice.") == 1, "its own"
    assert work("parent", title="Klystron 3", text="Tripped twice.") == 2
    assert {one for one, *_ in held(conn, "reply")} == {1}


def test_vectors_that_are_gone_or_of_another_version_are_made_again(
    conn, work, monkeypatch
):
    chunks = work()
    conn.execute(sql.SQL("DELETE FROM {}").format(table_of(conn)))
    assert work(tags=("trip",)) == chunks

    monkeypatch.setattr("shared.embedding.vectors.input_digests.READ_BY", READ_BY + 1)
    assert work(tags=("trip", "again")) == chunks
    assert work(tags=("trip",)) == 0


def test_nothing_is_kept_of_what_has_no_vector(conn, work):
    def kept() -> list[tuple[Any, ...]]:
        return conn.execute("SELECT entry_id FROM embedding_input").fetchall()

    work()
    work("B-1", text="Beam is back")
    assert work("B-1", title="", text="") == 0
    tombstone(conn, TENANT, id_of(conn), reason=None, stages=STAGES)
    work("C-1", text="Beam is lost")
    assert kept() == [(id_of(conn, "C-1"),)]

    vector_tables.ensure_table(conn, "other", "other", 8)
    switch_model.switch(conn, "other")
    switch_model.drop(conn, MODEL, drain_seconds=0.0)
    assert kept() == []
