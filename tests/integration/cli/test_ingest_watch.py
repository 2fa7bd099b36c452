"""`logchord ingest --watch` before an API that is away for a while."""

import json
import os
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from api.cli.commands import ingest
from shared.errors import DatabaseConnectionError, DatabaseQueryError, LogchordError
from tests.support.stub_servers.json_server import answering, send
from tests.support.typed import typed

# No answer at all, a proxy's, and two of the API's own.
AWAY: list[tuple[int, bytes] | None] = [
    None,
    (502, b"<html>Bad Gateway"),
    (503, json.dumps(DatabaseConnectionError().body()).encode()),
    (503, json.dumps(DatabaseQueryError(code="read_only").body()).encode()),
]
NO_SOURCES = (200, b'{"items": []}')


def ingest_from(
    answers: list[tuple[int, bytes] | None], folder: Path, *words: str
) -> tuple[CompletedProcess[str], int]:
    """Return how the command ended, and how many of these answers it did not ask."""
    left = iter(answers)

    def answer(handler: BaseHTTPRequestHandler, _: Any) -> None:
        found = next(left)
        if found is None:
            handler.close_connection = True
        else:
            send(handler, *found)

    with answering(answer) as port:
        environ = {
            "PATH": os.environ["PATH"],
            "LOGCHORD_HOME": str(folder / "home"),
            "LOGCHORD_URL": f"http://127.0.0.1:{port}",
            "LOGCHORD_API_KEY": "none",
        }
        ended = typed("ingest", *words, environ=environ, folder=folder)
    return ended, len(list(left))


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "_FIRST_PAUSE_SECONDS", 0.01)


@pytest.mark.usefixtures("pauses")
def test_a_watch_goes_on_while_the_api_is_away_and_says_so(tmp_path: Path):
    ended, left = ingest_from([*AWAY, NO_SOURCES], tmp_path, "--watch")

    # It ends by what no waiting helps: there is nothing to read.
    assert (ended.returncode, left) == (3, 0)
    assert ended.stderr.count("Trying again in") == len(AWAY)
    assert "code: database_unavailable" in ended.stderr


@pytest.mark.parametrize("answer", AWAY)
def test_whoever_does_not_watch_is_told_at_once(answer, tmp_path):
    ended, left = ingest_from([answer, NO_SOURCES], tmp_path)

    assert ended.returncode in {1, 5}
    assert left == 1
    assert "Trying again" not in ended.stderr


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("code", ["schema_missing", "scope_missing"])
def test_what_no_waiting_helps_ends_a_watch(code: str, tmp_path: Path):
    error = LogchordError(code=code)
    refused = (error.status, json.dumps(error.body()).encode())
    ended, left = ingest_from([refused, NO_SOURCES], tmp_path, "--watch")

    assert f"code: {code}" in ended.stderr
    assert left == 1
