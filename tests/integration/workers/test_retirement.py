"""What is older than its source may be kept is deleted, in steps, and stays away."""

import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.work import chore_records
from tests.support.fixtures.workers import MakeContext
from workers.runtime.context import Context
from workers.tasks import chores

TENANT = "default"


@pytest.fixture
def ctx(make_context: MakeContext) -> Context:
    days = {"short": 30, "long": None, "third": 365}
    sources = {name: {"retention_days": one} for name, one in days.items()}
    return make_context(LOGCHORD_SOURCES=json.dumps(sources))


def test_each_source_loses_what_is_past_its_days_and_nothing_else(ctx, database):
    now = datetime.now(UTC)
    drafts = [
        EntryDraft(source, f"{days}", "text", entry_time=now - timedelta(days=days))
        for source in ("short", "long", "third")
        for days in (1, 100, 1000)
    ]
    with psycopg.connect(database, autocommit=True) as conn:
        save_page(conn, TENANT, drafts, stages=["metadata"], editor="test")
        chore_records.open_chore(conn, chore_records.RETIRE_ENTRIES)

        chores.retire_entries(ctx)

        kept = conn.execute(
            "SELECT source, external_id FROM entry WHERE deleted_at IS NULL"
            " ORDER BY source, external_id"
        ).fetchall()
        reasons = conn.execute(
            "SELECT DISTINCT delete_reason FROM entry WHERE deleted_at IS NOT NULL"
        ).fetchall()
        assert chore_records.list_unfinished(conn) == []
        again = save_page(conn, TENANT, drafts, stages=["metadata"], editor="test")
        back = conn.execute(
            "SELECT count(*) FROM entry WHERE deleted_at IS NULL"
        ).fetchone()

    assert kept == [
        ("long", "1"),
        ("long", "100"),
        ("long", "1000"),
        ("short", "1"),
        ("third", "1"),
        ("third", "100"),
    ]
    assert reasons == [("retention",)]
    # Its source still has it, and sends it at every reconcile: it stays away.
    assert {one.status for one in again} == {"unchanged"}
    assert back == (6,)
