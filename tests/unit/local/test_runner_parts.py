"""The Procfile, the kinds of worker, what the runner writes down, and its lines."""

import json
import os
import sys
import time
from pathlib import Path

import click
import pytest

from api.cli import output
from api.cli.doctor import database_checks
from api.cli.doctor.checks import Check
from api.cli.render import log_lines
from local import postgres, procfile, runner_state, stack
from local.place import StackFolders
from shared.errors import AccessError, ConfigurationError, NotFoundError
from shared.messaging.task_names import QUEUES
from shared.settings.settings import Settings
from tests.support.commands import run_command
from workers.runtime import worker_kinds


def test_procfile_names_every_process_of_the_system() -> None:
    commands = {command.name: command.argv for command in procfile.parse_procfile()}
    assert set(commands) == {
        *(
            "api",
            "search",
            "search-2",
            "search-bulk",
            "answer",
            "enhance",
            "embed",
            "ingest",
            "chores",
            "upkeep",
        ),
        "flower",
    }
    assert all(argv[:2] == ("logchord", "serve") for argv in commands.values())


def test_searches_are_answered_while_one_of_their_workers_is_started_again() -> None:
    commands = [command.argv for command in procfile.parse_procfile()]
    assert commands.count(("logchord", "serve", "worker", "search")) == 2


def test_every_queue_with_tasks_has_a_worker_in_the_procfile() -> None:
    served = {
        queue
        for command in procfile.parse_procfile()
        if command.argv[2] == "worker"
        for queue in command.argv[3].split(",")
    }
    assert served >= QUEUES


def test_postgres_has_connections_for_every_pool_of_the_stack() -> None:
    kinds = [
        worker_kinds.kind_of(tuple(command.argv[3].split(",")))
        for command in procfile.parse_procfile()
        if command.argv[2] == "worker"
    ]
    pools = 1 + sum(one.concurrency if one.pool == "prefork" else 1 for one in kinds)
    # Each worker reports itself, `upkeep` has a session for each of its loops.
    single = len(kinds) + 10
    assert doctor_pools(pools, single).state == "ok"


def doctor_pools(pools: int, single: int) -> Check:
    """Say what `doctor` would of so many, beside the Postgres of this machine."""
    size = Settings.model_fields["database_pool_size"].default
    return database_checks.weigh_pools(pools, size, single, postgres.MOST_CONNECTIONS)


@pytest.mark.parametrize("line", ["no colon", "Upper: x", "a:", ": x"])
def test_a_line_that_is_no_process_is_refused_by_its_number(tmp_path, line) -> None:
    path = tmp_path / "Procfile"
    path.write_text(f"# comment\n\nweb: true\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 4"):
        procfile.parse_procfile(path)


def test_a_process_that_comes_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "Procfile"
    path.write_text("web: true\nweb: false\n", encoding="utf-8")
    with pytest.raises(ValueError, match="web comes twice"):
        procfile.parse_procfile(path)


@pytest.mark.parametrize("kind", worker_kinds.KINDS, ids=lambda kind: kind.name)
def test_flower_hears_of_every_kind_of_worker(kind: worker_kinds.WorkerKind) -> None:
    command = kind.command()
    assert "-E" in command
    assert "--without-heartbeat" not in command


def test_a_worker_is_named_after_kind_host_and_process() -> None:
    command = worker_kinds.kind_of(("enhance.metadata", "index")).command()
    assert command[:5] == ["celery", "-A", "workers.app", "--quiet", "worker"]
    assert command[command.index("-Q") + 1] == "enhance.metadata,index"
    assert command[command.index("-n") + 1].startswith("enhance@%h-")
    assert "-E" in command


def test_a_worker_may_serve_some_of_the_queues_of_its_kind_alone() -> None:
    assert worker_kinds.kind_of(("index",)).queues == ("index",)


def test_reading_all_that_match_has_workers_of_its_own_or_shares_those() -> None:
    assert worker_kinds.kind_of(("search.bulk",)).name == "search-bulk"
    assert worker_kinds.kind_of(("search",)).name == "search"
    assert worker_kinds.kind_of(("search", "search.bulk")).name == "search"


@pytest.mark.parametrize("queues", [(), ("nonsense",), ("search", "index")])
def test_queues_of_no_one_kind_are_refused_and_the_kinds_named(queues) -> None:
    with pytest.raises(ValueError, match=r"one of: search\.bulk; answer; search,"):
        worker_kinds.kind_of(queues)


def test_nothing_heavy_is_imported_before_a_worker_becomes_celery() -> None:
    code = (
        "import sys, workers.runtime.worker_kinds\n"
        "print([name for name in ('celery', 'pydantic', 'psycopg', 'click') "
        "if name in sys.modules])"
    )
    done = run_command([sys.executable, "-c", code], check=True)
    assert done.stdout.strip() == "[]"


def test_help_lists_every_command_without_importing_one() -> None:
    code = (
        "import sys\nfrom api.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name in "
        "('pydantic', 'httpx2', 'rich', 'psycopg', 'celery')])"
    )
    done = run_command([sys.executable, "-c", code], check=True)
    assert done.stdout.strip().endswith("[]")
    for name in ("up", "down", "status", "doctor", "serve"):
        assert f"\n  {name}" in done.stdout


def row(*deaths: float, pid: int | None = None) -> runner_state.ChildState:
    return {
        "pid": pid,
        "since": None,
        "birth": None,
        "restarts": len(deaths),
        "deaths": list(deaths),
    }


def test_five_deaths_within_a_minute_make_a_process_failing() -> None:
    now = time.time()
    assert runner_state.is_failing(row(*[now - n for n in (50, 40, 30, 20, 10)]))
    assert not runner_state.is_failing(row(*[now - n for n in (40, 30, 20, 10)]))
    assert not runner_state.is_failing(row(*[now - n for n in (61, 40, 30, 20, 10)]))


def test_state_that_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "runner.json"
    rows = {"api": row(1.0, pid=7)}
    runner_state.write(path, rows)
    assert runner_state.read_children(path) == rows
    assert runner_state.read_children(tmp_path / "absent.json") == {}


@pytest.mark.parametrize("left", ["", "{", "[]", "{}"])
def test_notes_that_a_power_cut_has_damaged_are_none(tmp_path: Path, left: str) -> None:
    run = StackFolders(tmp_path, tmp_path).run
    run.mkdir()
    for name in ("runner.json", "postgres.json", "startup.json"):
        (run / name).write_text(left, encoding="utf-8")

    runner_state.reclaim(run / "runner.json", pytest.fail)
    assert stack.server_pids(tmp_path) == {}
    assert stack.read_startup(tmp_path) is None


def test_a_reused_process_number_is_not_taken_for_a_child(tmp_path: Path) -> None:
    path = tmp_path / "runner.json"
    mine: runner_state.ChildState = {
        "pid": os.getppid(),
        "since": time.time(),
        "birth": (runner_state.birth_of(os.getppid()) or 0) + 1,
        "restarts": 0,
        "deaths": [],
    }
    runner_state.write(path, {"api": mine})
    told: list[str] = []
    runner_state.reclaim(path, told.append)
    assert told == []
    assert not path.exists()


def test_a_child_is_known_whatever_the_clock_has_been_set_to() -> None:
    mine: runner_state.ChildState = {
        "pid": os.getpid(),
        "since": time.time() - 3600,
        "birth": runner_state.birth_of(os.getpid()),
        "restarts": 0,
        "deaths": [],
    }
    assert runner_state.is_alive(mine)
    assert runner_state.birth_of(2**22 + 1) is None


def test_a_json_line_is_shown_as_time_event_and_the_rest() -> None:
    line = json.dumps(
        {
            "event": "entry_indexed",
            "level": "info",
            "timestamp": "2026-03-02T05:10:07.123Z",
            "revision": 2,
        }
    )
    shown = click.unstyle(log_lines.pretty("enhance", line))
    assert shown == "enhance  05:10:07 entry_indexed revision=2"


def test_other_lines_stay_as_they_are_without_control_characters() -> None:
    shown = click.unstyle(log_lines.pretty("api", "plain\x1b]0;title\x07 {text"))
    assert shown == "api      plain]0;title {text"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError(), output.USAGE),
        (NotFoundError(), output.NOT_FOUND),
        (AccessError(), output.NOT_ALLOWED),
        (AccessError(code="rate_limited"), output.TRY_AGAIN),
    ],
)
def test_an_error_prints_message_code_and_id_and_decides_the_exit_code(
    capsys: pytest.CaptureFixture[str], error: ConfigurationError, code: int
) -> None:
    assert output.show_error(output.Output(), error) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        error.message,
        f"code: {error.error_code}",
        f"id: {error.id}",
    ]
