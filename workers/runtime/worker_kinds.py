"""The kinds of Celery worker: which queues each serves, in which pool, how wide.

Standard library only: `python -m workers.runtime.worker_kinds QUEUES` becomes the
worker itself, and whatever was imported before that would have been imported for
nothing.
"""

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn

KIND_VARIABLE = "WORKER_KIND"
# Where the children of a prefork worker share their figures by files.
METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# A third of what a search gets where both want the processor: an entry is found anyway.
_YIELDS = 5
_AUTOGROUP = Path("/proc/self/autogroup")
_METRICS_PREFIX = "logchord-metrics-"


@dataclass(frozen=True)
class WorkerKind:
    """The queues and the pool of one kind of worker."""

    name: str
    queues: tuple[str, ...]
    pool: Literal["threads", "prefork"]
    concurrency: int
    prefetch: int = 1
    # A search has somebody who waits for it; what comes of enrichment is found later.
    nice: int = 0

    def command(self) -> list[str]:
        """Return the celery command that runs it, named after kind, host and pid."""
        options = ["-Q", ",".join(self.queues), "-n", f"{self.name}@%h-{os.getpid()}"]
        options += ["--pool", self.pool, "-c", str(self.concurrency)]
        options += ["--prefetch-multiplier", str(self.prefetch)]
        # Both make every worker talk to every other, which nothing here relies on.
        options += ["--without-gossip", "--without-mingle"]
        # `--quiet`: of nine workers the banners alone are 120 lines in a terminal.
        # `-E`: Flower lists a worker by its heartbeats, which are events.
        return ["celery", "-A", "workers.app", "--quiet", "worker", "-E", *options]


KINDS = (
    WorkerKind("search-bulk", ("search.bulk",), "threads", 4),
    WorkerKind("answer", ("answer",), "threads", 4),
    # A small installation may have one process for all three.
    WorkerKind("search", ("search", "search.bulk", "answer"), "threads", 8),
    # One waits for what fails, three may begin to hang at once, and two are left.
    WorkerKind("ingest", ("ingest",), "prefork", 6),
    WorkerKind("enhance", ("enhance.metadata", "index"), "prefork", 2, nice=_YIELDS),
    WorkerKind("alert", ("alert",), "threads", 2),
    # A small installation has one process for both: it has the model already, and of
    # its threads a webhook that hangs holds one.
    WorkerKind("embed", ("enhance.embed", "alert"), "threads", 2, nice=_YIELDS),
    # One may read a source, which takes as long as that answers; one is left.
    WorkerKind("chores", ("chores",), "prefork", 2, nice=_YIELDS),
)


def kind_of(queues: tuple[str, ...]) -> WorkerKind:
    """Return the kind that serves these queues, narrowed to them; else ValueError."""
    for kind in KINDS:
        if queues and set(queues) <= set(kind.queues):
            return replace(kind, queues=queues)
    offers = "; ".join(",".join(kind.queues) for kind in KINDS)
    asked = ",".join(queues) or "nothing"
    raise ValueError(f"No worker serves {asked}; one worker serves one of: {offers}.")


def current() -> WorkerKind:
    """Return the kind of this worker process, as its starter set it."""
    name = os.environ.get(KIND_VARIABLE, "enhance")
    return next(kind for kind in KINDS if kind.name == name)


def metrics_folder() -> str:
    """Make this process's folder of metrics, and remove those of dead processes."""
    for left in Path(tempfile.gettempdir()).glob(f"{_METRICS_PREFIX}*-*"):
        pid = left.name.removeprefix(_METRICS_PREFIX).split("-")[0]
        if pid.isdigit() and not _is_alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"{_METRICS_PREFIX}{os.getpid()}-")


def _yield_to_searches(nice: int) -> None:
    """Take fewer turns at the processor than who is not as nice."""
    os.nice(nice)
    if nice and os.getsid(0) == os.getpid() and _AUTOGROUP.exists():
        # Linux may weigh whole sessions, and processes within one only: this one is
        # ours alone. Where the kernel refuses, the worker is as eager as any.
        with suppress(OSError):
            _AUTOGROUP.write_text(str(nice))


def _is_alive(pid: int) -> bool:
    with suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True


def main(arguments: list[str]) -> NoReturn:
    """Become the Celery worker of the queues named, separated by commas."""
    names = ",".join(arguments).split(",")
    try:
        kind = kind_of(tuple(name.strip() for name in names if name.strip()))
    except ValueError as exc:
        sys.stderr.write(f"{exc}\n")
        sys.exit(2)
    os.environ[KIND_VARIABLE] = kind.name
    if kind.pool == "prefork" and METRICS_VARIABLE not in os.environ:
        os.environ[METRICS_VARIABLE] = metrics_folder()
    # Workers run as root inside containers; only JSON is accepted, so that is safe.
    os.environ.setdefault("C_FORCE_ROOT", "1")
    _yield_to_searches(kind.nice)
    command = kind.command()
    os.execv(str(Path(sys.executable).with_name("celery")), command)


if __name__ == "__main__":
    main(sys.argv[1:])
