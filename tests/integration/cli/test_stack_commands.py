"""`logchord up`, `status`, `doctor`, `logs` and `down`, as typed at a terminal."""

import json
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from local import service_user
from local.stack import running_pid
from tests.support.fixtures.servers import Reap
from tests.support.machine import BIN, START_SECONDS, Machine, ended, machine
from tests.support.waiting import until

BEGIN_SECONDS, PATIENT_SECONDS = 90, 30


def ask(url: str, **options: Any) -> httpx2.Response:
    return httpx2.get(url, timeout=PATIENT_SECONDS, **options)


@contextmanager
def starting_stack(one: Machine) -> Iterator[subprocess.Popen[bytes]]:
    """Start a stack in the foreground; a test that fails leaves nothing of it."""
    starting = subprocess.Popen(
        [str(BIN / "logchord"), "up", "--no-echo"],
        env=one.environ,
        cwd=one.home.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield starting
    finally:
        starting.terminate()
        starting.wait(START_SECONDS)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, reap: Reap) -> Iterator[Machine]:
    """Give a stack that runs, started once for these tests."""
    one = machine(tmp_path_factory.mktemp("stack"))
    reap(one.home.parent)
    one.start()
    yield one
    assert one.run("down").returncode == 0
    assert ended(one.home)
    service_user.discard_home(one.home)


def test_up_returns_once_everything_is_healthy(up: Machine) -> None:
    ready = ask(f"{up.url}/health/ready").json()
    assert ready["checks"]["postgres"] == ready["checks"]["broker"] == "ok"
    found = up.status()
    assert {row["kind"] for row in found["workers"]} >= {"search", "enhance", "embed"}
    assert found["problems"] == []
    assert found["startup"]["seconds"] > 0


def test_down_mends_what_a_power_cut_has_left_of_a_stack(tmp_path: Path) -> None:
    one = machine(tmp_path)
    left = one.home / "run" / "stack.json"
    left.parent.mkdir(parents=True)
    left.write_text("", encoding="utf-8")
    assert "run `logchord down`" in one.run("status").stderr

    done = one.run("down")

    assert done.returncode == 0, done.stderr
    assert not left.exists()
    assert "run `logchord down`" not in one.run("status").stderr


def test_a_second_up_says_who_runs_already(up: Machine) -> None:
    done = up.run("up")
    assert done.returncode == 2
    assert f"(process {running_pid(up.home)})" in done.stderr
    assert "logchord down" in done.stderr


def test_doctor_finds_every_precondition_met_and_measures_the_stack(up) -> None:
    done = up.run("doctor", "--json")
    found = json.loads(done.stdout)
    wrong = [check for check in found["checks"] if check["state"] == "failed"]
    assert wrong == []
    assert done.returncode == 0
    names = {check["name"] for check in found["checks"]}
    assert names >= {"locale", "clock", "pools", "migrations", "broker", "vectors"}
    assert found["startup_seconds"] > 0
    assert 200e6 < found["memory_bytes"] < 2.5 * 2**30


@pytest.mark.requirement("SEC15")
def test_flower_asks_for_its_login_and_changes_nothing(up: Machine) -> None:
    user, _, password = up.secrets()["flower_login"].partition(":")
    for path in ("/", "/api/tasks", "/workers"):
        assert ask(f"{up.flower}{path}").status_code == 401
    answer = ask(f"{up.flower}/api/tasks", auth=(user, password))
    assert answer.status_code == 200
    shutdown = f"{up.flower}/api/worker/shutdown/anything"
    assert httpx2.post(shutdown, timeout=PATIENT_SECONDS).status_code == 401
    refused = httpx2.post(shutdown, auth=(user, password), timeout=PATIENT_SECONDS)
    assert refused.status_code == 403


@pytest.mark.requirement("SEC15", "S1-109")
def test_nothing_listens_beyond_loopback(up: Machine) -> None:
    listening = [
        connection.laddr.ip
        for process in up.family()
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 4
    assert set(listening) == {"127.0.0.1"}


@pytest.mark.requirement("SEC15")
def test_no_secret_stands_on_a_command_line_or_in_a_file_for_others(up) -> None:
    run = up.home / "run"
    hidden = [*up.secrets().values(), (run / "cli_key").read_text(encoding="utf-8")]
    hidden.append(up.secrets()["flower_login"].partition(":")[2])
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        assert not [secret for secret in hidden if secret in line]
    for name in ("secrets.json", "stack.json", "cli_key"):
        assert stat.S_IMODE((run / name).stat().st_mode) == 0o600
    for path in (up.home / "logs").iterdir():
        text = path.read_text(encoding="utf-8", errors="replace")
        assert not [secret for secret in hidden if secret in text], path.name


def test_a_killed_worker_comes_back_while_searches_are_answered(up: Machine) -> None:
    before = up.child("search")
    assert before is not None
    os.kill(before, signal.SIGKILL)

    def back() -> bool:
        rows = up.status()["workers"]
        pids = {row["pid"] for row in rows if row["kind"] == "search"}
        return up.child("search") in pids - {before}

    until(back, within_seconds=60, what="the search worker")
    key = (up.home / "run" / "cli_key").read_text(encoding="utf-8")

    def is_answered() -> bool:
        answer = httpx2.post(
            f"{up.url}/v1/search/query",
            json={"query": "vacuum", "mode": "keyword", "deadline_ms": 4000},
            headers={"Authorization": f"Bearer {key}"},
            timeout=PATIENT_SECONDS,
        )
        return answer.status_code == 200

    # What a worker loads with its first search may outlast that search's deadline.
    until(is_answered, within_seconds=60, what="an answer")


def test_a_server_that_dies_is_started_again(up: Machine) -> None:
    def server() -> int | None:
        path = up.home / "run" / "valkey.json"
        pid = int(json.loads(path.read_text())["pid"]) if path.exists() else None
        return pid if pid and psutil.pid_exists(pid) else None

    before = server()
    assert before is not None
    os.kill(before, signal.SIGKILL)
    until(lambda: server() not in (None, before), within_seconds=60)

    def well() -> bool:
        with suppress(httpx2.TransportError):
            return bool(
                ask(f"{up.url}/health/ready").json()["checks"]["broker"] == "ok"
            )
        return False

    until(well, within_seconds=60, what="the broker")


def test_logs_of_a_process_are_shown_and_an_unknown_name_is_not_found(up) -> None:
    shown = up.run("logs", "upkeep")
    assert shown.returncode == 0
    assert up.run("logs", "postgres").stdout
    missing = up.run("logs", "nonsense")
    assert missing.returncode == 3
    assert "upkeep" in missing.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_stacks_live_side_by_side_and_a_killed_one_is_taken_over(
    up: Machine, tmp_path: Path, reap: Reap
) -> None:
    other = machine(tmp_path)
    reap(tmp_path)
    other.start()
    try:
        for one in (up, other):
            assert ask(f"{one.url}/health/ready").status_code == 200
        pid = running_pid(other.home)
        assert pid is not None
        database = json.loads((other.home / "run" / "postgres.json").read_text())["pid"]
        os.kill(pid, signal.SIGKILL)
        other.start()
        again = json.loads((other.home / "run" / "postgres.json").read_text())["pid"]
        assert again == database
        assert running_pid(up.home) is not None
    finally:
        stopped = other.run("down")
    assert stopped.returncode == 0
    until(lambda: ended(other.home), within_seconds=10)
    assert other.run("status").returncode == 1
    assert "No stack runs" in other.run("down").stderr
    service_user.discard_home(other.home)


def test_down_ends_what_a_killed_stack_left(tmp_path: Path, reap: Reap) -> None:
    one = machine(tmp_path)
    reap(tmp_path)
    with starting_stack(one) as starting:
        stack_file = one.home / "run" / "stack.json"
        until(stack_file.exists, within_seconds=BEGIN_SECONDS)
        starting.kill()
        starting.wait()
    done = one.run("down")
    assert done.returncode == 0
    assert "Stopping postgres" in done.stderr
    until(lambda: ended(one.home), within_seconds=15)
    assert not stack_file.exists()
    service_user.discard_home(one.home)


@pytest.mark.timeout(300)
def test_ctrl_c_while_it_starts_stops_everything(tmp_path: Path, reap: Reap) -> None:
    one = machine(tmp_path)
    reap(tmp_path)
    with starting_stack(one) as starting:
        secrets_file = one.home / "run" / "secrets.json"
        until(secrets_file.exists, within_seconds=BEGIN_SECONDS)
        starting.send_signal(signal.SIGINT)
        # Servers that are half up are waited for, on a busy machine for long.
        assert starting.wait(150) in (0, 130)
    assert ended(one.home)
    service_user.discard_home(one.home)


@pytest.mark.parametrize("variable", ["LOGCHORD_PORT", "FLOWER_PORT"])
def test_a_port_in_use_is_said_with_its_holder_and_the_way_out(tmp_path, variable):
    one = machine(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = one.run("up", **{variable: port})
    assert done.returncode == 2
    assert f"Port {port}" in done.stderr
    assert f"pid {os.getpid()}" in done.stderr
    assert "--port" in done.stderr or "FLOWER_PORT" in done.stderr
    assert ended(one.home)


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    done = machine(tmp_path).run("up", LOGCHORD_HOME=str(tmp_path / "file" / "home"))
    assert done.returncode == 1
    assert str(tmp_path / "file" / "home") in done.stderr
    assert "LOGCHORD_HOME" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_stack_status_and_down_say_so(tmp_path: Path) -> None:
    one = machine(tmp_path)
    status = one.run("status")
    assert status.returncode == 1
    assert "logchord up" in status.stdout
    assert one.run("down").returncode == 0
