"""What is older than its source may be kept is deleted, in steps, and stays away."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.messaging.celery_app import make_app
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.work import chore_records
from workers.runtime.context import Context, Resources
from workers.tasks import chores

TENANT = "default"


@pytest.fixture
def ctx(database, valkey) -> Iterator[Context]:
    environment = {
        "DATABASE_URL": database,
        "BROKER_URL": valkey.url,
        "OPENSEARCH_URL": "off",
        "OPENSEARCH_INDEX": f"test_{secrets.token_hex(6)}",
        "EMBEDDING_MODEL": "hashing-384",
    }
    sources = {
        "short": SourceSettings(retention_days=30),
        "long": SourceSettings(),
        "third": SourceSettings(retention_days=365),
    }
    settings = Settings.load(environment).model_copy(update={"sources": sources})
    resources = Resources(settings, make_app(settings), "test")
    yield Context(resources, {})
    resources.close()


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
