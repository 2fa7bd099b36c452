"""The path of an adapter, measured: a file of JSON lines, through the real runtime."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from bench import logbook
from bench.rig import Ground
from shared.adapter_contract.contract import RawItem, SourceIO
from shared.postgres.pool import Pool, connection, make_pool
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter, run_records
from shared.sources.adapter_io import make_io
from shared.sources.intake.normalise import PullRules
from shared.sources.intake.store_page import Stages
from shared.sources.run_records import IngestionRun
from shared.sources.runs import run_steps, sync_config
from shared.sources.runs.run_steps import Means, RunBudget
from shared.work import schedule

TENANT, NAME = "default", "bench"
# What a default installation makes due for an entry.
STAGES = Stages(("metadata", "embed:bench"), ("embed:bench", "index"))
_MEGA = 1_000_000
_NEVER_SECONDS = 100_000.0


@dataclass(frozen=True)
class Rate:
    """How fast so many entries went one way."""

    name: str
    entries: int
    seconds: float
    # Of the process that does it, at its largest.
    memory_mb: float = 0.0
    note: str = ""

    @property
    def per_second(self) -> float:
        """Entries a second."""
        return self.entries / max(self.seconds, 1e-9)

    def of(self, entries: int, *, note: str = "") -> Rate:
        """Return the same, of so many entries."""
        return replace(self, entries=entries, note=note)


def write_file(path: Path, count: int) -> None:
    """Write so many entries as lines of JSON."""
    with path.open("wb") as file:
        file.writelines(logbook.lines(count))


def adapter_path(ground: Ground, count: int) -> list[Rate]:
    """Take a file in: anew, then read again unchanged in two ways."""
    folder = ground.home / f"files-{count}"
    folder.mkdir()
    path = folder / "logbook.jsonl"
    write_file(path, count)
    name = f"{NAME}-{count}"
    with closing(pool_of(ground)) as pool:
        settings = configured(pool, name, _of_files(path))
        taken = run(settings, pool, name, run_records.TAIL, f"adapter, {count:,}")
        expect(pool, name, count)
        untouched = run(settings, pool, name, run_records.TAIL, "read again, untouched")
        # Another inode and time: the file has to be read, and nothing in it is new.
        copy = folder / "copy"
        copy.write_bytes(path.read_bytes())
        copy.replace(path)
        before = _due(pool)
        _count_rows(pool)
        again = run(settings, pool, name, run_records.TAIL, f"read again, {count:,}")
        if _due(pool) != before:
            message = "reading unchanged entries again has made work due"
            raise AssertionError(message)
    return [
        taken.of(count),
        again.of(count),
        untouched.of(count, note="nothing is read"),
    ]


def bare_copy(ground: Ground, count: int) -> Rate:
    """Copy the same rows into a table without an index."""
    rows = [
        (one["id"], one["title"], one["text"], one["author"], one["timestamp"])
        for one in logbook.entries(count)
    ]
    with psycopg.connect(ground.url) as conn:
        conn.execute("CREATE TEMP TABLE bare (a text, b text, c text, d text, e text)")
        conn.commit()
        began = time.perf_counter()
        with conn.cursor().copy("COPY bare FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        conn.commit()
        return Rate(f"bare COPY, {count:,}", count, time.perf_counter() - began)


def bare_inserts(ground: Ground, count: int) -> Rate:
    """Insert the same rows one by one, in one transaction each thousand."""
    with psycopg.connect(ground.url) as conn:
        conn.execute("CREATE TEMP TABLE one (a text, b text, c text, d text, e text)")
        conn.commit()
        began = time.perf_counter()
        for number, one in enumerate(logbook.entries(count)):
            row = (one["id"], one["title"], one["text"], one["author"])
            conn.execute(
                "INSERT INTO one VALUES (%s, %s, %s, %s, %s)", (*row, one["timestamp"])
            )
            if number % 1000 == 0:
                conn.commit()
        conn.commit()
        return Rate(f"bare INSERTs, {count:,}", count, time.perf_counter() - began)


def parse_only(count: int) -> Rate:
    """Parse, validate and hash, and store nothing: what Python alone allows."""
    settings = Settings()
    source = SourceSettings(adapter="generic_json", path="/nowhere", timezone="UTC")
    io = make_io(NAME, source)
    opened = load_adapter.open_source(NAME, source, io, max_entry_bytes=1_000_000)
    rules = PullRules(settings, NAME, source, opened.descriptor.version)
    now = io.now()
    items = [RawItem(one["id"], one) for one in logbook.entries(count)]
    began = time.perf_counter()
    for item in items:
        rules.draft(opened.adapter.parse(item), item, now=now).content_hash()
    return Rate(f"parse and hash, {count:,}", count, time.perf_counter() - began)


def _of_files(path: Path) -> SourceSettings:
    return SourceSettings.model_validate(
        {
            "adapter": "generic_json",
            "path": str(path),
            "timezone": "UTC",
            "require_initial_ingest": False,
            "page_size": 1000,
        }
    )


def configured(pool: Pool, name: str, source: SourceSettings) -> Settings:
    """Return settings of this one source, which is ready to be run."""
    settings = Settings(sources={name: source})
    with connection(pool) as conn:
        arranged = sync_config.arrange(conn, settings)
    if arranged.invalid:
        raise next(iter(arranged.invalid.values()))
    return settings


def run(settings: Settings, pool: Pool, name: str, kind: str, told: str) -> Rate:
    """Do one run to its end, in as many turns as it takes."""
    with connection(pool) as conn:
        schedule.bring_forward(conn, name, kind, every_seconds=_NEVER_SECONDS)
    means = Means(settings, pool, STAGES, lambda *_: None, _open_io)
    _forget_peak()
    began = time.perf_counter()
    while True:
        taken = run_steps.take_due_run(means, name, kind)
        if taken is None:
            break
        taken.take_steps(time.monotonic() + 15)
        taken.settle(None)
        if not taken.goes_on:
            break
    return Rate(told, 0, time.perf_counter() - began, _peak_mb())


def _forget_peak() -> None:
    """Have the kernel note from now on how much memory this process has at most."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(found.split()[1]) * 1024 / _MEGA


def _open_io(wanted: RunBudget) -> AbstractContextManager[SourceIO]:
    return make_io(wanted.source, wanted.settings, memory=wanted.memory)


def pool_of(ground: Ground) -> Pool:
    """Return connections for one run at a time."""
    return make_pool(ground.url, application="bench", size=2)


def expect(pool: Pool, name: str, count: int) -> None:
    """Raise unless the last run brought in so many entries."""
    with connection(pool) as conn:
        last: IngestionRun = run_records.list_runs(conn, TENANT, limit=1, source=name)[
            0
        ]
    if last.added != count:
        message = f"{last.added} of {count} entries came in: {last.error}"
        raise AssertionError(message)


def _count_rows(pool: Pool) -> None:
    """Count the rows again for the planner, as Postgres does by itself each minute."""
    with connection(pool) as conn:
        conn.execute("ANALYZE entry")


def _due(pool: Pool) -> int:
    with connection(pool) as conn:
        row = conn.execute("SELECT coalesce(sum(want), 0) FROM work").fetchone()
    return int(row[0]) if row else 0
