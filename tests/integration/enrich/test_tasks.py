"""The tasks of enrichment and indexing as a worker runs them, on real servers."""

from itertools import islice

import pytest
from psycopg import sql

from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.vectors import embed_entry, vector_tables, vectors
from shared.entries.reading import read_entries
from shared.entries.saving.save import tombstone
from shared.errors import InternalError
from shared.messaging.stage_names import DUPLICATES_STAGE, INDEX_STAGE, METADATA_STAGE
from shared.opensearch import aliases, fill_index, mapping, portions, tidy_indices
from shared.opensearch.documents import load
from shared.postgres.pool import connection
from shared.work import batches, due_work, quarantine
from tests.support.saving import save_entry
from workers.runtime.context import Context
from workers.tasks import batch_commit
from workers.tasks.chores import reconcile_index
from workers.tasks.duplicates import place_entries
from workers.tasks.enhance import embed_entries, extract_metadata
from workers.tasks.index import index_entries

TENANT = "default"
MODEL = "hashing-384"
STAGES = [METADATA_STAGE, f"embed:{MODEL}"]


@pytest.fixture
def indexing(make_indexing_context):
    return make_indexing_context()


@pytest.fixture
def save(conn):
    def save(external_id: str = "A-1", text: str = "RF cavity tripped", **fields):
        entry_id = save_entry(conn, external_id, text, stages=STAGES, **fields)
        conn.commit()
        return entry_id

    return save


def due_stages(conn) -> list[str]:
    conn.rollback()
    return sorted(row[0] for row in conn.execute("SELECT stage FROM work").fetchall())


def table_of(conn) -> str:
    known = vector_tables.find_model(conn, MODEL)
    assert known is not None
    return known.table_name


def documents(ctx) -> dict[str, dict]:
    client, base = ctx.opensearch, ctx.settings.opensearch_index
    client.indices.refresh(index=mapping.read_alias(base))
    found = client.search(
        index=mapping.read_alias(base), body={"size": 100, "version": True}
    )
    return {
        hit["_id"]: {**hit["_source"], "_version": hit["_version"]}
        for hit in found["hits"]["hits"]
    }


@pytest.mark.requirement("O06")
def test_metadata_ends_and_leaves_the_document_due_once(ctx, conn, save):
    save()
    assert INDEX_STAGE not in due_stages(conn)

    extract_metadata(ctx)

    assert due_stages(conn) == [DUPLICATES_STAGE, f"embed:{MODEL}", INDEX_STAGE]
    index_entries(ctx)
    embed_entries(ctx, MODEL)
    place_entries(ctx)
    assert due_stages(conn) == [], "no second document for one change"


def test_running_every_task_twice_equals_running_it_once(ctx, conn, save):
    entry_id = save(title="RF trip")
    for _ in range(2):
        extract_metadata(ctx, (entry_id,))
        embed_entries(ctx, MODEL, (entry_id,))
        place_entries(ctx, (entry_id,))
        index_entries(ctx, (entry_id,))

    assert due_stages(conn) == []
    assert vectors.count_embedded_entries(conn, table_of(conn), TENANT) == 1
    assert conn.execute("SELECT count(*) FROM entry_text").fetchone() == (1,)
    assert conn.execute("SELECT count(*) FROM quarantine").fetchone() == (0,)


def test_without_opensearch_the_index_stage_ends(ctx, conn, save):
    save()
    extract_metadata(ctx)

    index_entries(ctx)

    assert due_stages(conn) == [DUPLICATES_STAGE, f"embed:{MODEL}"]


def test_what_a_batch_has_no_time_for_goes_back_untouched(ctx, conn, save, monkeypatch):
    for number in range(3):
        save(f"A-{number}")
    # The clock of a batch is over at once, and so is the task.
    monkeypatch.setattr(batch_commit, "BATCH_SECONDS", -1.0)
    one_batch = islice(batches.claim_batches(ctx.pool, METADATA_STAGE, (), limit=8), 1)
    monkeypatch.setattr(ctx, "batches", lambda *_, **__: one_batch)

    extract_metadata(ctx)

    conn.rollback()
    found = conn.execute(
        "SELECT attempts, claim FROM work WHERE stage = 'metadata'"
    ).fetchall()
    assert found == [(0, None)] * 3


@pytest.mark.requirement("U13")
def test_only_another_text_is_embedded_again(ctx, conn, save, monkeypatch):
    read: list[str] = []
    encode = HashingEncoder.encode

    def counted(self, texts):
        read.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(HashingEncoder, "encode", counted)

    def work(**fields) -> int:
        save(**fields)
        before = len(read)
        extract_metadata(ctx)
        embed_entries(ctx, MODEL)
        return len(read) - before

    assert work(text="RF trip") == 1
    assert work(text="RF trip") == 0
    assert work(text="RF trip", readers=("rf-group",)) == 0
    assert work(text="RF trip, reset", readers=("rf-group",)) == 1


@pytest.mark.parametrize("text", ["", "   \n", "\u3000"])
def test_a_blank_text_gets_no_vectors_and_its_work_ends(ctx, conn, save, text):
    save(text=text)

    embed_entries(ctx, MODEL)

    assert vectors.count_embedded_entries(conn, table_of(conn), TENANT) == 0
    assert due_stages(conn) == [METADATA_STAGE]


def test_the_vectors_of_a_deleted_entry_go(ctx, conn, save):
    entry_id = save()
    embed_entries(ctx, MODEL)
    tombstone(conn, TENANT, entry_id, reason=None, stages=STAGES)
    conn.commit()

    embed_entries(ctx, MODEL)

    assert vectors.count_embedded_entries(conn, table_of(conn), TENANT) == 0


@pytest.mark.requirement("P1")
def test_a_late_attempt_at_a_blank_text_leaves_the_vectors_of_its_edit(ctx, conn, save):
    save(text="")
    (late,) = due_work.claim(conn, f"embed:{MODEL}", limit=1)
    conn.execute("UPDATE work SET leased_until = now()")
    content = read_entries.load_contents(conn, TENANT, [late.entry_id])[late.entry_id]
    save(text="RF cavity reset")
    embed_entries(ctx, MODEL)

    found = embed_entry.embed(content, ctx.encoder(MODEL))
    embed_entry.store_all(conn, table_of(conn), content.tenant, [(content, found)])

    assert vectors.count_embedded_entries(conn, table_of(conn), TENANT) == 1


@pytest.mark.requirement("P1")
def test_an_attempt_that_lost_its_claim_takes_nothing_out_of_the_quarantine(
    ctx, conn, save
):
    save()

    class LosingContext(Context):
        """Loses its claim to a worker that fails, just before it would finish."""

        def checkpoint(self, name: str, *_: object) -> None:
            if name == "before_finish":
                conn.execute("UPDATE work SET leased_until = now()")
                (ours,) = due_work.claim(conn, f"embed:{MODEL}", limit=1)
                assert quarantine.add(conn, ours, InternalError())
                conn.commit()

    late = LosingContext(ctx._resources, {})
    (lost,) = due_work.claim(conn, f"embed:{MODEL}", limit=1)
    conn.commit()
    with pytest.raises(InternalError), connection(late.pool) as other:
        batch_commit.end(late, other, [lost])

    assert conn.execute("SELECT count(*) FROM quarantine").fetchone() == (1,)


def test_a_batch_is_kept_in_one_commit_with_what_became_blank_or_was_deleted(
    ctx, conn, save, monkeypatch
):
    # However slow the machine is, nothing is kept before there is enough.
    monkeypatch.setattr(batch_commit, "KEEP_SECONDS", 60.0)
    kept = [save(f"A-{number}") for number in range(3)]
    blank, gone = save("B-1"), save("B-2")
    embed_entries(ctx, MODEL)
    for number in range(3):
        save(f"A-{number}", text="RF cavity reset")
    save("B-1", text="")
    tombstone(conn, TENANT, gone, reason=None, stages=STAGES)
    conn.commit()

    embed_entries(ctx, MODEL)

    statement = sql.SQL("SELECT entry_id, revision, xmin::text FROM {}")
    found = conn.execute(statement.format(sql.Identifier(table_of(conn)))).fetchall()
    assert {(entry_id, revision) for entry_id, revision, _ in found} == {
        (entry_id, 2) for entry_id in kept
    }
    assert len({commit for _, _, commit in found}) == 1
    assert blank not in {entry_id for entry_id, _, _ in found}
    assert due_stages(conn) == [METADATA_STAGE] * 5


def test_what_is_made_is_kept_before_a_long_text_is_begun(ctx, conn, save, monkeypatch):
    for number in range(3):
        save(f"A-{number}")
    save("B-1", text="RF cavity tripped. " * 300)
    begun: list[tuple[bool, int, int]] = []
    embed = embed_entry.embed

    def look(content, encoder, *before):
        conn.rollback()
        kept = vectors.count_embedded_entries(conn, table_of(conn), TENANT)
        begun.append((len(content.text) > 1000, len(begun), kept))
        return embed(content, encoder, *before)

    monkeypatch.setattr(embed_entry, "embed", look)
    # Neither many nor late enough to be kept for that.
    monkeypatch.setattr(batch_commit, "KEEP_SECONDS", 60.0)
    embed_entries(ctx, MODEL)

    assert len(begun) == 4
    assert [(before, kept) for is_long, before, kept in begun if is_long] == [(3, 3)]


def test_a_vector_that_cannot_be_stored_keeps_none_of_its_neighbours_out(
    ctx, conn, save
):
    poison, *others = [save(f"A-{number}") for number in range(4)]
    with connection(ctx.pool) as own:
        table = vector_tables.ensure_table(own, "knowledge_base", MODEL, 384)
    conn.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE 'not this one'; END $$"
    )
    conn.execute(
        sql.SQL(
            "CREATE TRIGGER refuse BEFORE INSERT ON {} FOR EACH ROW"
            " WHEN (NEW.entry_id = {}) EXECUTE FUNCTION refuse()"
        ).format(sql.Identifier(table), sql.Literal(poison))
    )
    conn.commit()

    embed_entries(ctx, MODEL)

    statement = sql.SQL("SELECT entry_id FROM {} ORDER BY entry_id")
    found = conn.execute(statement.format(sql.Identifier(table))).fetchall()
    assert [entry_id for (entry_id,) in found] == sorted(others)
    aside = conn.execute("SELECT entry_id, stage FROM quarantine").fetchall()
    assert aside == [(poison, f"embed:{MODEL}")]
    assert f"embed:{MODEL}" not in due_stages(conn)


def test_work_of_another_model_stays_due(ctx, conn, save):
    save()

    embed_entries(ctx, "hashing-16")

    assert f"embed:{MODEL}" in due_stages(conn)


def test_a_chunk_is_placed_in_the_text_without_the_title(ctx, conn, save):
    save(title="RF trip", text="Cavity 2 tripped")

    embed_entries(ctx, MODEL)

    statement = sql.SQL("SELECT start_at, end_at FROM {}")
    row = conn.execute(statement.format(sql.Identifier(table_of(conn)))).fetchone()
    assert row == (0, len("Cavity 2 tripped"))


@pytest.mark.requirement("O06")
@pytest.mark.timeout(180)
def test_an_edit_and_a_deletion_reach_the_index_and_nothing_older_does(
    indexing, conn, save
):
    ctx = indexing
    entry_id = save()
    extract_metadata(ctx)
    index_entries(ctx)
    (first,) = documents(ctx).values()
    assert first["stream"] == ["rf caviti trip"]

    save(text="RF cavity reset")
    extract_metadata(ctx)
    index_entries(ctx)
    (second,) = documents(ctx).values()
    assert second["stream"] == ["rf caviti reset"]
    assert second["_version"] > first["_version"]

    tombstone(conn, TENANT, entry_id, reason=None, stages=STAGES)
    conn.commit()
    extract_metadata(ctx)
    index_entries(ctx)
    (gone,) = documents(ctx).values()
    assert gone.keys() == {
        *("tenant", "entry_id", "deleted", "doc_version", "_version"),
        # By these it is compared with Postgres.
        *("day", "check"),
    }
    assert gone["_version"] > second["_version"]


@pytest.mark.timeout(180)
def test_portions_are_cut_by_what_texts_take_once_they_are_read(
    indexing, conn, save, monkeypatch
):
    text = "RF cavity tripped. " * 500
    saved = {save(f"A-{number}", text=text) for number in range(26)}
    extract_metadata(indexing)
    monkeypatch.setattr(portions, "MOST_BYTES", 10 * len(text))
    held: list[int] = []

    def watched(conn, tenant, ids):
        held.append(len(ids))
        return load(conn, tenant, ids)

    monkeypatch.setattr("shared.opensearch.documents.load", watched)

    index_entries(indexing)

    # Compressed, all of them take less than one does.
    assert sum(held) == len(saved)
    assert len(held) > 1
    assert len(documents(indexing)) == len(saved)


def test_an_index_that_vanished_is_made_again_and_filled(indexing, conn, save):
    ctx = indexing
    for number in range(5):
        save(f"A-{number}")
    extract_metadata(ctx)
    index_entries(ctx)
    assert len(documents(ctx)) == 5
    ctx.opensearch.indices.delete(index=f"{ctx.settings.opensearch_index}-v*")
    save("A-0", text="an edit notices it")
    extract_metadata(ctx)

    index_entries(ctx)
    reconcile_index(ctx)
    # Searched before it is filled, it would say that there is nothing.
    assert aliases.look(ctx.opensearch, ctx.settings.opensearch_index).read is None
    index_entries(ctx)
    tidy_indices.tidy(ctx.opensearch, ctx.settings.opensearch_index, ctx.pool)

    assert len(documents(ctx)) == 5
    assert INDEX_STAGE not in due_stages(conn)


def test_with_opensearch_down_the_document_stays_due_and_no_attempt_is_spent(
    make_context, conn, save
):
    ctx = make_context(OPENSEARCH_URL="http://127.0.0.1:9")
    save()
    extract_metadata(ctx)

    index_entries(ctx)

    row = conn.execute(
        "SELECT attempts, claim, last_error->>'code' FROM work WHERE stage = 'index'"
    ).fetchone()
    assert row == (0, None, "opensearch_unavailable")


@pytest.mark.requirement("P1")
def test_a_worker_without_an_address_of_opensearch_puts_nothing_aside(
    make_context, conn, save
):
    ctx = make_context(OPENSEARCH_URL="")
    for number in range(3):
        save(f"A-{number}")
    extract_metadata(ctx)

    index_entries(ctx)

    found = conn.execute(
        "SELECT attempts, claim FROM work WHERE stage = 'index'"
    ).fetchall()
    assert found == [(0, None)] * 3
    assert conn.execute("SELECT count(*) FROM quarantine").fetchone() == (0,)


@pytest.mark.timeout(180)
def test_an_entry_no_document_can_be_made_of_is_put_aside_alone(indexing, conn, save):
    poison, *others = [save(f"A-{number}") for number in range(4)]
    extract_metadata(indexing)
    # Deeper than Python reads; the text door takes no such thing.
    conn.execute(
        "UPDATE entry SET metadata = (repeat('[', 3000) || repeat(']', 3000))::jsonb"
        " WHERE id = %s",
        (poison,),
    )
    conn.commit()

    index_entries(indexing)

    assert sorted(documents(indexing)) == sorted(map(str, others))
    aside = conn.execute("SELECT entry_id, stage FROM quarantine").fetchall()
    assert aside == [(poison, INDEX_STAGE)]
    assert INDEX_STAGE not in due_stages(conn)


@pytest.mark.timeout(180)
def test_what_was_written_and_deleted_without_opensearch_reaches_it_later(
    make_context, indexing, conn, save
):
    kept, gone = save("A-1"), save("A-2")
    extract_metadata(indexing)
    index_entries(indexing)
    without = make_context()
    conn.execute("UPDATE entry SET doc_version = doc_version + 1")
    tombstone(conn, TENANT, gone, reason=None, stages=[INDEX_STAGE])
    conn.commit()
    index_entries(without)
    assert INDEX_STAGE not in due_stages(conn)

    fill_index.catch_up(indexing.pool)
    reconcile_index(indexing)
    index_entries(indexing)

    found = documents(indexing)
    assert found[str(kept)]["doc_version"] == 2
    assert found[str(gone)]["deleted"] is True
    fill_index.catch_up(indexing.pool)
    reconcile_index(indexing)
    assert INDEX_STAGE not in due_stages(conn)
