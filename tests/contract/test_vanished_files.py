"""Files that disappear between the listing of a folder and the reading of them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from shared.sources import run_records
from shared.sources.local_files import PathFiles
from tests.contract.stubs.elog_files import ElogFolderStub
from tests.contract.stubs.writing import FileStub
from workers.adapters.kit.keeping import Keeping, keeping

Between = Callable[[str, Callable[[], object]], None]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Between:
    """Let something happen once, behind the next listing that has a file in it."""
    real = PathFiles.names

    def arrange(name: str, happens: Callable[[], object]) -> None:
        waiting = [happens]

        def names(files: PathFiles, pattern: str | None = None) -> list[str]:
            found = real(files, pattern)
            if waiting and any(one.endswith(name) for one in found):
                waiting.pop()()
            return found

        monkeypatch.setattr(PathFiles, "names", names)

    return arrange


@pytest.fixture
def elog(kit_subjects, kit_pool) -> Iterator[Keeping]:
    subject = next(one for one in kit_subjects if one.name == "elog_files")
    with keeping(subject, kit_pool) as one:
        yield one


def _folder(kept: Keeping) -> ElogFolderStub:
    assert isinstance(kept.stub, ElogFolderStub)
    return kept.stub


def _file(kept: Keeping) -> FileStub:
    assert isinstance(kept.stub, FileStub)
    return kept.stub


def _days(elog: Keeping) -> list[str]:
    """Write a message a day, and have them loaded."""
    times = [elog.recent - timedelta(days=day) for day in range(4)]
    ids = elog.add(*(elog.some(1, time=one)[0] for one in times))
    elog.load()
    return ids


def _poll(elog: Keeping) -> None:
    run = elog.run()
    assert run.error is None, run.error


@pytest.mark.parametrize("kind", [run_records.TAIL, run_records.RECONCILE])
def test_the_other_days_are_read_while_elogd_removes_one_that_it_has_emptied(
    elog, between, kind
):
    ids = _days(elog)
    gone, edited = ids[1], ids[2]
    elog.stub.edit(edited, text="Edited")
    name = _folder(elog).path_of(gone).name
    between(name, lambda: elog.stub.delete(gone))

    run = elog.run(kind)

    assert run.error is None, run.error
    with elog.stock() as stock:
        assert stock.entry(edited).text == "Edited"
    _poll(elog)
    _poll(elog)
    assert elog.live() == {*ids} - {gone}
    assert elog.standing().degraded is None


def test_a_message_that_moves_to_another_day_meanwhile_is_never_deleted(elog, between):
    ids = _days(elog)
    moved, day = ids[1], elog.recent - timedelta(days=20)
    name = _folder(elog).path_of(moved).name
    between(name, lambda: elog.stub.edit(moved, time=day))

    for _ in range(3):
        _poll(elog)
        assert elog.live() == {*ids}

    with elog.stock() as stock:
        assert stock.entry(moved).entry_time == day


def test_a_backfill_goes_on_behind_a_day_that_has_gone(elog, between):
    times = [elog.recent - timedelta(days=day) for day in range(4)]
    ids = elog.add(*(elog.some(1, time=one)[0] for one in times))
    name = _folder(elog).path_of(ids[1]).name
    between(name, lambda: elog.stub.delete(ids[1]))
    elog.load()
    assert elog.live() == {*ids} - {ids[1]}


def test_a_disk_that_goes_away_meanwhile_is_an_outage_and_deletes_nothing(
    elog, between
):
    ids = _days(elog)
    folder = _folder(elog).folder
    away = folder.with_name(f"{folder.name}-away")

    def unmount() -> None:
        folder.rename(away)
        folder.mkdir()

    between(_folder(elog).path_of(ids[0]).name, unmount)
    run = elog.run()
    assert run.error is not None
    assert run.error["code"] == "source_unreachable"

    folder.rmdir()
    away.rename(folder)
    _poll(elog)
    _poll(elog)
    assert elog.live() == {*ids}
    assert elog.standing().failures == 0


@pytest.fixture(params=["generic_csv", "generic_json", "generic_xml"])
def records(request, kit_subjects, kit_pool) -> Iterator[Keeping]:
    """A folder of two files of records that hold everything, both of them loaded."""
    subject = next(one for one in kit_subjects if one.name == request.param)
    with ExitStack() as ends:
        one = ends.enter_context(keeping(subject, kit_pool))
        other = subject.make_stub()
        ends.callback(other.close)
        folder = _file(one).folder
        args = {**one.stub.settings()["args"], "complete_snapshot": True}
        one.changes = {"path": str(folder), "args": args}
        one.add(*one.some(3))
        for entry in one.some(3):
            other.add(entry)
        other.path.rename(folder / f"another{other.path.suffix}")
        one.load()
        assert len(one.live()) == 6
        # Comparing has nothing to delete, and what it remembers is there.
        run = one.run(run_records.RECONCILE)
        assert (run.error, run.deleted) == (None, 0)
        yield one


def _other(records: Keeping) -> Path:
    file = _file(records).path
    return file.with_name(f"another{file.suffix}")


def test_other_files_of_records_are_read_when_one_has_gone(records, between):
    gone = _other(records)
    ids = records.live()
    (fresh,) = records.add(records.fresh())
    between(gone.name, gone.unlink)

    run = records.run()

    assert (run.error, run.added, run.deleted) == (None, 1, 0)
    assert records.live() == {*ids, fresh}
    run = records.run(run_records.RECONCILE, run_records.RunRequest(confirm_prune=True))
    assert (run.error, run.deleted) == (None, 3)
    assert len(records.live()) == 4


def test_records_of_a_file_that_is_renamed_meanwhile_stay(records, between):
    ids = records.live()
    before = _other(records)
    between(before.name, lambda: before.rename(before.with_stem("zz")))
    run = records.run(run_records.RECONCILE, run_records.RunRequest(confirm_prune=True))
    assert (run.error, run.deleted) == (None, 0)
    assert records.live() == ids
    with records.stock() as stock:
        assert {one.revision for one in stock.entries()} == {1}


def test_the_only_file_that_goes_meanwhile_is_an_outage(records, between):
    ids = records.live()
    _other(records).unlink()
    file = _file(records).path
    kept = file.read_bytes()
    with file.open("ab") as growing:
        growing.write(b"\n")
    between(file.name, file.unlink)
    run = records.run()
    assert run.error is not None
    assert run.error["code"] == "source_unreachable"
    file.write_bytes(kept)
    run = records.run()
    assert run.error is None, run.error
    assert records.live() == ids
