"""`logchord source delete-entries`: what a removed source has left is deleted."""

from subprocess import CompletedProcess
from uuid import UUID

import psycopg
import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.removal import retention
from shared.entries.saving.save import save_page
from shared.errors import GoneError
from tests.support.typed import typed

ALL = Scope("default", "me")
RING = "sources:\n  ring: {adapter: olog, base_url: 'http://127.0.0.1:9'}\n"


def test_the_entries_of_a_removed_source_are_deleted_and_of_no_other(
    database, tmp_path
):
    drafts = [
        EntryDraft(source, f"{number}", "text")
        for source in ("ring", "hall")
        for number in range(3)
    ]
    with psycopg.connect(database, autocommit=True) as conn:
        save_page(conn, "default", drafts, stages=["metadata"], editor="test")

    def run() -> CompletedProcess[str]:
        environ = {
            "DATABASE_URL": database,
            "OPENSEARCH_URL": "off",
            "LOGCHORD_HOME": str(tmp_path / "home"),
        }
        words = ("source", "delete-entries", "ring", "--yes")
        return typed(*words, environ=environ, folder=tmp_path)

    (tmp_path / "logchord.yaml").write_text(RING)
    refused = run()
    assert refused.returncode == 2
    assert "take it out of the configuration file" in " ".join(refused.stderr.split())
    (tmp_path / "logchord.yaml").unlink()
    done = run()

    assert done.returncode == 0, done.stderr
    assert "deleted 3 entries of ring" in done.stdout
    with psycopg.connect(database) as conn:
        rows = conn.execute(
            "SELECT source, deleted_at IS NOT NULL, count(*) FROM entry"
            " GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
        gone = read_entries.get_by_external_id(conn, ALL, "ring", "1")
        with pytest.raises(GoneError) as caught:
            read_entries.require_entry(gone)
    assert rows == [("hall", False, 3), ("ring", True, 3)]
    told = caught.value.message
    assert told == "This entry was deleted here, after its source was removed."


def test_each_step_goes_on_behind_what_was_deleted_before_it(database):
    drafts = [EntryDraft("ring", f"{number}", "text") for number in range(5)]
    with psycopg.connect(database, autocommit=True) as conn:
        save_page(conn, "default", drafts, stages=[], editor="test")
        steps: list[list[UUID]] = [[]]
        after = UUID(int=0)
        while len(steps) == 1 or len(steps[-1]) == 2:
            steps.append(
                retention.delete_of_source(
                    conn, "default", "ring", stages=[], limit=2, after=after
                )
            )
            after = steps[-1][-1]
            # What lies before is not looked at any more.
            conn.execute("UPDATE entry SET deleted_at = NULL")
    assert [len(step) for step in steps[1:]] == [2, 2, 1]
