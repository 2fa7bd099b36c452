"""A gigabyte of records is read to its end in little memory."""

import json
import random
import subprocess
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from tests.support.faults.measures.peaks import Peaks
from tests.support.fixtures.system import BIN
from tests.support.waiting import until

NAME = "exports"
GIGABYTE = 1_000_000_000
MOST_BYTES = 300_000_000
FEW = 10
_WORDS = ("klystron", "cavity", "vacuum", "interlock", "orbit", "kicker", "chiller")
_STANDING: LiteralString = """
    SELECT cursor FROM source_schedule WHERE source = %(source)s AND kind = 'tail'"""


@pytest.mark.slow
@pytest.mark.patient
@pytest.mark.requirement("P11")
@pytest.mark.timeout(900)
def test_a_dry_run_of_a_gigabyte_takes_less_than_300_mb(make_system, tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    write(inbox / "a.jsonl", islice(lines(), FEW))
    source = {
        "adapter": "generic_json",
        "path": str(inbox / "*.jsonl"),
        "poll_interval_seconds": 3600,
    }
    system = make_system(afresh=True, LOGCHORD_SOURCES=json.dumps({NAME: source}))
    system.bring_up("api", "ingest", "upkeep")
    environment = {
        **system.environment,
        "LOGCHORD_URL": system.url,
        "LOGCHORD_API_KEY": system.key(scopes=("admin",)),
    }

    with system.client(environment["LOGCHORD_API_KEY"]) as admin:

        def shown() -> dict[str, Any]:
            return admin.get(f"/v1/sources/{NAME}").json()

        def has_polled() -> bool:
            asked = {"source": NAME, "state": "done"}
            found = admin.get("/v1/runs", params=asked).json()["items"]
            return any(run["kind"] == "tail" for run in found)

        until(has_polled, within_seconds=60, what="the first poll")
        assert shown()["entries"] == FEW
        before = place(system.database)
        large = inbox / "b.jsonl"
        try:
            count = write(large, up_to(GIGABYTE))
            size = large.stat().st_size
            with Peaks(system.processes["ingest"].pid) as worker:
                began = time.monotonic()
                run, command_bytes = dry_run(environment, tmp_path)
                seconds = time.monotonic() - began
        finally:
            large.unlink(missing_ok=True)

        print(
            f"\ndry_run bytes={size} entries={run['seen']} seconds={seconds:.1f}"
            f" entries_per_s={count / seconds:.0f} mb_per_s={size / seconds / 1e6:.1f}"
            f" worker_mb={worker.child / 1e6:.0f} main_mb={worker.parent / 1e6:.0f}"
            f" command_mb={command_bytes / 1e6:.0f}"
        )
        assert size >= GIGABYTE
        # What is there already is read too: it says what all would come to by now.
        seen = FEW + count
        assert (run["state"], run["seen"], run["rejected"]) == ("done", seen, 0)
        assert (run["added"], shown()["entries"]) == (0, FEW)
        assert place(system.database) == before
        assert max(worker.child, worker.parent, command_bytes) < MOST_BYTES


def dry_run(environment: dict[str, str], folder: Path) -> tuple[dict[str, Any], int]:
    """Type the command; return the run, and the most memory the command had."""
    printed = folder / "printed"
    with printed.open("wb") as out:
        process = subprocess.Popen(
            [str(BIN / "logchord"), "ingest", NAME, "--dry-run", "--json"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
        )
        # What wait4 tells would be no less than this process has had itself.
        with Peaks(process.pid) as command:
            process.wait()
    assert process.returncode == 0, printed.read_text("utf-8")
    (run,) = json.loads(printed.read_text("utf-8"))
    return run, command.parent


def place(database: str) -> Any:
    """Return up to where the source was really read."""
    with psycopg.connect(database) as conn:
        row = conn.execute(_STANDING, {"source": NAME}).fetchone()
    return row[0] if row else None


def lines() -> Iterator[bytes]:
    """Yield records of about a kilobyte, as a program would write them."""
    chance = random.Random(1)
    texts = [" ".join(chance.choices(_WORDS, k=110)) for _ in range(1000)]
    number = 0
    while True:
        number += 1
        yield (
            f'{{"id":"{number}","timestamp":"2024-01-01T00:{number // 60 % 60:02}:'
            f'{number % 60:02}Z","author":"a.author","title":"Message {number}",'
            f'"books":["Operations"],"text":"{texts[number % len(texts)]}"}}\n'
        ).encode()


def up_to(size: int) -> Iterator[bytes]:
    """Yield records until they are as large as this together."""
    for line in lines():
        yield line
        size -= len(line)
        if size <= 0:
            return


def write(path: Path, records: Iterator[bytes]) -> int:
    count = 0
    with path.open("wb") as file:
        for count, record in enumerate(records, 1):  # noqa: B007 - its last value
            file.write(record)
    return count
