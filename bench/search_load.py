"""Searches by many clients at once: alone, beside a backfill, and for long."""

import asyncio
import ssl
import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice

import httpx2
from psycopg.rows import TupleRow

from bench import rig, search_corpus
from bench.enrich_pipeline import Held, Memory
from bench.search_stack import Stack, questions
from shared.entries.saving.save import save_page
from shared.postgres.pool import Pool, connection
from shared.search.query.modes import MODES
from shared.settings.settings import Settings
from shared.stages import entry_stages
from shared.work import due_work

CLIENTS = (1, 4, 16, 64)
THROUGHPUT_SECONDS = 5.0
BESIDE_SECONDS = 15.0
LONG_CLIENTS = 4
_WORKERS = (
    ("serve", "worker", "enhance.metadata,index"),
    ("serve", "worker", "enhance.embed"),
    ("serve", "upkeep"),
)
_DUE = "SELECT count(*) FROM work"
_DONE = "SELECT coalesce(sum(done), 0) FROM stage_outcome"


@dataclass(frozen=True)
class Throughput:
    """How many searches a second so many clients got, and what became of others."""

    clients: int
    per_second: float
    p50_ms: float
    p95_ms: float
    most_ms: float
    refused: int
    degraded: int
    # Those that had no answer by their deadline.
    late: int
    # What each part of the stack spent on one of them.
    processor_ms: dict[str, float]


@dataclass(frozen=True)
class Beside:
    """Searches while a backfill is worked on: theirs, and how far it came."""

    backfill: int
    searches: list[Throughput]
    # Ends of stages, not of entries: each passes several.
    stages_per_second: float
    left: int


@dataclass
class _Told:
    """What became of the searches of one client after the other."""

    took_ms: list[float]
    # Until the last of them had its answer.
    seconds: float = 0.0
    refused: int = 0
    degraded: int = 0


def throughput(
    stack: Stack, clients: int, seconds: float = THROUGHPUT_SECONDS
) -> Throughput:
    """Count the distinct hybrid searches of clients who each ask again at once."""
    spent = stack.made.cpu_seconds()
    told = asyncio.run(_again_and_again(stack, clients, seconds))
    now = stack.made.cpu_seconds()
    took = sorted(told.took_ms) or [0.0]
    each = 1000 / max(1, len(told.took_ms))
    deadline = MODES["hybrid"].deadline_ms
    return Throughput(
        clients,
        round((len(told.took_ms) - told.degraded) / told.seconds, 1),
        round(statistics.median(took), 1),
        round(took[int(0.95 * (len(took) - 1))], 1),
        round(took[-1], 1),
        told.refused,
        told.degraded,
        sum(one > deadline for one in took),
        {name: round(each * (now[name] - spent[name]), 1) for name in now},
    )


def beside_a_backfill(stack: Stack, entries: int) -> Beside:
    """Make so many entries due as a backfill does, and search while they are done."""
    first = stack.entries + 1
    make_due(stack.pool, stack.made.settings, entries, first=first)
    with ExitStack() as ends:
        for command in _WORKERS:
            ends.enter_context(rig.running(command, stack.ground))
        _wait_for_work(stack)
        done, began = _count(stack, _DONE), time.monotonic()
        searches = [throughput(stack, one, BESIDE_SECONDS) for one in CLIENTS]
        rate = (_count(stack, _DONE) - done) / (time.monotonic() - began)
        return Beside(entries, searches, round(rate, 1), _count(stack, _DUE))


def for_long(stack: Stack, minutes: float) -> tuple[Throughput, list[Held]]:
    """Search by a few clients for so long; tell how the memory of each part grew."""
    spent = stack.made.cpu_seconds()
    with Memory(stack.made.processes) as memory:
        found = throughput(stack, LONG_CLIENTS, 60 * minutes)
    now = stack.made.cpu_seconds()
    return found, memory.held({name: now[name] - spent[name] for name in now})


async def _again_and_again(stack: Stack, clients: int, seconds: float) -> _Told:
    begun = time.monotonic()
    until = begun + seconds
    make = questions(stack)["hybrid, fused only"]
    told, trusted = _Told([]), ssl.create_default_context()

    async def ask() -> None:
        # A connection of its own: one pool for all has kept some waiting for seconds
        # before they asked anything, which looked as if the search had taken these.
        async with httpx2.AsyncClient(verify=trusted, **stack.http()) as client:
            while time.monotonic() < until:
                began = time.monotonic()
                answer = await client.post("/v1/search/query", json=make())
                if not answer.is_success:
                    told.refused += 1
                    # As whoever is refused is told to, but not beyond the end.
                    pause = float(answer.headers.get("Retry-After", 0))
                    await asyncio.sleep(min(pause, until - time.monotonic()))
                    continue
                told.took_ms.append(1000 * (time.monotonic() - began))
                told.degraded += answer.json()["degraded"]

    await asyncio.gather(*(ask() for _ in range(clients)))
    told.seconds = time.monotonic() - begun
    return told


def make_due(pool: Pool, settings: Settings, entries: int, *, first: int) -> None:
    """Store so many entries from that number on, due as those of a backfill are."""
    stages = entry_stages.list_entry_stages(settings)
    drafts = search_corpus.drafts(entries, first=first)
    while page := list(islice(drafts, search_corpus.PAGE)):
        with connection(pool) as conn:
            save_page(
                *(conn, search_corpus.TENANT, page),
                stages=stages,
                editor="bench",
                work_class=due_work.BULK,
            )


def _wait_for_work(stack: Stack) -> None:
    """Wait until the workers have begun: a process takes seconds to start."""
    before = _count(stack, _DONE)
    deadline = time.monotonic() + rig.READY_SECONDS
    while _count(stack, _DONE) == before:
        if time.monotonic() > deadline:
            message = "No worker began with the backfill."
            raise TimeoutError(message)
        time.sleep(0.2)


def _count(stack: Stack, statement: str) -> int:
    with connection(stack.pool) as conn:
        row: TupleRow | None = conn.execute(statement.encode()).fetchone()
    return int(row[0]) if row else 0
