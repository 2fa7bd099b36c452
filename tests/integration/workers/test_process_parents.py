"""A process that a parent forks is what one is that starts from nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.fixtures.process_parents import (
    Process,
    ProcessParents,
    bare_environment,
)
from tests.support.waiting import until

# What it finds itself to be, and what of the product has been asked for so far.
TELLING = """
import functools, json, os, random, signal, sys
from pathlib import Path
cached = [
    value.__name__
    for name, module in list(sys.modules.items())
    if name.partition(".")[0] in ("api", "shared", "workers")
    for value in list(vars(module).values())
    if isinstance(value, functools._lru_cache_wrapper) and value.cache_info().currsize
]
status = Path("/proc/self/status").read_text().splitlines()
print(json.dumps({
    "alike": {
        "argv": sys.argv, "path": sys.path, "name": __name__,
        "environment": dict(os.environ), "folder": os.getcwd(),
        "files": sorted(os.listdir("/proc/self/fd")),
        "leads": os.getsid(0) == os.getpgid(0) == os.getpid(),
        "umask": os.umask(0), "nice": os.nice(0),
        "signals": [repr(signal.getsignal(n)) for n in signal.valid_signals()],
        "blocked": [line for line in status if line.startswith(("SigB", "SigI"))],
        "limits": Path("/proc/self/limits").read_text(),
        "shared": [
            line.split()[-2:]
            for line in Path("/proc/self/maps").read_text().splitlines()
            if "s" in line.split()[1] and not line.endswith("/dev/zero (deleted)")
        ],
        "buffered": [sys.stdout.line_buffering, sys.stdout.write_through],
        "threads": len(os.listdir("/proc/self/task")),
    },
    "cached": cached, "random": random.random(), "pid": os.getpid(),
}))
sys.exit(3)
"""


def start(
    parents: ProcessParents, folder: Path, code: str, kind: str | None
) -> tuple[Process, Path]:
    script, said = folder / "script", folder / f"said-{time.monotonic_ns()}"
    script.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
    script.chmod(0o755)
    with said.open("wb") as output:
        process = parents.start(
            [str(script), "--word", "x y"],
            environment={
                **bare_environment(),
                "LOGCHORD_PORT": "1",
                "TZ": "Asia/Tokyo",
            },
            folder=folder,
            output=output,
            kind=kind,
        )
    return process, said


def told(parents: ProcessParents, folder: Path, kind: str | None) -> dict[str, Any]:
    process, said = start(parents, folder, TELLING, kind)
    assert process.wait(timeout=60) == 3, said.read_text("utf-8")
    found: dict[str, Any] = json.loads(said.read_text("utf-8"))
    assert found["pid"] == process.pid
    return found


@pytest.mark.parametrize("kind", ["api", "work", "mcp"])
def test_a_forked_process_finds_itself_as_one_does_that_starts_from_nothing(
    process_parents: ProcessParents, tmp_path: Path, kind: str
) -> None:
    started = told(process_parents, tmp_path, None)
    forked, another = (told(process_parents, tmp_path, kind) for _ in range(2))

    assert forked["alike"] == started["alike"]
    assert forked["random"] != another["random"]
    # Filled while routes are imported, and a table that is the same for everybody.
    assert set(forked["cached"]) <= {"make_camel_model", "_identifier"}


def test_a_forked_process_is_signalled_and_waited_for_as_any_other(
    process_parents: ProcessParents, tmp_path: Path
) -> None:
    code = "import signal; print('ready', flush=True); signal.pause()"
    for number in (signal.SIGKILL, signal.SIGTERM):
        process, said = start(process_parents, tmp_path, code, "work")
        until(lambda said=said: said.read_text() == "ready\n", within_seconds=30)
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.1)
        os.killpg(process.pid, number)

        assert process.wait(timeout=10) == process.poll() == -number
        assert not psutil.pid_exists(process.pid)


def test_memory_that_a_worker_shares_with_its_children_is_shared_with_no_other(
    process_parents: ProcessParents, tmp_path: Path
) -> None:
    code = """if True:
        import os, sys
        from shared.work import batches, bulk_turn
        assert not batches.is_ending() and batches._BULK_TURN.take(60)
        if os.fork() == 0:
            batches.claim_no_more()
            os._exit(0)
        os.wait()
        assert batches.is_ending()"""
    for _ in range(2):
        process, said = start(process_parents, tmp_path, code, "work")
        assert process.wait(timeout=60) == 0, said.read_text("utf-8")


def test_what_is_read_at_the_start_of_a_program_is_read_at_its_own_start(
    process_parents: ProcessParents, tmp_path: Path
) -> None:
    (tmp_path / "shared.py").touch()
    with (tmp_path / "said").open("wb") as output:
        process = process_parents.start(
            [sys.executable, "-c", "import shared; print(shared.__file__)"],
            environment={**bare_environment(), "PYTHONPATH": str(tmp_path)},
            folder=tmp_path,
            output=output,
            kind="work",
        )
    assert process.wait(timeout=60) == 0
    assert (tmp_path / "said").read_text().strip() == str(tmp_path / "shared.py")
