"""Times stand on the facility's clocks in whatever the command line prints."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from api.cli.commands import status
from tests.support.stub_servers.json_server import answering, send
from tests.support.typed import typed

AT, THERE = "2026-03-01T23:10:00Z", "2026-03-02 00:10 CET (03-01 23:10 UTC)"
SOURCE: dict[str, Any] = {
    **dict.fromkeys(("degraded", "last_run", "timezone"), None),
    **dict.fromkeys(("complete_from", "complete_to", "next_run_at"), AT),
    **dict.fromkeys(("entries", "quarantined", "files_not_fetched"), 0),
    **dict.fromkeys(("lag_seconds", "since_success_seconds"), 1.0),
    "name": "ops",
    "adapter": "elog_http",
    "kind": "pull",
    "more_entries": False,
    "paused": False,
    "shortfalls": [],
    "logbooks": [],
}
RUN: dict[str, Any] = {
    "run_id": "r",
    "kind": "tail",
    "state": "done",
    "seen": 0,
    "error": None,
    "started_at": AT,
}
WORK: dict[str, Any] = {
    "quarantine_id": "q",
    "stage": "index",
    "entry_id": "e",
    "source": "ops",
    "external_id": "7",
    "revision": 1,
    "attempts": 3,
    "error": {},
    "times": 1,
    "first_at": AT,
    "last_at": AT,
}
SAMPLE = {"source": "ops", "external_id": "7", "title": "Trip", "matched_by": []}


@pytest.fixture
def type_before(tmp_path: Path) -> Callable[..., CompletedProcess[str]]:
    """Return who types a command before an API that answers with one body."""

    def type_words(body: Any, *words: str) -> CompletedProcess[str]:
        told = json.dumps(body).encode()
        with answering(lambda handler, _: send(handler, 200, told)) as port:
            environ = {
                "PATH": os.environ["PATH"],
                "LOGCHORD_HOME": str(tmp_path / "home"),
                "LOGCHORD_URL": f"http://127.0.0.1:{port}",
                "LOGCHORD_API_KEY": "none",
                "LOGCHORD_FACILITY_TIMEZONE": "Europe/Zurich",
            }
            return typed(*words, environ=environ, folder=tmp_path)

    return type_words


@pytest.mark.parametrize(
    ("words", "body", "count"),
    [
        (("source", "show", "ops"), SOURCE, 3),
        (("source", "runs", "ops"), {"items": [RUN]}, 1),
        (("quarantine", "list"), {"items": [WORK], "next_cursor": None}, 1),
        (("quarantine", "show", "q"), WORK, 2),
        (
            ("saved", "preview", "s"),
            {"would_have_fired": 1, "samples": [{**SAMPLE, "entry_time": AT}]},
            1,
        ),
    ],
)
def test_a_command_shows_times_as_the_facility_does_and_json_as_they_are(
    words, body, count, type_before
):
    shown = type_before(body, *words)
    document = type_before(body, *words, "--json")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.count(THERE) == count
    assert AT not in shown.stdout
    assert AT in document.stdout


def test_a_list_of_sources_tells_the_facility_day_they_are_complete_back_to(
    type_before: Callable[..., CompletedProcess[str]],
):
    shown = type_before({"items": [SOURCE]}, "source", "list")

    assert "  2026-03-02  ok" in shown.stdout


def test_the_status_tells_until_when_all_is_indexed_by_the_facility_clock():
    index = {"watermark": AT, "drift": 2, "compared_at": AT}
    _, line = status._index_lines(index, ZoneInfo("Europe/Zurich"))
    assert line == (
        f"Index   everything is in it that was written until {THERE};"
        f" 2 differed at {THERE}"
    )
