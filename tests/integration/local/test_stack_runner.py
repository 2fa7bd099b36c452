"""The runner and its children as real processes: killed, stopped, reclaimed."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import psutil
import pytest

from local import runner_state
from tests.support.waiting import until

_RUNNER = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    from api.cli.output import Output
    from api.cli.stack.progress import Steps
    from local import procfile
    from local.runner import Runner

    folder = Path(sys.argv[1])
    steps = Steps(Output(color=False))
    def echo(name, line):
        steps.line(f"{name} {line}")
    runner = Runner(
        procfile.parse_procfile(folder / "Procfile"),
        logs=folder / "logs",
        state=folder / "runner.json",
        echo=echo,
    )
    signal.signal(signal.SIGTERM, lambda *_: runner.end())
    runner.run(os.environ)
    runner.stop(float(sys.argv[2]))
    """
)
# A child with a child of its own, which lives in the same group.
_FAMILY = "sh -c 'sleep 1000 & echo hello from $$; wait'"
_STUBBORN = """sh -c 'trap "" TERM; echo deaf; while :; do sleep 0.2; done'"""
_ORDERLY = """sh -c 'trap "echo {0} ends; exit 0" TERM; echo {0} is up; while :; do sleep 0.05; done'"""  # noqa: E501 - a shell line
_TALKATIVE = """sh -c 'trap "seq 5000; echo ends; exit 0" TERM; echo is up; while :; do sleep 0.05; done'"""  # noqa: E501 - a shell line

Start = Callable[..., "Run"]


class Run:
    """One runner in a process of its own, and what it wrote."""

    def __init__(
        self, folder: Path, procfile: str, patience_seconds: float, *, unread: bool
    ) -> None:
        self.folder = folder
        (folder / "Procfile").write_text(procfile, encoding="utf-8")
        self.printed = folder / "printed"
        with ExitStack() as opened:
            out: IO[bytes] = opened.enter_context(self.printed.open("wb"))
            if unread:
                reader, writer = os.pipe()
                os.close(reader)
                out = opened.enter_context(os.fdopen(writer, "wb"))
            self.process = subprocess.Popen(
                [sys.executable, "-c", _RUNNER, str(folder), str(patience_seconds)],
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def text(self) -> str:
        return self.printed.read_text(encoding="utf-8")

    def says(self, words: str, times: int = 1) -> bool:
        return self.text().count(words) >= times

    def child(self, name: str) -> psutil.Process | None:
        row = runner_state.read_children(self.folder / "runner.json").get(name)
        if row is None or not row["pid"] or not runner_state.is_alive(row):
            return None
        return psutil.Process(row["pid"])

    def wait_for(self, name: str, *, but: int | None = None) -> psutil.Process:
        def found() -> psutil.Process | None:
            child = self.child(name)
            return child if child is not None and child.pid != but else None

        return until(found, within_seconds=10, what=f"{name}: {self.text()}")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    runs: list[Run] = []

    def make(
        procfile: str, patience_seconds: float = 10, *, unread: bool = False
    ) -> Run:
        runs.append(Run(tmp_path, procfile, patience_seconds, unread=unread))
        return runs[-1]

    yield make
    for run in runs:
        run.process.kill()
        run.process.wait()
        runner_state.reclaim(run.folder / "runner.json", lambda _: None)


def gone(*processes: psutil.Process) -> bool:
    return not any(
        process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        for process in processes
    )


def test_every_child_that_is_killed_comes_back_without_its_old_family(start: Start):
    run = start(f"one: {_FAMILY}\ntwo: {_FAMILY}\n")
    for name in ("one", "two"):
        before = run.wait_for(name)
        until(lambda: run.says("hello", 2), within_seconds=5, what=run.text())
        family = until(before.children, within_seconds=5)
        before.kill()
        after = run.wait_for(name, but=before.pid)
        assert after.pid != before.pid
        until(lambda: gone(*family), within_seconds=5)  # noqa: B023 - called at once
        assert run.says(f"runner {name} ended (signal 9); starts in 0.2 s")


def test_a_child_that_dies_at_once_waits_longer_each_time_and_is_named(start: Start):
    run = start("broken: sh -c 'exit 3'\n")

    def failing() -> bool:
        row = runner_state.read_children(run.folder / "runner.json").get("broken")
        return row is not None and runner_state.is_failing(row)

    until(failing, within_seconds=20, what=run.text())
    pauses = [line.split()[-2] for line in run.text().splitlines() if "ended" in line]
    assert pauses[:5] == ["0.2", "0.4", "0.8", "1.6", "3.2"]


def test_a_program_that_is_not_there_is_said_and_tried_again(start: Start):
    run = start("absent: no-such-program-here\n")
    until(lambda: run.says("cannot be started", 2), within_seconds=10, what=run.text())


def test_a_state_that_cannot_be_written_ends_nothing_and_is_written_later(start):
    run = start(f"one: {_FAMILY}\n")
    before = run.wait_for("one")
    # As with a full disk.
    in_the_way = run.folder / "runner.new"
    in_the_way.mkdir()
    before.kill()
    until(lambda: run.says("hello", 2), within_seconds=10, what=run.text())
    until(lambda: run.says("cannot be written"), within_seconds=5, what=run.text())
    in_the_way.rmdir()
    assert run.wait_for("one", but=before.pid).is_running()


def test_what_children_say_is_kept_where_nobody_reads_the_terminal(start: Start):
    run = start(f"one: {_ORDERLY.format('one')}\n", unread=True)
    log = run.folder / "logs" / "one.log"
    until(lambda: log.exists() and "is up" in log.read_text(), within_seconds=10)
    child = run.wait_for("one")
    child.terminate()
    until(lambda: log.read_text().count("is up") == 2, within_seconds=10)
    assert "one ends" in log.read_text()


def test_children_of_a_killed_runner_end_with_it(start: Start):
    run = start(f"one: {_FAMILY}\ntwo: sleep 1000\n")
    children = [run.wait_for("one"), run.wait_for("two")]
    run.process.kill()
    run.process.wait()
    until(lambda: gone(*children), within_seconds=5)


def test_what_a_killed_runner_leaves_is_ended_by_the_next_start(start: Start):
    run = start(f"deaf: {_STUBBORN}\nfamily: {_FAMILY}\n")
    deaf = run.wait_for("deaf")
    family = run.wait_for("family")
    until(lambda: run.says("deaf deaf"), within_seconds=5, what=run.text())
    run.process.kill()
    run.process.wait()
    until(lambda: gone(family), within_seconds=5)
    assert not gone(deaf)
    told: list[str] = []
    runner_state.reclaim(run.folder / "runner.json", told.append)
    assert told == [f"Ended deaf (process {deaf.pid}), left by a killed stack."]
    until(lambda: gone(deaf), within_seconds=5)


def test_a_stop_ends_what_takes_requests_first(start: Start):
    names = ("upkeep", "search", "api")
    run = start("".join(f"{name}: {_ORDERLY.format(name)}\n" for name in names))
    for name in names:
        until(lambda: run.says(f"{name} is up"), within_seconds=5)  # noqa: B023
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(15) == 0
    ends = [line for line in run.text().splitlines() if line.endswith(" ends")]
    assert ends[0] == "api api ends"
    assert sorted(ends[1:]) == ["search search ends", "upkeep upkeep ends"]
    assert not (run.folder / "runner.json").exists()


def test_what_a_child_says_last_is_kept_to_its_end(start: Start):
    run = start(f"talker: {_TALKATIVE}\n")
    until(lambda: run.says("talker is up"), within_seconds=5)
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(15) == 0
    kept = (run.folder / "logs" / "talker.log").read_text(encoding="utf-8")
    assert kept.splitlines() == ["is up", *map(str, range(1, 5001)), "ends"]


def test_a_child_that_will_not_stop_is_killed_with_its_family(start: Start):
    run = start(f"deaf: {_STUBBORN}\n", patience_seconds=0.5)
    deaf = run.wait_for("deaf")
    until(lambda: run.says("deaf deaf"), within_seconds=5, what=run.text())
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(15) == 0
    assert gone(deaf)
    assert run.says("deaf did not stop in time and is killed")


@pytest.mark.requirement("S1-81")
def test_output_is_prefixed_and_kept_in_one_file_a_process(start: Start):
    run = start(
        "talker: sh -c 'echo $PYTHONUNBUFFERED to out; echo err >&2; sleep 99'\n"
    )
    until(lambda: run.says("talker err"), within_seconds=5, what=run.text())
    kept = (run.folder / "logs" / "talker.log").read_text(encoding="utf-8")
    assert kept.splitlines() == ["1 to out", "err"]
