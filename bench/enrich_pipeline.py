"""The whole pipeline by real workers: from a push to the end of the last stage."""

import json
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import LiteralString, Self

import httpx2
import psutil
import psycopg

from bench.rig import Rig
from local import service_user
from shared.entries.draft import EntryDraft

PUSHED_AT_ONCE = 500
COMMANDS = (
    ("serve", "api"),
    ("serve", "worker", "enhance.metadata,index"),
    ("serve", "worker", "enhance.embed"),
    ("serve", "worker", "search"),
    ("serve", "worker", "ingest"),
    ("serve", "worker", "chores"),
    ("serve", "upkeep"),
)
AIM_MB, AIM_EMBED_MB = 300, 700
# Below that a worker is flat.
AIM_MB_A_MINUTE = 1.0
_EVERY_SECONDS = 0.5
_MOST_SECONDS = 7200.0
_MEGA = 1_000_000

_DUE: LiteralString = "SELECT stage, count(*) FROM work GROUP BY stage"
_ASIDE: LiteralString = "SELECT count(*) FROM quarantine"
_DISK: LiteralString = """
    SELECT 'postgres', pg_database_size(current_database())
     UNION ALL
    SELECT 'of it vectors', sum(pg_total_relation_size(table_name::regclass))
      FROM embedding_model"""


@dataclass(frozen=True)
class Stage:
    """One stage of the run, and when it had ended its last entry."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Held:
    """The memory of one kind of worker, all of its processes together."""

    kind: str
    most_mb: float
    # Of the second half of the run, by least squares.
    mb_a_minute: float | None
    cpu_seconds: float


@dataclass
class Run:
    """What became of so many entries."""

    entries: int
    accepted_seconds: float = 0.0
    seconds: float = 0.0
    stages: list[Stage] = field(default_factory=list)
    memory: list[Held] = field(default_factory=list)
    quarantined: int = 0
    # What all entries so far take on the disk, in MB.
    disk: dict[str, float] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        """Entries a second, from the first push to the end of the last stage."""
        return self.entries / max(self.seconds, 1e-9)

    @property
    def slowest(self) -> str:
        """The stage that ended last."""
        return max(self.stages, key=lambda one: one.seconds).name


def run(made: Rig, database: str, drafts: Iterator[EntryDraft], count: int) -> Run:
    """Push the entries and wait until nothing of them is due any more."""
    found = Run(count)
    spent = made.cpu_seconds()
    bodies = list(_bodies(drafts))
    with Memory(made.processes) as memory:
        began = time.monotonic()
        with _client(made) as client:
            for body in bodies:
                _pushed(client, body)
        found.accepted_seconds = time.monotonic() - began
        found.stages = _watched(database, began)
        found.seconds = max(one.seconds for one in found.stages)
    now = made.cpu_seconds()
    cpu = {name: now[name] - spent[name] for name in now}
    found.memory = memory.held(cpu)
    with psycopg.connect(database) as conn:
        row = conn.execute(_ASIDE).fetchone()
        found.disk = _measure_disk(conn, made.settings.home)
    found.quarantined = int(row[0]) if row else 0
    return found


def _measure_disk(conn: psycopg.Connection, home: Path) -> dict[str, float]:
    """Return the megabytes of both engines; the log of Postgres (WAL) comes on top."""
    found = {name: float(size) for name, size in conn.execute(_DISK)}
    index = service_user.data_home(home) / "data" / "opensearch"
    files = (one for one in index.rglob("*") if one.is_file())
    found["opensearch"] = sum(one.stat().st_size for one in files)
    return {name: round(size / _MEGA, 1) for name, size in found.items()}


def _client(made: Rig) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {made.key}"}
    return httpx2.Client(base_url=made.url, headers=headers, timeout=60)


def as_pushed(one: EntryDraft) -> dict[str, object]:
    """Return an entry as a program pushes it."""
    return {
        "source": one.source,
        "external_id": one.external_id,
        "text": one.text,
        "authors": list(one.authors),
        "logbooks": list(one.logbooks),
        "tags": list(one.tags),
        "entry_time": one.entry_time.isoformat() if one.entry_time else None,
    }


def _bodies(drafts: Iterator[EntryDraft]) -> Iterator[bytes]:
    while some := [as_pushed(one) for one in islice(drafts, PUSHED_AT_ONCE)]:
        yield json.dumps({"entries": some}).encode()


def _pushed(client: httpx2.Client, body: bytes) -> None:
    json_type = {"Content-Type": "application/json"}
    answer = client.post("/v1/entries", content=body, headers=json_type)
    answer.raise_for_status()
    wrong = [one for one in answer.json()["items"] if one.get("error")]
    if wrong:
        message = f"{len(wrong)} entries were refused: {wrong[0]}"
        raise RuntimeError(message)


def _watched(database: str, began: float) -> list[Stage]:
    """Return when each stage had nothing left, once all of them have."""
    last: dict[str, float] = {}
    with psycopg.connect(database, autocommit=True) as conn:
        while True:
            due: dict[str, int] = dict(conn.execute(_DUE).fetchall())
            now = time.monotonic() - began
            for name in due:
                last[name] = now
            if not due:
                break
            if now > _MOST_SECONDS:
                message = f"still due after {now:.0f} s: {due}"
                raise TimeoutError(message)
            threading.Event().wait(_EVERY_SECONDS)
    return [Stage(name, at) for name, at in sorted(last.items(), key=itemgetter(1))]


class Memory:
    """Looks at every process again and again, from a thread."""

    def __init__(self, processes: Mapping[str, psutil.Process]) -> None:
        self._processes = processes
        self._samples: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin to look."""
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Look once more, and then no more."""
        self._stop.set()
        self._thread.join(timeout=30)
        self._look()

    def held(self, cpu: Mapping[str, float]) -> list[Held]:
        """Return what each kind took at most, and how it grew in the second half."""
        return [
            Held(
                kind,
                max(size for _, size in samples) / _MEGA,
                _slope(samples[len(samples) // 2 :]),
                cpu.get(kind, 0.0),
            )
            for kind, samples in sorted(self._samples.items())
        ]

    def _run(self) -> None:
        while not self._stop.wait(2.0):
            self._look()

    def _look(self) -> None:
        for kind, main in self._processes.items():
            total = 0.0
            try:
                for one in [main, *main.children(recursive=True)]:
                    # What processes share is counted once.
                    total += one.memory_full_info().pss
            except psutil.NoSuchProcess:
                continue
            self._samples[kind].append((time.monotonic(), total))


def _slope(samples: list[tuple[float, float]]) -> float | None:
    """Return megabytes a minute by least squares; None: too short to tell."""
    if len(samples) < 10 or samples[-1][0] - samples[0][0] < 20:  # noqa: PLR2004
        return None
    times, sizes = zip(*samples, strict=True)
    return 60 * statistics.linear_regression(times, sizes).slope / _MEGA
