"""Logbooks as their users add them: real text by maps as the page shows, a server."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import psycopg
import pytest

from tests.contract.stubs.olog import OlogStub
from tests.support.fixtures.system import System
from tests.support.typed import typist
from tests.support.waiting import until
from workers.adapters.kit.stub import StubEntry

EXCERPTS = Path(__file__).parent / "logbooks"
# As docs/how-to/add-a-source.md has it.
BY_HAND = """
  shovels:
    adapter: generic_csv
    path: {folder}/work_orders.csv
    timezone: Australia/Perth
    args:
      map: {{text: OriginalShorttext, entry_time: BscStartDate, category: Asset}}
      defaults: {{kind: maintenance}}
      types: {{Cost: number}}
"""
EVENTS = (
    *("--map", "external_id=event_number", "--map", "title=facility"),
    *("--map", "text=event_text", "--map", "tags=/cfr_sections/*/code"),
    *("--map", "entry_time=notification_date", "--map", "entry_time=notification_time"),
    *("--map", "entry_time=notification_timezone"),
    *("--map", "event_time=event_date", "--map", "event_time=event_time"),
    *("--map", "event_time=event_timezone"),
)

Type = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of somebody with two files and a configuration."""
    made: Path = tmp_path_factory.mktemp("desk")
    shutil.copytree(EXCERPTS, made, dirs_exist_ok=True)
    (made / "logchord.yaml").write_text("sources:\n  api: {adapter: push}\n", "utf-8")
    return made


@pytest.fixture(scope="module")
def system(make_lasting_system, folder: Path) -> System:
    """A whole system that reads this configuration."""
    made: System = make_lasting_system(
        LOGCHORD_CONFIG=str(folder / "logchord.yaml"),
        LOGCHORD_SOURCES="",
        EMBEDDING_MODEL="hashing-64",
    )
    made.start("api", "search", "enhance", "embed", "ingest", "upkeep")
    made.wait_ready("search", "enhance", "embed", "ingest", "upkeep")
    return made


@pytest.fixture(scope="module")
def logchord(system: System, folder: Path) -> Type:
    """Type a command, and return what it prints as data."""
    run = typist(system, folder, system.key(scopes=("admin",)))

    def logchord(*words: str) -> str:
        done = run(*words, NO_COLOR="1")
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    return logchord


def test_a_sheet_described_by_hand_can_be_searched_once_it_is_in(logchord, folder):
    file = folder / "logchord.yaml"
    file.write_text(file.read_text("utf-8") + BY_HAND.format(folder=folder), "utf-8")

    assert logchord("source", "reload") == "added shovels\n"
    assert logchord("ingest", "shovels").startswith("shovels: done, seen ")

    shown = json.loads(logchord("source", "show", "shovels", "--json"))
    assert shown["entries"] == 11
    (aside,) = json.loads(logchord("quarantine", "list", "--stage", "ingest", "--json"))
    assert "'Cost' in line 12 is no number." in json.dumps(aside)
    again = logchord("quarantine", "retry", aside["quarantine_id"], "--json")
    assert json.loads(again) == {
        "released": 0,
        "resumed": [],
        "still_quarantined": 1,
        "complete": True,
    }
    found = logchord("search", "bucket teeth", "--mode", "keyword", "--limit", "1")
    assert "REPLACE BUCKET TEETH." in found
    assert "2001-10-09 16:00 UTC" in found


def test_an_export_added_by_a_command_can_be_searched_once_it_is_in(logchord, folder):
    path = str(folder / "events.jsonl")

    added = logchord("source", "add", path, "--name", "events", *EVENTS)
    assert added == f"added events to {folder}/logchord.yaml\n"
    assert logchord("ingest", "events").startswith("events: done, seen ")

    shown = json.loads(logchord("source", "show", "events", "--json"))
    assert (shown["entries"], shown["degraded"]) == (4, None)
    found = logchord("search", "green sea turtle", "--mode", "keyword", "--json")
    (result,) = json.loads(found)["results"]
    assert result["external_id"] == "36065"
    assert result["title"] == "DIABLO CANYON"
    # 15:28 EDT.
    assert result["entry_time"].startswith("1999-08-24T19:28:00")


@pytest.mark.timeout(400)
@pytest.mark.requirement("U27")
def test_the_last_month_of_twenty_years_is_found_before_the_rest_is_in(
    logchord, system
):
    now = datetime.now(UTC).replace(microsecond=0)
    recent, old, years = 30, 200, 20
    with closing(OlogStub()) as olog:
        for n in range(old):
            age = timedelta(days=40) + n * timedelta(days=365 * years - 50) / old
            olog.add(StubEntry(old - n, now - age, f"Shift {n}", "Beam as usual"))
        for n in range(recent):
            time = now - timedelta(days=29) + n * timedelta(hours=23)
            olog.add(StubEntry(old + n + 1, time, f"Trip {n}", "The klystron tripped"))
        began = monotonic()
        logchord("source", "add", olog.settings()["base_url"], "--name", "ring")

        def found() -> int:
            asked = ("--filter", "source=ring", "--mode", "keyword", "--limit", "100")
            answer = logchord("search", "klystron", *asked, "--json")
            return len(json.loads(answer)["results"])

        try:
            until(lambda: found() == recent, within_seconds=300)
            assert monotonic() - began < 300
            shown = json.loads(logchord("source", "show", "ring", "--json"))
            assert datetime.fromisoformat(shown["complete_from"]) < now - timedelta(
                days=29
            )
            with psycopg.connect(system.database) as conn:
                came = conn.execute(
                    "SELECT external_id FROM entry WHERE source = 'ring'"
                    " ORDER BY received_at, external_id::int DESC LIMIT %s",
                    [recent],
                ).fetchall()
            assert {int(one) for (one,) in came} == {old + n + 1 for n in range(recent)}
        finally:
            logchord("source", "pause", "ring")
