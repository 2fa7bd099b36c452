"""The ledger finds what an experiment is about: it would be blind otherwise."""

import time

import pytest

from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page, tombstone
from shared.opensearch import bulk, documents, mapping
from shared.work import due_work
from tests.support.faults.measures import counting
from tests.support.saving import save_many

STAGES = ("metadata",)
# Rows are made and counted: no process is at work.
pytestmark = pytest.mark.patient


@pytest.fixture
def ids(conn):
    """Three entries whose texts are analysed, with nothing due any more."""
    conn.execute(counting.WATCH)
    found = save_many(conn, 3, stages=STAGES, text="Beam dump")
    for content in read_entries.load_contents(conn, "default", found).values():
        metadata.store(conn, content, metadata.extract(content, None))
    conn.execute("DELETE FROM work")
    conn.commit()
    return found


def counted(conn, ids, **changed):
    asked = {"edits": 0, "vectors": False} | changed
    return counting.counts(conn, {str(one): time.time() for one in ids}, **asked)


def test_nothing_is_found_where_everything_held(conn, ids):
    found = counted(conn, ids)

    assert (found["lost"], found["duplicate_effects"], found["extra_runs"]) == (0, 0, 0)
    assert counting.number(conn, counting.STILL_DUE, vectors=False) == 0


DUE_AGAIN = """
    INSERT INTO work (entry_id, stage, tenant)
    SELECT id, 'metadata', tenant FROM entry"""


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM entry_text",
        "DELETE FROM entry",
        "UPDATE entry SET revision = 2",
        DUE_AGAIN,
    ],
)
def test_an_entry_without_its_end_is_lost(conn, ids, harm):
    conn.execute("SET session_replication_role = replica")
    conn.execute(harm)

    assert counted(conn, ids)["lost"] == 3


def test_an_entry_without_vectors_is_lost_where_there_should_be_some(conn, ids):
    assert counted(conn, ids, vectors=True)["lost"] == 3


def test_a_deleted_entry_is_at_its_end(conn, ids):
    tombstone(conn, "default", ids[0], reason=None, stages=())
    conn.execute("DELETE FROM entry_text WHERE entry_id = %s", (ids[0],))

    assert counted(conn, ids)["lost"] == 0


def test_a_revision_that_nobody_asked_for_is_a_duplicate(conn, ids):
    edit = EntryDraft("api", "0", "Beam dumped again")
    save_page(conn, "default", [edit], stages=(), editor="test")

    assert counted(conn, ids)["duplicate_effects"] == 1
    assert counted(conn, ids, edits=1)["duplicate_effects"] == 0


def test_a_row_claimed_twice_for_one_due_time_is_an_extra_run(conn, ids):
    for turn in range(2):
        due_work.add(conn, "default", ids, STAGES)
        for _ in range(2 - turn):
            # The second time an entry travels alone: one of the three is claimed.
            due_work.claim(conn, "metadata", limit=3)
            conn.execute("UPDATE work SET leased_until = now() - interval '1 s'")
        conn.execute("DELETE FROM work")

    found = counted(conn, ids)
    assert (found["extra_runs"], found["stage_runs"]) == (1, 3)


@pytest.mark.timeout(300)
def test_the_index_drifts_by_each_document_that_is_not_as_postgres_has_it(
    conn, ids, opensearch, search_client, own_index
):
    def drift():
        return counting.drift(conn, opensearch.url, own_index)

    def write(entry_ids):
        found = documents.load(conn, "default", entry_ids)
        assert bulk.write(search_client, mapping.write_alias(own_index), found) == {}

    assert drift() == 3
    write(ids)
    assert drift() == 0
    conn.execute(
        "UPDATE entry SET doc_version = doc_version + 1 WHERE id = %s", (ids[0],)
    )
    tombstone(conn, "default", ids[1], reason=None, stages=())
    assert drift() == 2
    write(ids)
    assert drift() == 0
    conn.execute("DELETE FROM entry WHERE id = %s", (ids[2],))
    assert drift() == 1
