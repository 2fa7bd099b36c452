"""What another analyser has read is made due, behind everything live, and once."""

from __future__ import annotations

from pathlib import Path

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.broker import INDEX_STAGE, METADATA_STAGE
from shared.due import maintenance, rows
from shared.enrich import renewal
from shared.entries.draft import EntryDraft
from shared.entries.entry import save_page, tombstone
from workers import chores
from workers.context import Context
from workers.duplicates import place_entries
from workers.enhance import extract_metadata

TENANTS = ("default", "other")
NAMED = "names:\n  - {kind: permit, pattern: 'RSR[ -]*[0-9]+'}\n"


def renewed(ctx: Context, conn: Connection[TupleRow]) -> list[tuple[str, int]]:
    """Carry the chore out and return what it made due, by tenant and class."""
    conn.execute("DELETE FROM work WHERE stage = %s", (INDEX_STAGE,))
    maintenance.open_chore(conn, maintenance.RENEW_TEXTS)
    chores.renew_texts(ctx)
    assert maintenance.unfinished(conn) == []
    return conn.execute(
        "SELECT e.tenant || ':' || e.external_id, w.class FROM work w"
        " JOIN entry e ON e.id = w.entry_id WHERE w.stage = %s ORDER BY 1",
        (METADATA_STAGE,),
    ).fetchall()


def test_what_another_analyser_read_is_read_anew_and_nothing_else(
    make_context, committing, tmp_path: Path, monkeypatch
):
    # Pages end within a tenant's rows, and tenants share them.
    monkeypatch.setattr(renewal, "STEP_ENTRIES", 3)
    for number in range(4):
        for tenant in TENANTS:
            draft = EntryDraft("api", f"{number}", f"lifted RSR 00{number}")
            save_page(
                committing, tenant, [draft], stages=[METADATA_STAGE], editor="test"
            )
    ctx = make_context()
    extract_metadata(ctx)
    place_entries(ctx)
    assert renewed(ctx, committing) == []

    file = tmp_path / "facility.yaml"
    file.write_text(NAMED, "utf-8")
    newer = make_context(LOGCHORD_ANALYSER__FACILITY_FILE=str(file))
    gone = "SELECT id, tenant FROM entry WHERE external_id = '3'"
    for entry_id, tenant in committing.execute(gone).fetchall():
        tombstone(committing, tenant, entry_id, reason="test", stages=[])

    expected = [(f"{tenant}:{n}", rows.BULK) for tenant in TENANTS for n in range(3)]
    assert renewed(newer, committing) == sorted(expected)
    extract_metadata(newer)
    place_entries(newer)
    streams = committing.execute(
        "SELECT stream FROM entry_text t JOIN entry e ON e.id = t.entry_id"
        " WHERE e.deleted_at IS NULL"
    ).fetchall()
    assert {stream for (stream,) in streams} == {f"lift rsr-00{n}" for n in range(3)}
    assert renewed(newer, committing) == []


def test_what_an_older_release_read_gets_its_place_among_its_like(
    make_context, committing
):
    for number in range(2):
        draft = EntryDraft("api", f"{number}", "beam lost")
        save_page(
            committing, "default", [draft], stages=[METADATA_STAGE], editor="test"
        )
    ctx = make_context()
    extract_metadata(ctx)
    place_entries(ctx)
    committing.execute(
        "DELETE FROM likeness WHERE entry_id ="
        " (SELECT id FROM entry WHERE external_id = '1')"
    )

    assert renewed(ctx, committing) == [("default:1", rows.BULK)]
    extract_metadata(ctx)
    place_entries(ctx)
    assert renewed(ctx, committing) == []
