"""A package outside this repository brings stages of an entry's work."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from shared.entries.reading import findings_shown
from shared.entries.saving.save import tombstone
from shared.errors import ConfigurationError
from shared.messaging.stage_names import METADATA_STAGE
from shared.stages import entry_stages, installed_stages
from shared.stages.stage_contract import StageDescriptor
from shared.work import bulk_turn, chore_records, due_work, quarantine, stage_pauses
from shared.work.quarantine import Which
from tests.contract.outside import EXAMPLES, installed_package
from tests.support.saving import save_entry
from tests.support.waiting import until
from workers.runtime.context import Context
from workers.tasks import chores
from workers.tasks.enhance import extract_metadata
from workers.tasks.stages import run_stage

PACKAGE = EXAMPLES / "stage"
TENANT = "default"
ALARMS, BROKEN = "alarms", "alarms_later"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the built package is installed, beside what this run can import."""
    return installed_package(PACKAGE, tmp_path_factory.mktemp("outside"), BROKEN)


@pytest.fixture
def found_by_this_process(installed, monkeypatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(installed)
    known = installed_stages.load_descriptors
    known.cache_clear()
    yield
    known.cache_clear()
    # Copied at once: a thread may import something meanwhile.
    for name in sys.modules.copy():
        if name.startswith("logchord_alarms"):
            del sys.modules[name]


@pytest.fixture
def make_context(make_context, found_by_this_process, monkeypatch):
    monkeypatch.setattr(bulk_turn, "RESTS", 0.0)
    return make_context


def save(conn: Connection, ctx: Context, external_id: str, text: str, **more) -> UUID:
    due = entry_stages.list_entry_stages(ctx.settings)
    return save_entry(conn, external_id, text, stages=due, **more)


def alarms(conn: Connection, entry_id: UUID, revision: int = 1) -> list[int]:
    shown = findings_shown.load_findings(conn, TENANT, entry_id, revision)
    return [one["number"] for one in shown.get(ALARMS, [])]


def runs(conn: Connection) -> dict[str, tuple[int, datetime]]:
    """Up to which revision the stage has looked at each entry, and when it last ran."""
    told = conn.execute(
        "SELECT e.external_id, f.revision, f.updated_at FROM entry_finding f"
        " JOIN entry e ON e.id = f.entry_id WHERE f.stage = %s",
        (ALARMS,),
    )
    return {name: (revision, at) for name, revision, at in told}


def due(conn: Connection, stage: str = ALARMS) -> list[tuple[str, int]]:
    return conn.execute(
        "SELECT e.external_id, w.class FROM work w JOIN entry e ON e.id = w.entry_id"
        " WHERE w.stage = %s ORDER BY 1",
        (stage,),
    ).fetchall()


def renew(ctx: Context, conn: Connection) -> None:
    chore_records.open_chore(conn, chore_records.RENEW_TEXTS)
    chores.renew_texts(ctx)
    assert chore_records.list_unfinished(conn) == []


def changed(**fields: Any) -> dict[str, StageDescriptor | ConfigurationError]:
    """What is installed, with another release of the stage."""
    known = installed_stages.load_descriptors()
    old = known[ALARMS]
    assert isinstance(old, StageDescriptor)
    return {**known, ALARMS: replace(old, **fields)}


@pytest.mark.timeout(180)
def test_a_stage_of_another_package_runs_in_the_workers_and_a_broken_one_harms_nobody(
    installed, make_system
):
    system = make_system()
    system.start("api", "enhance", "upkeep", PYTHONPATH=str(installed))
    system.wait_ready("enhance", "upkeep")
    with system.client() as client:
        text = "ALARM 4711 rang before ALARM 12 did"
        pushed = client.post("/v1/entries", json={"text": text}).json()
        address = f"/v1/entries/{pushed['entry_id']}"

        def is_done() -> bool:
            now = client.get(address).json()
            return bool(now["findings"]) and now["stages"]["index"] == "done"

        until(is_done, within_seconds=20, what="what the stage finds, and the index")
        shown = client.get(address).json()
        listed = {one["stage"]: one for one in client.get("/v1/lag").json()["stages"]}
        assert (listed[ALARMS]["due"], listed[ALARMS]["paused"]) == (0, None)
        assert BROKEN in listed
        page = client.get(shown["permalink"], headers={"accept": "text/html"}).text
        assert f"<dt>{ALARMS}</dt><dd>number 4711; number 12</dd>" in page

        def why() -> list[str]:
            told = client.get("/v1/status").json()
            return [one for one in told["problems"] if BROKEN in one]

        until(why, within_seconds=20, what="why the other stage rests")

    assert shown["findings"] == {
        ALARMS: [
            {"number": 4711, "meaning": None, "start": 0, "end": 10},
            {"number": 12, "meaning": None, "start": 23, "end": 31},
        ]
    }
    assert shown["stages"][ALARMS] == "done"
    assert shown["stages"][BROKEN] in {"due", "leased"}


def test_only_what_a_stage_reads_makes_it_run_again(make_context, committing):
    ctx = make_context()
    entry_id = save(committing, ctx, "1", "ALARM 1", title="before")
    run_stage(ctx, ALARMS)
    first = runs(committing)

    save(committing, ctx, "1", "ALARM 1", title="after")
    assert due(committing) == [("1", due_work.LIVE)]
    run_stage(ctx, ALARMS)

    assert due(committing) == []
    assert runs(committing)["1"] == (2, first["1"][1]), "it ran though nothing changed"
    assert alarms(committing, entry_id, 2) == [1]

    save(committing, ctx, "1", "ALARM 2", title="after")
    run_stage(ctx, ALARMS)

    assert runs(committing)["1"][0] == 3
    assert runs(committing)["1"][1] > first["1"][1]
    assert alarms(committing, entry_id, 3) == [2]
    assert alarms(committing, entry_id, 2) == [], "places of another text are not shown"


def test_another_version_or_other_options_make_exactly_that_stage_due(
    make_context, committing, monkeypatch
):
    ctx = make_context()
    for number in range(3):
        save(committing, ctx, f"{number}", f"ALARM {number + 1}, TRIP {number + 10}")
    extract_metadata(ctx)
    run_stage(ctx, ALARMS)
    committing.execute("DELETE FROM work")
    gone = committing.execute("SELECT id FROM entry WHERE external_id = '2'").fetchone()
    assert gone is not None
    tombstone(committing, TENANT, gone[0], reason="test", stages=[])
    renew(ctx, committing)
    assert due(committing) == []

    word = '{"alarms": {"settings": {"word": "TRIP"}}}'
    other = make_context(LOGCHORD_STAGES=word)
    committing.execute("DELETE FROM work")
    renew(other, committing)
    assert due(committing) == [("0", due_work.BULK), ("1", due_work.BULK)]
    run_stage(other, ALARMS)
    ids = dict(committing.execute("SELECT external_id, id FROM entry").fetchall())
    assert [alarms(committing, ids[name]) for name in "01"] == [[10], [11]]
    committing.execute("DELETE FROM work")
    renew(other, committing)
    assert due(committing) == []

    newer = changed(version=2)
    monkeypatch.setattr(installed_stages, "load_descriptors", lambda: newer)
    committing.execute("DELETE FROM work")
    renew(other, committing)
    assert due(committing) == [("0", due_work.BULK), ("1", due_work.BULK)]


def test_what_fails_on_one_entry_puts_that_one_aside_and_no_other(
    make_context, committing
):
    ctx = make_context()
    for number in range(5):
        # No alarm has the number 0: the model refuses it.
        save(committing, ctx, f"{number}", f"ALARM {0 if number == 2 else number + 1}")

    run_stage(ctx, ALARMS)
    extract_metadata(ctx)

    aside = quarantine.list_quarantined(committing, Which(TENANT), limit=10)
    assert [(one.external_id, one.stage) for one in aside] == [("2", ALARMS)]
    assert sorted(runs(committing)) == ["0", "1", "3", "4"]
    read = committing.execute("SELECT count(*) FROM entry_text").fetchone()
    assert read == (5,), "who is quarantined by a stage of others is searched"
    renew(ctx, committing)
    assert due(committing) == [], "what was quarantined is known"


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        pytest.param("ALARM 1 " * 200, "1000", id="more-than-it-may"),
        pytest.param("ALARM 1", "1", id="one-byte"),
    ],
)
def test_what_finds_too_much_has_failed_on_that_entry(
    make_context, committing, text, limit
):
    ctx = make_context(LOGCHORD_WORK__MAX_FINDING_BYTES=limit)
    save(committing, ctx, "1", text)

    run_stage(ctx, ALARMS)

    (aside,) = quarantine.list_quarantined(committing, Which(TENANT), limit=10)
    assert "bytes" in aside.error["details"]["technical"]
    assert runs(committing) == {}


def test_a_stage_that_cannot_be_loaded_rests_and_keeps_its_work(
    make_context, committing
):
    ctx = make_context()
    save(committing, ctx, "1", "ALARM 1")

    run_stage(ctx, BROKEN)

    (pause,) = stage_pauses.list_pauses(committing)
    assert (pause.stage, pause.code) == (BROKEN, ConfigurationError.code)
    assert due(committing, BROKEN) == [("1", due_work.LIVE)]
    run_stage(ctx, ALARMS)
    assert sorted(runs(committing)) == ["1"]


def test_what_is_wrong_in_the_settings_of_a_stage_is_told_by_name(
    make_context, committing
):
    ctx = make_context(LOGCHORD_STAGES='{"alarms": {"settings": {"wort": "TRIP"}}}')
    save(committing, ctx, "1", "ALARM 1")

    run_stage(ctx, ALARMS)

    (pause,) = stage_pauses.list_pauses(committing)
    assert pause.error is not None
    assert "stages.alarms.settings.wort" in pause.error["message"]


def test_a_stage_that_is_off_has_no_work(make_context, committing):
    ctx = make_context()
    save(committing, ctx, "1", "ALARM 1")
    off = make_context(LOGCHORD_STAGES='{"alarms": {"enabled": false}}')

    assert ALARMS not in entry_stages.list_configured_stages(off.settings)
    run_stage(off, ALARMS)

    assert due(committing) == []
    assert runs(committing) == {}


def test_what_is_gone_or_unknown_is_left_alone(make_context, committing):
    ctx = make_context()
    entry_id = save(committing, ctx, "1", "ALARM 1")
    tombstone(committing, TENANT, entry_id, reason="test", stages=[])
    run_stage(ctx, ALARMS)
    assert (due(committing), runs(committing)) == ([], {})

    due_work.add(committing, TENANT, [entry_id], ["of_another_release"])
    run_stage(ctx, "of_another_release")
    assert due(committing, "of_another_release") == [("1", due_work.LIVE)]


def test_a_stage_can_come_after_another(make_context, committing, monkeypatch):
    later = changed(after=(METADATA_STAGE,))
    monkeypatch.setattr(installed_stages, "load_descriptors", lambda: later)
    ctx = make_context()
    entry_id = save(committing, ctx, "1", "ALARM 1")
    assert due(committing) == []

    extract_metadata(ctx)
    assert due(committing) == [("1", due_work.LIVE)]
    run_stage(ctx, ALARMS)
    assert alarms(committing, entry_id) == [1]


def streams(conn: Connection) -> dict[str, str]:
    """What is searched of each entry."""
    told = conn.execute(
        "SELECT e.external_id, t.stream FROM entry_text t"
        " JOIN entry e ON e.id = t.entry_id AND e.revision = t.revision"
    )
    return dict(told.fetchall())


def work(ctx: Context) -> None:
    """Do what is due, in the order that costs most."""
    for _ in range(2):
        extract_metadata(ctx)
        run_stage(ctx, ALARMS)


@pytest.mark.requirement("O06")
def test_what_a_stage_finds_in_other_words_is_searched_with_its_entry(
    make_context, committing
):
    said = '{"alarms": {"settings": {"meanings": {"1": "klystron arc", "2": "flood"}}}}'
    ctx = make_context(LOGCHORD_STAGES=said)
    save(committing, ctx, "1", "ALARM 1 rang")
    save(committing, ctx, "2", "ALARM 3 rang")
    work(ctx)
    assert streams(committing) == {"1": "alarm1 rang\nklystron arc", "2": "alarm3 rang"}
    assert due(committing, METADATA_STAGE) == [], "it is read once more, not for ever"

    # Another title leaves the stage alone, and what it found is searched as before.
    save(committing, ctx, "1", "ALARM 1 rang", title="night")
    work(ctx)
    assert streams(committing)["1"] == "night\nalarm1 rang\nklystron arc"

    save(committing, ctx, "1", "ALARM 2 rang", title="night")
    extract_metadata(ctx)
    assert streams(committing)["1"] == "night\nalarm2 rang", "found in another text"
    work(ctx)
    assert streams(committing)["1"] == "night\nalarm2 rang\nflood"

    save(committing, ctx, "1", "quiet")
    work(ctx)
    assert streams(committing)["1"] == "quiet"
    assert due(committing, METADATA_STAGE) == []


def test_a_word_that_only_a_stage_has_found_is_counted_in_the_vocabulary(
    make_context, committing
):
    said = '{"alarms": {"settings": {"meanings": {"1": "klystron arc"}}}}'
    ctx = make_context(LOGCHORD_STAGES=said)
    save(committing, ctx, "1", "ALARM 1 rang")
    work(ctx)

    chore_records.open_chore(committing, chore_records.COUNT_WORDS)
    chores.count_words(ctx)

    assert chore_records.list_unfinished(committing) == []
    words = committing.execute("SELECT surface FROM lexeme WHERE n = 1").fetchall()
    assert ("klystron",) in words
