"""What could not be read is kept as received, and read once more when asked."""

import json
from datetime import UTC, datetime, timedelta

from shared.postgres.pool import connection
from shared.settings.source_sections import SourceSettings
from shared.sources import run_records
from shared.sources.intake import quarantined_items
from shared.sources.intake.retry_items import read_again
from shared.work.quarantine import Which
from tests.contract.stubs.elog_http import ElogServerStub
from tests.support.fixtures.sources import TENANT, Runtime
from workers.adapters.kit.stub import StubEntry

NAME = "sheets"
LINES = [
    {"id": "1", "timestamp": "2026-03-02T05:10:00Z", "title": "A", "text": "One"},
    {"id": "2", "timestamp": "2026-03-02 05:10:00", "title": "B", "text": "Two"},
    {"id": "3", "timestamp": "no time at all", "title": "C", "text": "Three"},
]


def configure(runtime: Runtime, path: str, **changes: str) -> None:
    source = SourceSettings.model_validate(
        {"adapter": "generic_json", "path": path, "require_initial_ingest": False}
        | changes
    )
    runtime.add_source(NAME, source)


def test_a_setting_mended_lets_what_was_put_aside_be_read(runtime, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in LINES), "utf-8")
    configure(runtime, str(path))
    run = runtime.run(NAME, run_records.TAIL)
    assert (run.added, run.quarantined) == (1, 2)

    configure(runtime, str(path), timezone="Europe/Zurich")
    with connection(runtime.pool) as conn:
        read = read_again(
            conn, runtime.settings, Which(TENANT, source=NAME), ["metadata"], limit=10
        )

    assert (len(read.entries), read.still_quarantined) == (1, 1)
    assert set(runtime.texts(NAME)) == {"1", "2"}
    with connection(runtime.pool) as conn:
        left = conn.execute(
            "SELECT external_id, error -> 'details' ->> 'reason', excerpt"
            " FROM quarantine WHERE stage = %s",
            [quarantined_items.STAGE],
        ).fetchall()
        due = conn.execute(
            "SELECT count(*) FROM work WHERE entry_id = ANY(%s)", [read.entries]
        ).fetchone()
    assert [row[:2] for row in left] == [("3", "time_unreadable")]
    assert "no time at all" in left[0][2]
    assert due == (1,)


def test_other_settings_let_what_was_refused_be_fetched_again(runtime):
    stub = runtime.stub(ElogServerStub)
    noon = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    first = stub.add(StubEntry(1, noon, "Title", "Text"))
    stub.malform(first)
    runtime.configure(NAME, stub)
    runtime.run(NAME, run_records.BACKFILL)

    def polls() -> list[str]:
        before = len(stub.requests())
        runtime.run(NAME)
        return [one for one in stub.requests()[before:] if "cmd=Download" in one]

    polls()
    assert polls() == []
    runtime.configure(NAME, stub, timezone="Europe/Rome")
    assert len(polls()) == 1
