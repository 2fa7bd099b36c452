"""`logchord search` and what its options leave out, put together or write."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.cli import api_client
from api.cli.main import main
from tests.support.fixtures.system import System
from tests.support.typed import Run, typist
from tests.support.written import push_found

Faulty = Callable[..., tuple[object, str]]
ENTRIES: list[dict[str, Any]] = [
    {"external_id": "OPS-77", "title": "RF trip", "text": "Cavity tripped on arc."},
    {"external_id": "OPS-78", "text": "Cavity was reset.", "reply_to": "OPS-77"},
    {"external_id": "OPS-79", "text": "Cavity of HCM03 is warm.", "authors": ["Ito"]},
]


@pytest.fixture
def logbook(client: httpx2.Client) -> None:
    for minute, entry in enumerate(ENTRIES):
        given = {"source": "api", "entry_time": f"2026-03-02T05:{minute:02}:00Z"}
        push_found(client, [{**given, **entry}])


@pytest.fixture
def logchord(running: System, tenant: str, tmp_path: Path) -> Run:
    return typist(running, tmp_path, running.key(tenant=tenant))


@pytest.fixture
def faulty(
    running: System,
    tenant: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Faulty:
    """The same command, whose every request asks for a search by meaning that fails."""
    opened = api_client.open_client
    fault = "branch=semantic;error=embedding_unavailable"

    def asking(*given: Any, **named: Any) -> httpx2.Client:
        client = opened(*given, **named)
        client.headers["X-Logchord-Fault"] = fault
        return client

    monkeypatch.setattr(api_client, "open_client", asking)
    monkeypatch.setenv("LOGCHORD_URL", running.url)
    key = running.key(tenant=tenant, scopes=("admin",))
    monkeypatch.setenv("LOGCHORD_API_KEY", key)

    def run(*arguments: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as ended:
            main(["search", *arguments])
        return ended.value.code, capsys.readouterr().out

    return run


@pytest.mark.usefixtures("logbook")
def test_options_of_a_search_leave_out_what_they_say(logchord: Run) -> None:
    def found(*arguments: str) -> tuple[set[str], int]:
        ended = logchord("search", "--mode", "keyword", "--json", *arguments)
        assert ended.returncode == 0, ended.stderr
        answer = json.loads(ended.stdout)
        names = {one["external_id"] for one in answer["results"]}
        return names, answer["suppressed"]["count"]

    every = {"OPS-77", "OPS-78", "OPS-79"}
    assert found("cavity") == (every, 0)
    assert found("cavity", "--strict") == (every, 0)
    assert found("HCM03", "--strict") == ({"OPS-79"}, 0)
    assert found("cavity", "--threshold", "0") == (every, 0)
    assert found("cavity", "--threshold", "0.99") == (set(), 3)
    # What has the very name is never too little.
    assert found("HCM03", "--threshold", "1") == ({"OPS-79"}, 0)
    names, left_out = found("cavity", "--by-thread")
    assert (len(names), "OPS-79" in names, left_out) == (2, True, 0)

    told = logchord("search", "--mode", "keyword", "cavity", "--threshold", "0.99")
    assert "left out  3 that scored too low" in told.stdout
    told = logchord("search", "--mode", "keyword", "cavity in March 2025")
    assert "outside   3 match at other times; from 2025-03-01" in told.stdout


@pytest.mark.usefixtures("logbook")
def test_hits_are_written_as_a_list_to_read_each_with_its_citation(logchord) -> None:
    written = logchord("search", "--mode", "keyword", "HCM03", "--export", "md")
    assert written.returncode == 0, written.stderr
    assert written.stdout == (
        "# HCM03\n\n"
        "## (no title) [#OPS-79@1]\n\n"
        "2026-03-02T05:02:00Z · Ito\n\n"
        "> Cavity of HCM03 is warm.\n\n"
        "All 1 entries.\n"
    )
    refused = logchord("search", "HCM03", "--export", "md", "--exhaustive")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "leave --exhaustive out" in refused.stderr


@pytest.mark.usefixtures("logbook")
def test_a_search_that_lacks_a_part_ends_with_six_where_that_is_asked_for(faulty):
    said = ("--mode", "hybrid", "HCM03")
    for more in ((), ("--export", "md")):
        codes = [
            faulty(*said, *more, *extra)[0] for extra in ((), ("--fail-on-degraded",))
        ]
        assert codes == [0, 6]
    _, told = faulty(*said, "--fail-on-degraded")
    assert "degraded: a part of the search failed" in told
    assert "api/OPS-79" in told
    # By words alone nothing is missing.
    assert faulty("--mode", "keyword", "HCM03", "--fail-on-degraded")[0] == 0
