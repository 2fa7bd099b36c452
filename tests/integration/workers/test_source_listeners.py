"""A source that speaks up is asked at once; one that is not heard is polled as ever."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.admin import admin_actions
from shared.work import schedule
from tests.contract.stubs.olog import OlogStub, make_stub
from tests.support.certificates import make_certificate
from tests.support.fixtures.sources import TENANT, Runtime
from tests.support.waiting import until
from workers.adapters.kit.stub import StubEntry
from workers.upkeep import source_listeners
from workers.upkeep.source_listeners import Listeners

NAME = "ring"


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Look and try again without waiting."""
    monkeypatch.setattr(source_listeners, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(source_listeners, "FIRST_WAIT_SECONDS", 0.05)


@pytest.fixture
def olog(runtime: Runtime) -> OlogStub:
    stub = runtime.stub(make_stub)
    runtime.configure(NAME, stub, args={"listen": True}, require_initial_ingest=False)
    runtime.run(NAME)
    return stub


@pytest.fixture
def listeners(runtime: Runtime):
    made = Listeners(runtime.settings)
    yield made
    made.stop()


def listening_threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name == f"hears {NAME}"]


def is_due(runtime: Runtime, listeners: Listeners) -> bool:
    """Do one turn, as whoever schedules does; tell whether the tail is due."""
    with connection(runtime.pool) as conn:
        listeners.turn(conn)
        due = schedule.list_due_runs(conn)
    return (NAME, run_records.TAIL) in {(one.source, one.kind) for one in due}


def hear(runtime: Runtime, listeners: Listeners, olog: OlogStub) -> None:
    """Wait until the source is listened to, and read what it had before."""
    until(lambda: is_due(runtime, listeners), within_seconds=20, what="a word")
    assert olog.is_heard()
    runtime.turn(NAME, run_records.TAIL)
    assert not is_due(runtime, listeners)


def test_a_word_makes_the_tail_due_and_carries_nothing(runtime, listeners, olog):
    hear(runtime, listeners, olog)

    olog.add(StubEntry(number=7, time=datetime.now(UTC), text="RF trip"))

    until(lambda: is_due(runtime, listeners), within_seconds=10, what="a due tail")
    assert runtime.texts(NAME) == {}
    runtime.turn(NAME, run_records.TAIL)
    assert list(runtime.texts(NAME)) == ["7"]


def test_a_lost_socket_costs_nothing_and_is_opened_again(runtime, listeners, olog):
    hear(runtime, listeners, olog)

    olog.drop()
    olog.add(StubEntry(number=7, time=datetime.now(UTC), text="While nobody listens"))

    # Whoever listens again asks what was said meanwhile.
    hear(runtime, listeners, olog)
    assert list(runtime.texts(NAME)) == ["7"]


def test_a_word_during_a_run_is_not_forgotten(runtime, listeners, olog):
    hear(runtime, listeners, olog)
    with connection(runtime.pool) as conn:
        schedule.bring_forward(conn, NAME, run_records.TAIL, every_seconds=3600)
        run = schedule.take_due_run(conn, NAME, run_records.TAIL)
    assert run is not None

    olog.add(StubEntry(number=7, time=datetime.now(UTC), text="RF trip"))
    until(lambda: listeners.heard(NAME), within_seconds=10, what="a word")
    assert not is_due(runtime, listeners)
    with connection(runtime.pool) as conn:
        schedule.finish(conn, run, wait_seconds=3600)

    assert is_due(runtime, listeners)


def test_who_is_paused_or_set_otherwise_is_listened_to_no_more(
    runtime, listeners, olog
):
    hear(runtime, listeners, olog)
    with connection(runtime.pool) as conn:
        admin_actions.pause(conn, TENANT, NAME, subject="test")
    is_due(runtime, listeners)
    until(lambda: not olog.is_heard(), within_seconds=10, what="a closed socket")

    with connection(runtime.pool) as conn:
        admin_actions.resume(conn, TENANT, NAME)
    runtime.turn(NAME, run_records.TAIL)
    hear(runtime, listeners, olog)
    runtime.configure(NAME, olog, args={"listen": False}, require_initial_ingest=False)
    is_due(runtime, listeners)
    until(lambda: not olog.is_heard(), within_seconds=10, what="a closed socket")


def test_a_source_that_fails_is_left_alone_whatever_it_says(runtime, listeners, olog):
    hear(runtime, listeners, olog)
    with connection(runtime.pool) as conn:
        conn.execute("UPDATE source_schedule SET failures = 3 WHERE kind = 'tail'")

    olog.tell("NEW_LOG_ENTRY")
    until(lambda: listeners.heard(NAME), within_seconds=10, what="a word")

    assert not is_due(runtime, listeners)
    assert not listeners.heard(NAME)


def test_a_source_that_could_not_be_opened_is_heard_once_it_is_mended(
    runtime, listeners, olog, tmp_path
):
    authority = make_certificate(tmp_path)
    runtime.configure(
        NAME,
        olog,
        args={"listen": True},
        ca_file=str(authority),
        require_initial_ingest=False,
    )
    runtime.run(NAME)
    away = authority.rename(tmp_path / "away.pem")
    with capture_logs() as logs:
        assert not is_due(runtime, listeners)
        until(lambda: len(logs) > 1, within_seconds=10, what="two refusals")
    told = [one for one in logs if one["event"] == "source_not_heard"]
    assert {one["code"] for one in told} == {"configuration_invalid"}
    assert not olog.is_heard()

    away.rename(authority)

    until(lambda: is_due(runtime, listeners), within_seconds=20, what="a word")
    assert olog.is_heard()


def test_a_source_that_is_not_set_to_speak_has_no_thread(runtime, listeners, olog):
    runtime.configure(NAME, olog, args={"listen": False}, require_initial_ingest=False)

    assert not is_due(runtime, listeners)

    until(lambda: not listening_threads(), within_seconds=10, what="an ended thread")
    assert not is_due(runtime, listeners)
    assert not olog.is_heard()
