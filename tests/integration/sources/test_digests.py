"""A record of a file is known again by its own bytes, whatever else has changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from shared.postgres.pool import connection
from shared.settings.source_sections import SourceSettings
from shared.sources import run_records
from shared.work import due_work as due
from tests.support.fixtures.sources import Runtime

NAME, COUNT = "lines", 25


def lines() -> str:
    """Return records as lines, the last one without its end."""
    return "\n".join(
        json.dumps({"id": str(n), "timestamp": 1_718_000_000 + n, "text": f"Text {n}"})
        for n in range(COUNT)
    )


def replace_by(path: Path, text: str) -> None:
    """Put another file in the place of one, so that it has to be read again."""
    other = path.with_suffix(".new")
    other.write_text(text, "utf-8")
    other.replace(path)


def configure(runtime: Runtime, file: Path, **changes: Any) -> None:
    source = SourceSettings(
        adapter="generic_json",
        path=str(file),
        page_size=10,
        require_initial_ingest=False,
        **changes,
    )
    runtime.add_source(NAME, source)


@pytest.fixture
def path(runtime: Runtime, tmp_path: Path) -> Path:
    file = tmp_path / "log.jsonl"
    file.write_text(lines(), "utf-8")
    configure(runtime, file)
    return file


def stamps(runtime: Runtime) -> dict[str, str]:
    with connection(runtime.pool) as conn:
        found = conn.execute(
            "SELECT external_id, stamp FROM entry WHERE source = 'lines'"
        )
        return dict(found.fetchall())


def test_what_is_read_again_unchanged_writes_nothing(runtime, path):
    assert runtime.run(NAME).added == COUNT
    before = stamps(runtime)

    # The last record has its end by now.
    replace_by(path, f"{lines()}\n")
    again = runtime.run(NAME)

    assert (again.seen, again.unchanged, again.updated) == (COUNT, COUNT, 0)
    assert stamps(runtime) == before
    assert again.bytes == len(lines()) + 1


def test_a_record_that_has_changed_is_read(runtime, path):
    runtime.run(NAME)

    replace_by(path, lines().replace("Text 7", "Text seven"))
    again = runtime.run(NAME)

    assert (again.updated, again.unchanged) == (1, COUNT - 1)
    assert runtime.texts(NAME)["7"] == "|Text seven"


def test_another_map_updates_what_a_file_holds_that_nobody_has_touched(runtime, path):
    runtime.run(NAME)

    configure(runtime, path, args={"map": {"title": "id"}})
    mapped = runtime.run(NAME)
    again = runtime.run(NAME)

    assert (mapped.seen, mapped.updated, mapped.added) == (COUNT, COUNT, 0)
    assert runtime.texts(NAME)["7"] == "7|Text 7"
    assert (again.seen, again.bytes) == (0, 0)
    # Another pace reads nothing, and what a try reads hides nothing from the next run.
    configure(runtime, path, args={"map": {"title": "id"}}, rate_per_second=1)
    assert runtime.run(NAME).seen == 0
    assert runtime.run(NAME, dry_run=True).seen == COUNT
    assert runtime.run(NAME).seen == 0


def test_what_was_parsed_again_is_still_known_by_its_bytes(runtime, path):
    runtime.run(NAME)
    before = stamps(runtime)

    parsed = runtime.run(NAME, run_records.REPARSE)

    assert parsed.seen == COUNT
    assert stamps(runtime) == before
    replace_by(path, lines())
    assert runtime.run(NAME).unchanged == COUNT


def test_what_another_map_reads_otherwise_is_behind_what_is_new_beside_it(
    runtime, path
):
    many = [
        json.dumps({"id": str(n), "timestamp": 1_718_000_000 + n, "text": f"Text {n}"})
        for n in range(300)
    ]
    replace_by(path, "\n".join([*many, ""]))
    runtime.run(NAME)
    with connection(runtime.pool) as conn:
        # Every stage has done what was due until now.
        conn.execute("DELETE FROM work")
    runtime.nudged.clear()
    new = json.dumps({"id": "new", "timestamp": 1_719_000_000, "text": "Trip"})
    edited = many[7].replace("Text 7", "Text seven")
    replace_by(path, "\n".join([*many[:7], edited, *many[8:], new, ""]))

    configure(runtime, path, args={"map": {"title": "id"}})
    mapped = runtime.run(NAME)

    assert (mapped.updated, mapped.added) == (300, 1)
    with connection(runtime.pool) as conn:
        classes = conn.execute(
            "SELECT w.stage, w.class, count(*), array_agg(e.external_id) FILTER"
            "       (WHERE w.class = 0) FROM work w JOIN entry e ON e.id = w.entry_id"
            " GROUP BY w.stage, w.class ORDER BY w.stage, w.class"
        ).fetchall()
        first = due.claim(conn, "metadata", limit=50)
    assert [(stage, kind, count) for stage, kind, count, _ in classes] == [
        ("embed:test", due.LIVE, 2),
        ("embed:test", due.BULK, 299),
        ("metadata", due.LIVE, 2),
        ("metadata", due.BULK, 299),
    ]
    assert {tuple(sorted(ids)) for *_, ids in classes if ids} == {("7", "new")}
    # Whoever works takes these two first, and nobody is nudged for the others.
    assert [one.work_class for one in first] == [due.LIVE] * 2
    assert sum(count for _, count in runtime.nudged) == 2 * 2
