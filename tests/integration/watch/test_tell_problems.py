"""Operators are told once that something is wrong, and once that it is over."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, LiteralString

import pytest
from psycopg import Connection

from local.server import free_port
from shared.errors import LogchordError, SourceUnreachableError
from shared.settings.settings import Settings
from shared.sources import source_state
from shared.watch import tell_problems
from shared.work import lag
from shared.work.diagnosis import Problem
from tests.support.stub_servers.hook import Hook
from tests.support.stub_servers.smtp_server import MailServer
from workers.upkeep.main import arrange_sources

Tell = Callable[..., LogchordError | None]

LATER: LiteralString = """
    UPDATE operations_problem
       SET since = since - '10 min'::interval, gone_at = gone_at - '10 min'::interval,
           due_at = due_at - '10 min'::interval"""


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook().serving() as found:
        yield found


def settings_of(tmp_path: Path, url: str, **given: str) -> Settings:
    return Settings.load(
        {
            "LOGCHORD_HOME": str(tmp_path),
            "LOGCHORD_OPERATIONS__WEBHOOK_URL": url,
            "LOGCHORD_WEBHOOK_ALLOWED_HOSTS": given.pop("hosts", "example.org"),
            "LOGCHORD_PUBLIC_URL": "https://logbook.example.org",
            **given,
        }
    )


@pytest.fixture
def tell(committing: Connection, tmp_path: Path, hook: Hook) -> Tell:
    """Turns once, as upkeep does; another process each time."""
    hosts = f"127.0.0.1:{hook.port}"
    path = tmp_path / "logchord.yaml"
    path.write_text(
        "sources:\n  hall: {adapter: olog, base_url: 'http://127.0.0.1:9'}\n"
    )
    arrange_sources(committing, Settings(), {"LOGCHORD_CONFIG": str(path)})
    # Alive, and the only one there is.
    committing.execute(
        "INSERT INTO worker_process (id, kind, queues, pid, host, version, seen_at)"
        " VALUES (uuidv7(), 'upkeep', '{}', 1, 'h', '1', now() + '1 h')"
    )

    def turn(url: str = hook.url, **given: str) -> LogchordError | None:
        settings = settings_of(tmp_path, url, **{"hosts": hosts, **given})
        counts = lag.keep_counts()
        return tell_problems.tell_problems(committing, settings, counts)

    return turn


def stall(conn: Connection) -> None:
    error = SourceUnreachableError("It does not answer.")
    source_state.failed(conn, "default", "hall", error, most=99)


def states(hook: Hook) -> list[tuple[str, str]]:
    return [(one["state"], one["about"]) for one in hook.came]


@pytest.mark.requirement("U34")
def test_a_stalled_source_is_told_once_and_once_that_it_is_over(
    committing: Connection, hook: Hook, tell: Tell
) -> None:
    stall(committing)
    tell()
    assert hook.came == []
    committing.execute(LATER)
    for _ in range(3):
        assert tell() is None
        stall(committing)

    # It flaps.
    for _ in range(3):
        source_state.succeeded(committing, "default", "hall")
        tell()
        stall(committing)
        tell()
    assert states(hook) == [("began", "source hall")]

    source_state.succeeded(committing, "default", "hall")
    tell()
    committing.execute(LATER)
    for _ in range(3):
        tell()

    assert states(hook) == [("began", "source hall"), ("ended", "source hall")]
    began, ended = hook.came
    assert began["problem_id"] == ended["problem_id"]
    assert "It does not answer." in began["message"]
    assert began["ended_at"] is None
    assert ended["ended_at"] is not None
    assert committing.execute("SELECT FROM operations_problem").fetchall() == []


def test_what_is_over_within_two_minutes_is_told_to_nobody(
    committing: Connection, hook: Hook, tell: Tell
) -> None:
    stall(committing)
    tell()
    source_state.succeeded(committing, "default", "hall")
    tell()
    committing.execute(LATER)
    tell()

    assert hook.came == []
    assert committing.execute("SELECT FROM operations_problem").fetchall() == []


@pytest.mark.requirement("U34")
def test_a_receiver_that_is_dead_is_told_all_of_it_when_it_is_back(
    committing: Connection, hook: Hook, tell: Tell
) -> None:
    stall(committing)
    tell()
    committing.execute(LATER)
    # Each looks again: what is to be sent waits longer and longer, and is never lost.
    for number in range(1, 12):
        hook.statuses = [500]
        assert tell() is not None
        assert tell() is not None
        assert len(hook.came) == number
        committing.execute(
            "UPDATE operations_problem SET due_at = now() - '1 s'::interval"
        )
    source_state.succeeded(committing, "default", "hall")
    hook.statuses = [500]
    tell()
    committing.execute(
        "UPDATE operations_problem SET gone_at = now() - '1 h'::interval"
    )
    assert tell() is not None
    hook.came.clear()

    committing.execute("UPDATE operations_problem SET due_at = now() - '1 s'::interval")
    assert tell() is None

    assert states(hook) == [("began", "source hall"), ("ended", "source hall")]


def test_whoever_dies_while_sending_sends_it_again_by_the_same_id(
    committing: Connection, hook: Hook, tell: Tell
) -> None:
    stall(committing)
    tell()
    committing.execute(LATER)
    tell_problems.note_problems(committing, [Problem("source hall", "It is away.")])
    claimed = tell_problems.claim(committing)
    assert claimed is not None
    tell()
    assert hook.came == []

    committing.execute("UPDATE operations_problem SET due_at = now() - '1 s'::interval")
    tell()

    assert [one["problem_id"] for one in hook.came] == [str(claimed.id)]


def test_a_worker_that_is_forgotten_is_not_back(
    committing: Connection, hook: Hook, tell: Tell
) -> None:
    added = (
        "INSERT INTO worker_process (id, kind, queues, pid, host, version, since,"
        " seen_at) VALUES (uuidv7(), 'search', '{}', 7, 'h', '1', now() - %s::interval,"
        " now() - %s::interval)"
    )
    committing.execute(added, ("1 h", "1 min"))
    tell()
    committing.execute(LATER)
    tell()
    committing.execute("DELETE FROM worker_process WHERE kind = 'search'")
    for _ in range(2):
        tell()
        committing.execute(LATER)
    assert states(hook) == [("began", "worker search")]

    committing.execute(added, ("1 s", "1 s"))
    tell()
    committing.execute(LATER)
    tell()

    assert states(hook)[1:] == [("ended", "worker search")]


def test_an_outage_is_one_problem_however_many_stages_rest(
    committing: Connection, hook: Hook, tell: Tell
) -> None:
    committing.execute(
        "INSERT INTO stage_pause (stage, code, until) VALUES"
        " ('index', 'opensearch_unavailable', now() + '1 h'::interval),"
        " ('duplicates', 'opensearch_unavailable', now() + '1 h'::interval)"
    )
    tell()
    committing.execute(LATER)
    tell()

    assert states(hook) == [("began", "outage: opensearch_unavailable")]


def test_a_chat_is_told_in_words_that_wake_nobody_else(
    committing: Connection, hook: Hook, tell: Tell
) -> None:
    error = SourceUnreachableError("<!channel> & @here")
    source_state.failed(committing, "default", "hall", error, most=99)
    tell()
    committing.execute(LATER)
    tell(f"chat+{hook.url}")

    [told] = hook.came
    assert set(told) == {"text"}
    assert told["text"].startswith(
        "Logchord: source hall\nThe source 'hall' has failed"
    )
    assert "&lt;!channel&gt; &amp; @\u200bhere" in told["text"]
    assert told["text"].endswith("\nhttps://logbook.example.org/status")


def test_posts_are_signed_where_a_secret_is_set_and_go_to_named_hosts_alone(
    committing: Connection, hook: Hook, tell: Tell
) -> None:
    stall(committing)
    tell()
    committing.execute(LATER)
    assert tell(hosts="example.org") is not None
    assert hook.came == []
    committing.execute("UPDATE operations_problem SET due_at = now() - '1 s'::interval")

    tell(LOGCHORD_OPERATIONS__SIGNING_SECRET="s")

    [signed] = hook.signed
    assert signed.startswith("t=")


def test_disks_and_backups_that_are_to_be_looked_at_are_problems(
    committing: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "backups"

    def found(hours: str = "26") -> dict[str, str]:
        settings = settings_of(
            tmp_path,
            "https://example.org/x",
            LOGCHORD_OPERATIONS__BACKUP_FOLDER=str(folder),
            LOGCHORD_OPERATIONS__BACKUP_HOURS=hours,
        )
        problems = tell_problems.find_problems(committing, settings, lag.keep_counts())
        return {one.about: one.message for one in problems}

    assert "cannot be looked at" in found()["backup"]
    folder.mkdir()
    (folder / ".monday.x.logchord-part").touch()
    assert "26 hours" in found()["backup"]
    copy = folder / "monday"
    copy.touch()
    assert "backup" not in found()
    at = time.time() - 2 * 3600 - 1
    os.utime(copy, (at, at))
    assert "backup" in found("2")
    assert "backup" not in found("3")

    assert "disk of home" not in found()
    monkeypatch.setattr("shared.work.disk_room.ENOUGH_BYTES", 10**18)
    assert "LOGCHORD_HOME" in found()["disk of home"]


def test_operators_are_told_by_mail(
    committing: Connection, tell: Tell, hook: Hook
) -> None:
    stall(committing)
    tell()
    committing.execute(LATER)
    with MailServer().serving() as server:
        given = f"smtp://127.0.0.1:{server.port}?from=logchord@example.org"
        assert (
            tell("mailto:ops@example.org", LOGCHORD_SMTP_URL=given, hosts="x")
            is not None
        )
        committing.execute(
            "UPDATE operations_problem SET due_at = now() - '1 s'::interval"
        )
        error = tell(
            "mailto:ops@example.org", LOGCHORD_SMTP_URL=given, hosts="example.org"
        )

    assert error is None
    [mail] = server.mails
    assert mail["Subject"] == "Logchord: source hall"
    assert (mail["From"], mail["To"]) == ("logchord@example.org", "ops@example.org")
    assert "It does not answer." in mail.get_content()
    assert hook.came == []


def test_a_server_that_cannot_be_reached_delays_no_other_problem(
    committing: Connection, tell: Tell
) -> None:
    stall(committing)
    tell()
    committing.execute(LATER)
    began = time.monotonic()
    away = f"127.0.0.1:{free_port()}"
    error: Any = tell(f"http://{away}/secret", hosts=away)
    assert "secret" not in str(error.technical)
    assert "Nobody answers at the address of the receiver" in error.technical
    source_state.pause(committing, "default", "hall", "by hand")
    tell(f"http://{away}/secret", hosts=away)

    assert time.monotonic() - began < 5
    [row] = committing.execute(
        "SELECT message, attempts FROM operations_problem"
    ).fetchall()
    assert row[1] == 1
    assert "by hand" in row[0]
