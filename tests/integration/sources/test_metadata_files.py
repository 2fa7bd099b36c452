"""A `metadata.json` beside an entry becomes part of its metadata, once, or a flag."""

import json
import time
from typing import Any

import pytest

from shared.errors import LogchordError
from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.intake import metadata_sidecar
from shared.sources.runs import run_steps
from shared.sources.runs.run_steps import Means
from tests.contract.stubs.olog import OlogStub
from tests.support.fixtures.sources import STAGES, TENANT, open_io, recent_entry
from tests.support.waiting import until
from workers.adapters.kit.stored import Stock, StoredEntry
from workers.adapters.kit.stub import StubEntry, StubFile

NAME = "ring"
SAID = {"operator": "Ilse", "beam": {"current": 401}}
AS_STORED = {"operator": "Ilse", "beam": '{"current": 401}'}


def entry(number: int, content: bytes | None = None, **fields: Any) -> StubEntry:
    said = json.dumps(SAID).encode() if content is None else content
    file = StubFile("Metadata.JSON", said, **fields)
    return recent_entry(number, files=(file,), metadata={"gap": "12"})


class SlowOlog(OlogStub):
    """Never comes to the end of a file."""

    def _file(self, name: str) -> Any:
        self._server.closing.wait(60)
        return super()._file(name)


@pytest.fixture
def olog(runtime):
    stub = runtime.stub(OlogStub)
    runtime.configure(NAME, stub)
    return stub


def stored(runtime, external_id: str) -> StoredEntry:
    with connection(runtime.pool) as conn:
        return Stock(conn, TENANT, NAME).entry(external_id)


def files_asked(stub: OlogStub) -> int:
    return sum("attachment" in one for one in stub.requests())


def test_what_the_file_says_stands_among_the_metadata_and_the_file_stays(runtime, olog):
    own = olog.add(entry(1))

    run = runtime.run(NAME)

    assert (run.added, run.state) == (1, "done")
    found = stored(runtime, own)
    assert found.metadata.items() >= AS_STORED.items()
    assert "12" in found.metadata.values()
    assert metadata_sidecar.FLAG not in found.flags
    with connection(runtime.pool) as conn:
        files = Stock(conn, TENANT, NAME).attachments()
    assert [one["filename"] for one in files] == ["Metadata.JSON"]


def test_of_two_values_of_one_name_that_of_the_entry_stands(runtime, olog):
    (key,) = (
        key
        for key, value in _metadata_of(runtime, olog, entry(1)).items()
        if value == "12"
    )
    clash = entry(2, json.dumps({key: "99", "other": "x"}).encode())

    found = _metadata_of(runtime, olog, clash)

    assert (found[key], found["other"]) == ("12", "x")


def _metadata_of(runtime, olog, one: StubEntry) -> dict[str, Any]:
    own = olog.add(one)
    runtime.run(NAME)
    return stored(runtime, own).metadata


@pytest.mark.parametrize(
    "content",
    [b"{", b"[1]", b"", b'{"a": 1, "a": 2}', b"\xff{}", b'{"a": "' + b"x" * 10**6],
    ids=["no JSON", "a list", "nothing", "a name twice", "no text", "too large"],
)
def test_a_file_that_is_no_object_costs_a_flag_and_nothing_else(runtime, olog, content):
    own = olog.add(entry(1, content))

    run = runtime.run(NAME)

    assert (run.added, run.quarantined, run.state) == (1, 0, "done")
    found = stored(runtime, own)
    assert metadata_sidecar.FLAG in found.flags
    assert "12" in found.metadata.values()


def test_a_file_that_does_not_come_is_waited_for_five_seconds(runtime):
    stub = runtime.stub(SlowOlog)
    runtime.configure(NAME, stub)
    own = stub.add(entry(1))
    began = time.monotonic()

    run = runtime.run(NAME)

    assert time.monotonic() - began < 2 * metadata_sidecar.FETCH_SECONDS
    assert (run.added, run.state) == (1, "done")
    assert metadata_sidecar.FLAG in stored(runtime, own).flags


def test_a_missing_file_is_asked_for_again_by_a_backfill_alone(runtime, olog):
    own = olog.add(entry(1, missing=True))
    runtime.run(NAME)
    assert metadata_sidecar.FLAG in stored(runtime, own).flags
    # The list says the same as before, only that the file is there.
    olog.edit(own, files=entry(1).files)
    asked = files_asked(olog)

    runtime.run(NAME)
    assert files_asked(olog) == asked
    run = runtime.run(NAME, run_records.BACKFILL)

    assert run.updated == 1
    found = stored(runtime, own)
    assert found.metadata.items() >= AS_STORED.items()
    assert metadata_sidecar.FLAG not in found.flags


def test_a_reparse_keeps_what_the_file_said_though_it_is_gone(runtime, olog):
    own = olog.add(entry(1))
    runtime.run(NAME)
    asked = len(olog.requests())

    run = runtime.run(NAME, run_records.REPARSE)

    assert (run.unchanged, run.updated) == (1, 0)
    assert len(olog.requests()) == asked
    assert stored(runtime, own).metadata.items() >= AS_STORED.items()


def test_where_files_are_only_linked_none_is_asked_for(runtime, olog):
    runtime.configure(NAME, olog, attachments="link")
    own = olog.add(entry(1))

    runtime.run(NAME)

    assert files_asked(olog) == 0
    found = stored(runtime, own)
    assert "operator" not in found.metadata
    assert metadata_sidecar.FLAG not in found.flags


def test_a_page_with_more_files_than_there_is_time_for_comes_in_parts(runtime, olog):
    ids = [olog.add(entry(number)) for number in range(1, 4)]
    run_id = runtime.ask(NAME)
    means = Means(
        runtime.settings,
        runtime.pool,
        STAGES,
        lambda _, __: None,
        open_io,
        files_seconds=0,
    )
    turns = 0

    def has_ended() -> bool:
        nonlocal turns
        taken = run_steps.take_due_run(means, NAME, run_records.TAIL)
        if taken is not None:
            turns += 1
            taken.settle(_error(taken))
        run = runtime.found(run_id)
        return run is not None and run.ended_at is not None

    until(has_ended, within_seconds=20, what="the end of the run")

    assert turns == len(ids)
    assert files_asked(olog) == len(ids)
    for own in ids:
        assert stored(runtime, own).metadata.items() >= AS_STORED.items()
    run = runtime.found(run_id)
    assert (run.state, run.added) == ("done", len(ids))


def _error(taken: run_steps.SourceRun) -> Any:
    try:
        taken.take_steps(time.monotonic() + 15)
    except LogchordError as exc:
        return exc
    return None
