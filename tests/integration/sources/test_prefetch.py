"""A page is read ahead while the one before is stored: nothing shows of it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from shared.errors import IngestionError
from shared.postgres.pool import connection
from shared.settings.source_sections import SourceSettings
from shared.sources import adapter_memory, run_records
from shared.sources.intake.store_page import Intake
from shared.work import schedule
from tests.support.fixtures.sources import Runtime

NAME, PAGE = "lines", 10


def write(path: Path, texts: Sequence[tuple[int, str]]) -> None:
    """Write records as lines: the number of each, and its text."""
    lines = [
        {"id": str(number), "timestamp": 1_718_000_000 + number, "text": text}
        for number, text in texts
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")


def numbered(first: int, count: int) -> list[tuple[int, str]]:
    return [(number, f"Text {number}") for number in range(first, first + count)]


@pytest.fixture
def folder(runtime: Runtime, tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    path.mkdir()
    source = SourceSettings(
        adapter="generic_json",
        path=str(path),
        page_size=PAGE,
        require_initial_ingest=False,
    )
    runtime.add_source(NAME, source)
    return path


def test_ended_after_every_page_nothing_is_lost_or_counted_twice(runtime, folder):
    write(folder / "a.jsonl", numbered(0, 25))
    write(folder / "b.jsonl", numbered(25, 20))
    run_id = runtime.ask(NAME)

    found = []
    for _ in range(3):
        runtime.turn(NAME, run_records.TAIL, seconds=0)
        found.append(len(runtime.texts(NAME)))
    runtime.turn(NAME, run_records.TAIL)

    run = runtime.found(run_id)
    assert found == [PAGE, 2 * PAGE, 3 * PAGE]
    assert run is not None
    assert run.state == "done"
    assert (run.seen, run.added, run.unchanged) == (45, 45, 0)
    assert len(runtime.texts(NAME)) == 45


def test_what_the_adapter_remembers_of_a_page_is_kept_with_that_page(runtime, folder):
    # A file counts as read with the page behind its last one.
    for number in range(4):
        write(folder / f"{number}.jsonl", numbered(number * PAGE, PAGE))
    with connection(runtime.pool) as conn:
        schedule.bring_forward(conn, NAME, run_records.TAIL, every_seconds=3600)

    found = []
    for _ in range(3):
        runtime.turn(NAME, run_records.TAIL, seconds=0)
        with connection(runtime.pool) as conn:
            found.append(
                (len(runtime.texts(NAME)), len(adapter_memory.load(conn, NAME, "")))
            )

    assert [entries for entries, _ in found] == [10, 20, 30]
    assert all(files * PAGE <= entries for entries, files in found)


def test_the_last_of_several_records_of_one_id_holds_on_whatever_page(runtime, folder):
    path = folder / "a.jsonl"
    write(path, [(1, "First"), *numbered(10, PAGE - 1)])
    assert runtime.run(NAME).added == PAGE

    rest = [*numbered(20, PAGE - 1)]
    write(path, [(1, "Second"), *numbered(10, PAGE - 1), (1, "First"), *rest])
    run = runtime.run(NAME)

    assert (run.updated, run.added) == (2, PAGE - 1)
    assert runtime.texts(NAME)["1"] == "|First"


def test_a_page_that_cannot_be_stored_takes_the_next_with_it(
    runtime, folder, monkeypatch
):
    write(folder / "a.jsonl", numbered(0, 3 * PAGE))
    stored = Intake.store
    calls = []

    def fail_at_second(self, *args, **named):
        calls.append(args)
        if len(calls) == 2:
            raise IngestionError("No.", reason="no_file")
        return stored(self, *args, **named)

    monkeypatch.setattr(Intake, "store", fail_at_second)
    with connection(runtime.pool) as conn:
        schedule.bring_forward(conn, NAME, run_records.TAIL, every_seconds=3600)
    error = runtime.turn(NAME, run_records.TAIL)
    assert error is not None
    assert set(runtime.texts(NAME)) == {str(number) for number in range(PAGE)}

    assert runtime.run(NAME).added == 2 * PAGE
    assert len(runtime.texts(NAME)) == 3 * PAGE


def test_a_limit_takes_in_no_more_than_it_says(runtime, folder):
    write(folder / "a.jsonl", numbered(0, 35))
    assert runtime.run(NAME, limit=12).added == 12
    assert len(runtime.texts(NAME)) == 12
    assert runtime.run(NAME).added == 23


def test_what_is_only_tried_remembers_nothing(runtime, folder):
    for number in range(3):
        write(folder / f"{number}.jsonl", numbered(number * PAGE, PAGE))
    run = runtime.run(NAME, dry_run=True)
    assert (run.seen, run.added) == (30, 0)
    with connection(runtime.pool) as conn:
        assert adapter_memory.load(conn, NAME, "") == {}
    assert runtime.run(NAME).added == 30
