"""Sources over HTTP and the command line, with the real processes behind them."""

import hashlib
import hmac
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from tests.contract.stubs.elog_files import ElogFolderStub
from tests.contract.stubs.olog import OlogStub
from tests.support.fixtures.sources import recent_entry
from tests.support.fixtures.system import System
from tests.support.typed import Run, typist
from tests.support.waiting import until
from tests.support.written import ok

_HOLD_SCHEDULE = "SELECT FROM source_schedule WHERE source = 'ring' FOR UPDATE"
_WAITING_FOR_LOCK = """
    SELECT count(*) FROM pg_stat_activity
     WHERE application_name LIKE 'logchord api%' AND wait_event_type = 'Lock'"""


@pytest.fixture(scope="module")
def olog():
    with closing(OlogStub()) as stub:
        for number in range(1, 6):
            stub.add(recent_entry(number))
        yield stub


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return tmp_path_factory.mktemp("configuration")


def configuration(olog: OlogStub, **changes: Any) -> str:
    source = {
        **olog.settings(),
        "poll_interval_seconds": 1,
        "nudge_secret": "RING_NUDGE",
        "require_initial_ingest": True,
    }
    return yaml.safe_dump({"sources": {"ring": {**source, **changes}, "api": {}}})


@pytest.fixture(scope="module")
def system(make_lasting_system, files: Path, olog: OlogStub):
    file = files / "logchord.yaml"
    file.write_text(configuration(olog), "utf-8")
    system: System = make_lasting_system(
        LOGCHORD_CONFIG=str(file), LOGCHORD_SOURCES="", RING_NUDGE="a-secret"
    )
    system.start("api", "ingest", "upkeep")
    system.wait_ready()
    with system.client(system.key(scopes=("admin",))) as client:
        # Upkeep writes down which sources there are, a moment after it has begun.
        until(lambda: client.get("/v1/sources/ring").is_success, within_seconds=60)
    return system


@pytest.fixture
def admin(system):
    with system.client(system.key(scopes=("admin",))) as client:
        yield client


@pytest.fixture
def logchord(system: System, tmp_path: Path) -> Run:
    return typist(system, tmp_path, system.key(scopes=("admin",)))


def source(client: Any) -> dict[str, Any]:
    return ok(client.get("/v1/sources/ring"))


@pytest.mark.requirement("O04", "O07")
def test_a_source_is_read_without_anybody_asking(system, admin, olog):
    until(lambda: source(admin)["entries"] >= 5, within_seconds=60)
    found = source(admin)

    assert found["adapter"] == "olog"
    assert found["logbooks"] == ["Operations"]
    until(lambda: source(admin)["complete_from"], within_seconds=60)

    number = olog.add(recent_entry(6))

    def listed() -> list[dict[str, Any]]:
        answer = admin.get("/v1/entries", params={"external_id": number})
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    until(listed, within_seconds=60)
    assert [one["title"] for one in listed()] == ["Title 6"]


def test_a_run_says_what_it_found(admin):
    until(lambda: source(admin)["entries"] >= 5, within_seconds=60)
    body = {"kind": "reconcile"}
    answer = admin.post("/v1/sources/ring/trigger", json=body)
    assert answer.status_code in {202, 409}, answer.text
    found = admin.get("/v1/runs", params={"source": "ring"}).json()
    assert found["items"][0]["source"] == "ring"
    run = admin.get(f"/v1/runs/{found['items'][0]['run_id']}").json()
    assert run["run_id"] == found["items"][0]["run_id"]
    assert "cursor_before" in run


@pytest.mark.parametrize("what", ["check", "trigger", "pause", "resume"])
def test_a_source_that_is_pushed_is_not_asked_and_says_so(admin, what: str):
    assert admin.get("/v1/sources/api").json()["kind"] == "push"
    answer = admin.post(
        f"/v1/sources/api/{what}", json={} if what == "trigger" else None
    )
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "validation_failed")
    assert error["message"] == "Entries are pushed to api; nothing is read from it."
    absent = admin.post(
        f"/v1/sources/no/{what}", json={} if what == "trigger" else None
    )
    assert absent.status_code == 404


def test_check_reads_a_page_and_stores_nothing(admin, olog):
    answer = admin.post("/v1/sources/ring/check")
    assert answer.status_code == 200, answer.text
    assert answer.json()["ok"] is True
    assert len(answer.json()["sample"]) == 3
    told = answer.json()
    assert told["timezone"] == olog.settings().get("timezone")
    assert told["found"]["authorised"] is True
    assert told["found"]["newest"] >= told["sample"][0]["entry_time"][:16]
    assert told["capabilities"]["deletes"] == "impossible"


def test_a_paused_source_is_left_alone_until_it_is_resumed(admin, olog):
    until(lambda: source(admin)["entries"] >= 5, within_seconds=60)
    assert admin.post("/v1/sources/ring/pause").json()["paused"] is True
    refused = admin.post("/v1/sources/ring/trigger", json={})
    assert refused.json()["error"]["code"] == "source_paused"
    assert "resume ring" in source(admin)["degraded"]
    before = source(admin)["entries"]
    olog.add(recent_entry(50))

    assert admin.post("/v1/sources/ring/resume").json()["paused"] is False

    until(lambda: source(admin)["entries"] == before + 1, within_seconds=60)


@pytest.mark.requirement("U02")
def test_a_run_that_nobody_carries_out_waits_says_for_what_and_can_be_cancelled(
    system, admin
):
    def of(run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = admin.get(f"/v1/runs/{run_id}").json()
        return found

    def ask() -> str | None:
        answer = admin.post("/v1/sources/ring/trigger", json={"kind": "backfill"})
        assert answer.status_code in {202, 409}, answer.text
        run_id: str | None = answer.json().get("run_id")
        return run_id

    def has_no_history_under_way() -> bool:
        asked = {"source": "ring", "limit": 100}
        found = admin.get("/v1/runs", params=asked).json()["items"]
        ended = [one["ended_at"] for one in found if one["kind"] == "backfill"]
        return bool(ended) and all(ended)

    # Else the worker that stands still has it in hand for good.
    until(has_no_history_under_way, within_seconds=60)
    with system.frozen("ingest"):
        first = until(ask, within_seconds=60)
        until(lambda: of(first)["waiting"]["workers"] == 0, within_seconds=60)
        before = of(first)
        assert (before["state"], before["error"]) == ("queued", None)
        # From the database: at most the poll of the same source is due before it.
        assert before["waiting"]["queue"] == "ingest"
        assert before["waiting"]["ahead"] in {0, 1}

        ended = admin.delete(f"/v1/runs/{first}").json()
        assert (ended["state"], ended["waiting"]) == ("failed", None)
        assert ended["error"]["details"]["reason"] == "cancelled"
        second = until(ask, within_seconds=60)
        assert of(second)["state"] == "queued"
    until(lambda: of(second)["state"] == "done", within_seconds=60)
    after = of(second)
    assert after["seen"] >= after["unchanged"] > 0
    assert of(first) == admin.delete(f"/v1/runs/{first}").json()
    assert of(first)["ended_at"] == ended["ended_at"]


def test_a_signed_nudge_makes_the_tail_due_and_no_other_does(system, admin):
    body = b'{"event": "new"}'

    def post(signature: str) -> int:
        headers = {"Logchord-Signature": signature}
        with system.client("") as client:
            answer = client.post(
                "/v1/sources/ring/nudge", content=body, headers=headers
            )
        return int(answer.status_code)

    def signed(at: int, secret: str = "a-secret") -> str:
        message = str(at).encode() + b"." + body
        mac = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
        return f"t={at},v1={mac}"

    now = int(time.time())
    assert post(signed(now)) == 202
    assert post(signed(now, "another")) == 401
    assert post(signed(now - 301)) == 401
    assert post("") == 401


def test_reload_takes_over_what_the_file_says(admin, files, olog):
    file = files / "logchord.yaml"
    before = file.read_text("utf-8")
    try:
        file.write_text(configuration(olog, poll_interval_seconds=2), "utf-8")
        changed = admin.post("/v1/sources/reload").json()
        assert changed["changed"] == ["ring"]

        file.write_text(configuration(olog, adapter="nonsense"), "utf-8")
        wrong = admin.post("/v1/sources/reload").json()
        assert [one["name"] for one in wrong["invalid"]] == ["ring"]
        assert source(admin)["adapter"] == "olog"
    finally:
        file.write_text(before, "utf-8")
        admin.post("/v1/sources/reload")


def test_who_may_read_sees_no_cursor_and_may_not_trigger(system):
    with system.client(system.key(scopes=("read",))) as client:
        assert "cursor" not in source(client)
        refused = client.post("/v1/sources/ring/trigger", json={})
        assert refused.status_code == 403
        elsewhere = client.get("/v1/sources/nowhere")
        assert elsewhere.status_code == 404


def test_the_command_line_shows_and_runs_sources(logchord):
    def run(*arguments: str) -> tuple[int, str]:
        done = logchord(*arguments)
        return done.returncode, done.stdout

    code, text = run("source", "list")
    assert code == 0
    assert "ring" in text
    until(
        lambda: "complete back to" in run("source", "show", "ring")[1],
        within_seconds=30,
        what="the first run of the source",
    )
    code, text = run("source", "check", "ring")
    assert (code, "It answers" in text) == (0, True), text
    assert re.search("^  deletions +there are none$", text, re.MULTILINE)
    assert re.search("^  time zone +", text, re.MULTILINE)
    code, text = run("ingest", "ring", "--no-wait", "--json")
    # A poll is nearly always under way here: this run comes after it.
    assert code == 0
    assert json.loads(text)[0]["state"] == "done"


@pytest.mark.parametrize("command", ["show", "check", "trigger", "pause"])
def test_a_source_that_is_not_read_is_told_with_where_to_look(logchord, command):
    done = logchord("source", command, "elgo")
    assert done.returncode == 3
    assert "No source 'elgo' is read here." in done.stderr
    assert "`logchord config check`" in done.stderr


def test_a_reload_that_changes_nothing_says_so(logchord):
    done = logchord("source", "reload")
    assert (done.returncode, done.stdout) == (0, "")
    assert "No source has changed; those that are pushed to" in done.stderr


def test_check_and_reload_say_that_a_source_would_be_doubled(logchord, admin, files):
    file = files / "logchord.yaml"
    before = file.read_text("utf-8")
    sheet = files / "sheet.csv"
    sheet.write_text("id,Day,What\n1,2024-06-10,trip\n", "utf-8")

    def configure(**more: Any) -> None:
        args = {"columns": {"entry_time": "Day", "text": "What"}, **more}
        source = {"adapter": "generic_csv", "path": str(sheet), "timezone": "UTC"}
        written = yaml.safe_load(before)
        written["sources"]["sheet"] = {**source, "args": args}
        file.write_text(yaml.safe_dump(written), "utf-8")

    def reload(*options: str) -> tuple[int, str, str]:
        done = logchord("source", "reload", *options)
        return done.returncode, done.stdout, done.stderr

    try:
        configure()
        assert reload()[:2] == (0, "added sheet\n")
        of_sheet = "/v1/sources/sheet"
        until(lambda: admin.get(of_sheet).json()["entries"] == 1, within_seconds=60)
        assert admin.post(f"{of_sheet}/check").json()["problems"] == []

        configure(id_columns=["Day"])
        (told,) = admin.post(f"{of_sheet}/check").json()["problems"]
        code, shown, complaint = reload()

        assert "would be named by 'Day', and no longer by 'id'" in told
        assert (code, shown) == (1, "")
        assert "beside the 1 that are here" in " ".join(complaint.split())
        assert reload("--confirm-identity")[:2] == (0, "changed sheet\n")
        assert admin.post(f"{of_sheet}/check").json()["problems"] == []
    finally:
        file.write_text(before, "utf-8")
        admin.post("/v1/sources/reload")


def test_who_may_read_which_logbook_is_shown_and_changes_with_the_file(
    logchord, admin, files
):
    file = files / "logchord.yaml"
    before = file.read_text("utf-8")

    def shown(readers: dict[str, Any]) -> str:
        written = yaml.safe_load(before)
        settings = {**stub.settings(), "args": {"readers": readers}}
        written["sources"]["books"] = settings
        file.write_text(yaml.safe_dump(written), "utf-8")
        assert admin.post("/v1/sources/reload").status_code == 200
        done = logchord("source", "show", "books")
        (line,) = re.findall("^who may read +(.+)$", done.stdout, re.MULTILINE)
        return str(line)

    def found() -> set[str]:
        page = admin.get("/v1/entries", params={"source": "books"}).json()
        return {one["external_id"] for one in page["items"]}

    with closing(ElogFolderStub()) as stub:
        for number, book in ((1, "Operations"), (2, "RF")):
            stub.add(replace(recent_entry(number), logbook=book))
        try:
            # No elogd.cfg lies there: who is not named may not read.
            assert shown({"RF": None}) == "RF: all; others: nobody"
            until(lambda: found() == {"RF/2"}, within_seconds=60)
            (told,) = admin.post("/v1/sources/books/check").json()["found"]["hidden"]
            assert told == "Operations"
            everybody = shown({"RF": ["rf-group"], "*": None})
            assert everybody == "RF: rf-group; *: all"
        finally:
            file.write_text(before, "utf-8")
            admin.post("/v1/sources/reload")


def test_a_reload_that_meets_a_page_being_stored_is_done_again(
    system, admin, files, olog
):
    file = files / "logchord.yaml"
    before = file.read_text("utf-8")
    file.write_text(configuration(olog, reconcile_every_seconds=7201), "utf-8")
    try:
        with (
            psycopg.connect(system.database, autocommit=True) as watcher,
            psycopg.connect(system.database) as worker,
            ThreadPoolExecutor(1) as beside,
        ):
            worker.execute("SET LOCAL deadlock_timeout = '1min'")
            worker.execute(_HOLD_SCHEDULE)
            reload = beside.submit(admin.post, "/v1/sources/reload")
            until(
                lambda: watcher.execute(_WAITING_FOR_LOCK).fetchone() != (0,),
                within_seconds=10,
                what="a reload that waits for the schedule",
            )
            # So the reload looks for a deadlock before this one does, and is ended.
            worker.execute("UPDATE source_state SET failures = failures")
            worker.commit()
        assert reload.result().status_code == 200
        assert reload.result().json()["changed"] == ["ring"]
    finally:
        file.write_text(before, "utf-8")
        admin.post("/v1/sources/reload")


def test_add_says_what_the_running_stack_lacks(logchord, admin, files, olog, tmp_path):
    """The secret of this shell, and the file of this folder, need not be its own."""
    file = files / "logchord.yaml"
    before = file.read_text("utf-8")
    other = tmp_path / "logchord.yaml"
    other.write_text("port: 8100\n", "utf-8")
    address = str(olog.settings()["base_url"])

    def add(name: str, *more: str, **changes: str) -> str:
        words = ("source", "add", address, "--name", name, *more)
        done = logchord(*words, ONLY_HERE="a password", **changes)
        assert done.returncode == 0, done.stderr
        return done.stderr

    try:
        assert "It is being read" in add("second")
        login = ("--user", "reader", "--secret", "ONLY_HERE")
        assert "The secret 'ONLY_HERE' is not there" in add("third", *login)
        told = add("fourth", LOGCHORD_CONFIG=str(other))
        assert f"reads another file than {other}" in told
    finally:
        file.write_text(before, "utf-8")
        admin.post("/v1/sources/reload")


def test_metrics_tell_of_each_source(system, admin):
    until(lambda: source(admin)["entries"] >= 5, within_seconds=60)
    text = admin.get("/metrics").text
    found = dict(
        line.rsplit(" ", 1) for line in text.splitlines() if 'source="ring"' in line
    )
    assert float(found['logchord_source_lag_seconds{source="ring"}']) > 0
    assert float(found['logchord_source_failures{source="ring"}']) == 0
    assert float(found['logchord_source_paused{source="ring"}']) == 0
