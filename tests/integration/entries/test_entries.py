"""Saving a page: identity, revisions, access and due work, in one commit."""

from datetime import UTC, datetime

import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page, tombstone

TENANT = "default"
STAGES = ["metadata", "embed:test"]
ANYONE = Scope(tenant=TENANT, subject="operator", allowed=frozenset({"read"}))


@pytest.fixture
def save(conn):
    def save(*drafts: EntryDraft, tenant: str = TENANT):
        return save_page(conn, tenant, drafts, stages=STAGES, editor="test")

    return save


def draft(external_id: str = "A-1", text: str = "RF trip", **fields) -> EntryDraft:
    return EntryDraft(source="api", external_id=external_id, text=text, **fields)


def due_stages(conn, entry_id):
    rows = conn.execute("SELECT stage FROM work WHERE entry_id = %s", (entry_id,))
    return sorted(row[0] for row in rows)


def test_a_new_entry_gets_its_first_revision_and_due_work(conn, save):
    (saved,) = save(draft())

    assert (saved.status, saved.revision) == ("created", 1)
    assert due_stages(conn, saved.entry_id) == ["embed:test", "metadata"]
    entry = read_entries.load_entry(conn, ANYONE, saved.entry_id)
    assert entry is not None
    assert (entry.text, entry.revision) == ("RF trip", 1)


def test_the_same_entry_again_writes_nothing(conn, save):
    (first,) = save(draft())
    conn.execute("DELETE FROM work")

    (again,) = save(draft())

    assert (again.status, again.entry_id) == ("unchanged", first.entry_id)
    assert due_stages(conn, first.entry_id) == []
    assert conn.execute("SELECT count(*) FROM revision").fetchone() == (1,)


def test_a_changed_text_is_a_new_revision_and_the_old_one_is_kept(conn, save):
    (first,) = save(draft())

    (edited,) = save(draft(text="RF trip, arc in cavity 2"))

    assert (edited.status, edited.revision) == ("updated", 2)
    texts = conn.execute("SELECT text FROM revision ORDER BY number").fetchall()
    assert texts == [("RF trip",), ("RF trip, arc in cavity 2",)]
    assert edited.entry_id == first.entry_id


def test_changed_readers_make_only_the_index_due_and_no_revision(conn, save):
    (first,) = save(draft())
    conn.execute("DELETE FROM work")

    (changed,) = save(draft(readers=("rf-group",)))

    assert (changed.status, changed.revision) == ("updated", 1)
    assert due_stages(conn, first.entry_id) == ["index"]
    version = conn.execute("SELECT doc_version FROM entry").fetchone()
    assert version == (2,)


def test_an_entry_twice_in_one_page_is_created_and_then_edited(save):
    first, second = save(draft(), draft(text="corrected"))

    assert (first.status, second.status) == ("created", "updated")
    assert first.entry_id == second.entry_id
    assert second.revision == 2


def test_two_tenants_may_use_the_same_identity(conn, save):
    (ours,) = save(draft())
    (theirs,) = save(draft(text="other"), tenant="other")

    assert ours.entry_id != theirs.entry_id
    assert read_entries.load_entry(conn, ANYONE, theirs.entry_id) is None


def test_an_entry_without_a_time_keeps_the_time_of_its_first_arrival(conn, save):
    (first,) = save(draft())
    before = read_entries.load_entry(conn, ANYONE, first.entry_id)

    (again,) = save(draft())

    assert again.status == "unchanged"
    after = read_entries.load_entry(conn, ANYONE, first.entry_id)
    assert before is not None
    assert after is not None
    assert after.entry_time == before.entry_time


def test_a_tombstone_is_kept_but_not_listed(conn, save):
    (saved,) = save(draft())

    assert tombstone(conn, TENANT, saved.entry_id, reason="typo", stages=STAGES)
    assert not tombstone(conn, TENANT, saved.entry_id, reason="typo", stages=STAGES)

    assert (
        read_entries.list_entries(conn, ANYONE, read_entries.ListingFilter(), limit=10)
        == []
    )
    entry = read_entries.load_entry(conn, ANYONE, saved.entry_id)
    assert entry is not None
    assert entry.deleted_at is not None


def test_readers_and_logbooks_hide_an_entry_from_everybody_else(conn, save):
    (closed,) = save(draft(readers=("rf-group",), logbooks=("RF",)))
    nobody = draft("A-2", readers=())
    (hidden,) = save(nobody)
    member = Scope(tenant=TENANT, subject="jo", groups=("rf-group",))
    elsewhere = Scope(tenant=TENANT, subject="rf-group", logbooks=("Vacuum",))

    assert read_entries.load_entry(conn, ANYONE, closed.entry_id) is None
    assert read_entries.load_entry(conn, member, closed.entry_id) is not None
    assert read_entries.load_entry(conn, elsewhere, closed.entry_id) is None
    assert read_entries.load_entry(conn, member, hidden.entry_id) is None


def test_a_listing_pages_in_a_total_order_and_counts_everything(conn, save):
    when = datetime(2026, 3, 2, tzinfo=UTC)
    save(*(draft(f"A-{number}", entry_time=when) for number in range(5)))
    wanted = read_entries.ListingFilter(sources=["api"])

    first = read_entries.list_entries(conn, ANYONE, wanted, limit=3)
    place = read_entries.ListingPosition(first[-1].entry_time, first[-1].entry_id)
    rest = read_entries.list_entries(conn, ANYONE, wanted, limit=3, after=place)

    ids = [entry.entry_id for entry in (*first, *rest)]
    assert len(set(ids)) == 5
    assert ids == sorted(ids, reverse=True)
    assert read_entries.count_entries(conn, ANYONE, wanted) == 5
