"""The task that puts entries among their like, as a worker runs it."""

import pytest

from shared.enrich.duplicates import place_entry
from shared.entries import group_membership
from shared.errors import DatabaseConnectionError
from shared.messaging.celery_app import count_messages
from shared.messaging.stage_names import DUPLICATES_STAGE, INDEX_STAGE, METADATA_STAGE
from shared.messaging.task_names import PLACE_ENTRIES, QUEUE_OF
from shared.opensearch import mapping
from tests.support.saving import save_entry
from workers.tasks.duplicates import place_entries
from workers.tasks.enhance import extract_metadata
from workers.tasks.index import index_entries

TENANT = "default"
TEXT = "Vacuum burst in sector four, valve closed, pumps restarted, beam back by noon"


@pytest.fixture
def save(conn):
    def save(external_id: str, text: str = f"{TEXT}. {TEXT[::-1]}"):
        entry_id = save_entry(conn, external_id, text, stages=[METADATA_STAGE])
        conn.commit()
        return entry_id

    return save


def due(conn) -> list[tuple[str, str]]:
    conn.rollback()
    rows = conn.execute("SELECT stage, entry_id::text FROM work").fetchall()
    return sorted((stage, entry_id) for stage, entry_id in rows)


def test_a_copy_is_grouped_and_both_are_indexed_anew(ctx, conn, save):
    first = save("1")
    extract_metadata(ctx)
    place_entries(ctx)
    # Alone, it has nothing to show.
    assert due(conn) == [(INDEX_STAGE, str(first))]
    assert group_membership.load_memberships(conn, TENANT, [first]) == {}
    conn.execute("DELETE FROM work")
    conn.commit()

    second = save("2")
    extract_metadata(ctx)
    place_entries(ctx)

    assert due(conn) == sorted((INDEX_STAGE, str(one)) for one in (first, second))
    shown = group_membership.load_memberships(conn, TENANT, [first, second])
    assert shown[first].group_id == shown[second].group_id is not None


def test_who_dies_before_the_others_are_shown_shows_them_the_next_time(
    ctx, conn, save, monkeypatch
):
    first = save("1")
    extract_metadata(ctx)
    place_entries(ctx)
    save("2")
    extract_metadata(ctx)
    conn.execute("DELETE FROM work WHERE stage = %s", [INDEX_STAGE])
    conn.commit()

    def dies(*_):
        raise DatabaseConnectionError("the connection is gone")

    with monkeypatch.context() as patch:
        patch.setattr(place_entry, "show_moved", dies)
        place_entries(ctx)
    assert (INDEX_STAGE, str(first)) not in due(conn)
    conn.execute("DELETE FROM stage_pause")
    conn.execute("UPDATE work SET due_at = now(), leased_until = NULL")
    conn.commit()
    place_entries(ctx)

    assert (INDEX_STAGE, str(first)) in due(conn)
    assert DUPLICATES_STAGE not in [stage for stage, _ in due(conn)]


def test_the_index_shows_the_group(make_indexing_context, conn, save):
    ctx = make_indexing_context()
    ids = [save("1"), save("2"), save("3", "Quiet night")]
    extract_metadata(ctx)
    place_entries(ctx)
    index_entries(ctx)

    index = mapping.write_alias(ctx.settings.opensearch_index)
    found = [ctx.opensearch.get(index=index, id=str(one)) for one in ids]
    groups = [one["_source"].get("group_id") for one in found]
    group = group_membership.load_memberships(conn, TENANT, ids)[ids[0]].group_id
    assert groups == [str(group), str(group), None]


def test_what_gave_way_comes_back_behind_all_else_unless_it_was_named(ctx, save):
    queue = QUEUE_OF[PLACE_ENTRIES]

    def published() -> int:
        ctx._nudger.stop()
        return count_messages(ctx.app, [queue])[queue]

    first, _ = save("1"), save("2")
    extract_metadata(ctx)
    before = published()

    # Both are to be indexed, and nobody does so here.
    place_entries(ctx, (first,))
    after_named = published()
    place_entries(ctx)

    assert after_named == before
    assert published() == before + 1
