"""A filled system to be searched, what it is asked, and how long that takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from bench import rig, search_corpus
from bench.rig import Ground, Rig
from shared.embedding.load_model import load_encoder
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.opensearch import mapping
from shared.opensearch.client import make_client
from shared.postgres.pool import Pool, make_pool
from shared.settings.settings import Settings

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

    from shared.embedding.models.encoder_contract import Encoder

WARM_UP = 10
# A reader asks, reads, and asks again.
PAUSE_SECONDS = 0.02
# As many workers as the Procfile has.
_COMMANDS = (
    ("serve", "api"),
    ("serve", "worker", "search"),
    ("serve", "worker", "search"),
)

# A body of a search, another each time.
Make = Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Timing:
    """How long one kind of search took, and how many found anything."""

    kind: str
    p50_ms: float
    p95_ms: float
    p99_ms: float
    with_hits: float


@dataclass
class Stack:
    """A filled system: its processes, and its engines to be asked barely."""

    ground: Ground
    made: Rig
    pool: Pool
    client: OpenSearch
    index: str
    table: str
    encoder: Encoder
    entries: int
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def fresh(self) -> int:
        """Return a number that no question of this run has had."""
        return next(self.numbers)

    def http(self) -> dict[str, Any]:
        """Return what a client of the API takes."""
        headers = {"Authorization": f"Bearer {self.made.key}"}
        return {"base_url": self.made.url, "headers": headers, "timeout": 30}


@contextmanager
def opened(entries: int) -> Iterator[Stack]:
    """Start servers and the processes of a search, over so many entries."""
    with (
        rig.servers(LOGCHORD_FAULT_INJECTION="true") as ground,
        rig.with_opensearch(ground),
    ):
        settings = Settings.load(ground.environment)
        client = make_client(settings)
        assert client is not None
        encoder = load_encoder(DEFAULT_MODEL, settings.cache)
        with make_pool(ground.url, application="bench", size=4) as pool:
            table = search_corpus.fill(settings, pool, client, encoder, entries)
            with rig.serving(_COMMANDS, ground) as made:
                index = mapping.read_alias(settings.opensearch_index)
                engines = (pool, client, index, table, encoder)
                yield Stack(ground, made, *engines, entries)


def unknown_words(number: int) -> tuple[str, str]:
    """Return two words that no entry has: all three attempts are made for them."""
    letters = ""
    while number:
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
    return f"giraffe{letters}", f"numbat{letters}"


def questions(stack: Stack) -> dict[str, Make]:
    """Return how each kind of search is asked; no two questions are alike."""

    def device(n: int) -> str:
        return f"BPM{n % 60:03d}"

    def meaning() -> str:
        n = stack.fresh()
        return f"not enough flow of cooling water number {n} at {device(n)}"

    def rare() -> str:
        return search_corpus.ticket(1 + stack.fresh() * 7 % stack.entries)

    def common() -> str:
        return f"control room after {stack.fresh() % 59} min"

    def nothing() -> str:
        return " ".join(unknown_words(stack.fresh()))

    hybrid = {"mode": "hybrid"}
    narrowed = {"filters": {"tag": "trip", "logbook": "RF"}, **hybrid}
    return {
        "keyword, rare": lambda: {"query": rare(), "mode": "keyword"},
        "keyword, common": lambda: {"query": common(), "mode": "keyword"},
        "keyword, nothing": lambda: {"query": nothing(), "mode": "keyword"},
        "semantic": lambda: {"query": meaning(), "mode": "semantic"},
        "hybrid, fused only": lambda: {"query": meaning(), "rerank": False, **hybrid},
        "hybrid, as shipped": lambda: {"query": meaning(), **hybrid},
        "hybrid, filtered": lambda: {"query": meaning(), **narrowed},
    }


def measured(kind: str, samples: int, once: Callable[[], bool]) -> Timing:
    """Do it so many times, with pauses, and tell how long it took."""
    for _ in range(WARM_UP):
        once()
    took: list[float] = []
    hits = 0
    for _ in range(samples):
        began = time.perf_counter()
        hits += once()
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE_SECONDS)
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    p50, p95, p99 = (round(cuts[at - 1], 2) for at in (50, 95, 99))
    return Timing(kind, p50, p95, p99, round(hits / samples, 2))
