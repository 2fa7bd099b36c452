"""The whole product beside a few lines of memory, in any order of what may happen.

Messages lie in the broker until the test delivers them, once or twice, or loses them;
whatever came of that, at the end the product holds and finds what the memory says.
"""

import base64
import json
import os
import random
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID

import httpx2
import psycopg
import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    rule,
    run_state_machine_as_test,
)
from psycopg import Connection

from local.server import Server
from shared.messaging.celery_app import make_app
from shared.messaging.stage_names import (
    DUPLICATES_STAGE,
    EMBED_PREFIX,
    INDEX_STAGE,
    METADATA_STAGE,
)
from shared.messaging.task_names import task_of
from shared.opensearch import mapping
from shared.opensearch.client import refresh
from shared.settings.settings import Settings
from shared.work import due_work
from tests.support.fixtures.system import System
from workers.runtime.context import Context, Resources
from workers.tasks.duplicates import place_entries
from workers.tasks.enhance import embed_entries, extract_metadata
from workers.tasks.index import index_entries
from workers.tasks.stages import run_stage

# As many as a default run has time for; what B21 asks for takes minutes.
FEW, SHORT, MANY, LONG = 6, 25, 200, 50
RUNS = int(os.environ.get("LOGCHORD_TEST_MODEL_RUNS") or FEW)
WORDS = ("klystron", "vacuum", "shutter", "magnet", "cooling")
NAMES = st.sampled_from([f"entry-{number}" for number in range(5)])
SAID = st.sets(st.sampled_from(WORDS), min_size=1, max_size=3)
QUEUES = ("enhance.metadata", "enhance.embed", "index")
MODEL = "hashing-384"
MOST_DEATHS = 2
PATIENT = {"mode": "keyword", "deadline_ms": 4000}
_EXPIRE = """
    UPDATE work SET leased_until = clock_timestamp() - interval '1 s'
     WHERE claim = %s"""
_NOW_DUE = """
    UPDATE work SET due_at = clock_timestamp()
     WHERE tenant = %s AND due_at > clock_timestamp()"""
_DUE = "SELECT DISTINCT stage FROM work WHERE tenant = %s ORDER BY stage"


@dataclass
class Memory:
    """What the product should hold: each entry's words, and which are deleted."""

    words: dict[str, frozenset[str]] = field(default_factory=dict)
    revision: dict[str, int] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    def write(self, name: str, words: set[str]) -> str:
        """Keep what was written; return what a writer is told."""
        said, before = frozenset(words), self.words.get(name)
        is_same = before == said and name not in self.deleted
        self.words[name] = said
        self.deleted.discard(name)
        if is_same:
            return "unchanged"
        # What comes back after its deletion is a revision, too, with the same words.
        self.revision[name] = self.revision.get(name, 0) + 1
        return "created" if before is None else "updated"

    def live(self) -> set[str]:
        return self.words.keys() - self.deleted

    def having(self, word: str) -> set[str]:
        return {name for name in self.live() if word in self.words[name]}


@dataclass
class Product:
    """One system whose stages run in the test, and only when it says so."""

    system: System
    ctx: Context
    broker: redis.Redis
    conn: Connection

    def deliver(self, queue: str, times: int) -> None:
        """Take the oldest message of a queue, and run its task so often."""
        message = self.broker.rpop(queue)
        if message is None:
            return
        assert isinstance(message, bytes)
        outer = json.loads(message)
        (*first, ids), _, _ = json.loads(base64.b64decode(outer["body"]))
        for _ in range(times):
            self.run(outer["headers"]["task"], first, [UUID(one) for one in ids])

    def run(self, task: str, first: list[str], ids: list[UUID]) -> None:
        tasks: dict[str, Callable[..., None]] = {
            task_of(METADATA_STAGE)[0]: extract_metadata,
            task_of(DUPLICATES_STAGE)[0]: place_entries,
            task_of(INDEX_STAGE)[0]: index_entries,
            task_of(EMBED_PREFIX + MODEL)[0]: embed_entries,
        }
        tasks.get(task, run_stage)(self.ctx, *first, tuple(ids))

    def sweep(self, tenant: str) -> list[str]:
        """Nudge what is due, as the sweeper does; return which stages were."""
        stages = [stage for (stage,) in self.conn.execute(_DUE, (tenant,))]
        for stage in stages:
            task, first = task_of(stage)
            self.run(task, [*first], [])
        return stages

    def settle(self, tenant: str) -> None:
        """Return once nothing is due any more, and all that was is found."""
        for _ in range(30):
            self.conn.execute(_NOW_DUE, (tenant,))
            if not self.sweep(tenant):
                break
        else:
            pytest.fail("work is left")
        assert self.ctx.opensearch is not None
        alias = mapping.read_alias(self.ctx.settings.opensearch_index)
        refresh(self.ctx.opensearch, alias)


class Machine(RuleBasedStateMachine):
    """Programs, readers and workers of one facility, in any order."""

    jobs: Bundle[tuple[str, list[str]]] = Bundle("jobs")
    product: Product
    runs: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).runs += 1
        self.memory = Memory()
        self.tenant = f"t{secrets.token_hex(4)}"
        self.client = self.product.system.client(
            self.product.system.key(tenant=self.tenant)
        )
        self.ids: dict[str, str] = {}
        self.deaths = 0

    @rule(name=NAMES, words=SAID)
    def post(self, name: str, words: set[str]) -> None:
        body = {"external_id": name, "text": self._text(name, words)}
        told = self._ok(self.client.post("/v1/entries", json=body))
        assert told["status"] == self.memory.write(name, words)
        assert self.ids.setdefault(name, told["entry_id"]) == told["entry_id"]

    @rule(name=NAMES, words=SAID)
    def update(self, name: str, words: set[str]) -> None:
        if name not in self.ids:
            return
        body = {"text": self._text(name, words)}
        answer = self.client.patch(f"/v1/entries/{self.ids[name]}", json=body)
        if name in self.memory.deleted:
            assert answer.status_code == 410
        else:
            assert self._ok(answer)["status"] == self.memory.write(name, words)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if name in self.ids:
            answer = self.client.delete(f"/v1/entries/{self.ids[name]}")
            assert answer.status_code == 204
            self.memory.deleted.add(name)

    @rule(target=jobs, word=st.sampled_from(WORDS), limit=st.integers(1, 3))
    def search(self, word: str, limit: int) -> Any:
        body = {"query": word, **PATIENT, "limit": limit}
        told = self._ok(self.client.post("/v1/search/query", json=body))
        self._check(told["results"])
        assert not told["degraded"]
        return told["job_id"], [one["external_id"] for one in told["results"]]

    @rule(job=jobs)
    def page(self, job: tuple[str, list[str]]) -> None:
        job_id, first = job
        pages = [*self._pages(job_id)]
        self._check(pages)
        read = [one["external_id"] for one in pages]
        assert len(set(read)) == len(read)
        # One order for all pages, of which only the deleted are missing.
        live = self.memory.live()
        assert read[: len(first)] == [one for one in first if one in live] or (
            self.memory.deleted & set(first)
        )

    @rule(word=st.sampled_from(WORDS))
    def cancel(self, word: str) -> None:
        body = {"query": word, **PATIENT}
        path = self._ok(self.client.post("/v1/search/jobs", json=body))["links"]["self"]
        ended = self._ok(self.client.delete(path))
        assert ended["state"] in {"done", "partial", "failed"}
        again = self._ok(self.client.delete(path))
        assert (again["state"], again["ended_at"]) == (
            ended["state"],
            ended["ended_at"],
        )
        self._check((again["response"] or {"results": []})["results"])

    @rule(queue=st.sampled_from(QUEUES))
    def deliver(self, queue: str) -> None:
        self.product.deliver(queue, 1)

    @rule(queue=st.sampled_from(QUEUES))
    def deliver_twice(self, queue: str) -> None:
        self.product.deliver(queue, 2)

    @rule(queue=st.sampled_from(QUEUES))
    def drop_message(self, queue: str) -> None:
        self.product.broker.rpop(queue)

    @rule()
    def sweep(self) -> None:
        self.product.sweep(self.tenant)

    @rule(stage=st.sampled_from([METADATA_STAGE, INDEX_STAGE, EMBED_PREFIX + MODEL]))
    def expire_lease(self, stage: str) -> None:
        """Let a worker die with what it has claimed; three deaths are a verdict."""
        if self.deaths == MOST_DEATHS:
            return
        taken = due_work.claim(self.product.conn, stage, limit=5)
        for one in {claim.claim for claim in taken}:
            self.deaths += 1
            self.product.conn.execute(_EXPIRE, (one,))

    def teardown(self) -> None:
        """Drain, and compare all that can be read with what is remembered."""
        try:
            self.product.settle(self.tenant)
            kept = self._ok(self.client.get("/v1/entries", params={"limit": 100}))
            self._check(kept["items"])
            assert {one["external_id"] for one in kept["items"]} == self.memory.live()
            for one in kept["items"]:
                assert one["revision"] == self.memory.revision[one["external_id"]]
                assert set(one["stages"].values()) <= {"done", "skipped"}, one["stages"]
            for word in WORDS:
                for mode in ("keyword", "semantic"):
                    self._compare(word, mode)
        finally:
            self.client.close()

    def _compare(self, word: str, mode: str) -> None:
        least = {"similarity_threshold": 0, "min_relevance_score": 0}
        body = {"query": word, **PATIENT, "mode": mode, "limit": 100, **least}
        told = self._ok(self.client.post("/v1/search/query", json=body))
        assert not told["degraded"]
        self._check(told["results"])
        found = {one["external_id"] for one in told["results"]}
        wanted = self.memory.having(word)
        if mode == "keyword" and (wanted or not self.memory.live()):
            assert found == wanted
        assert found >= wanted

    def _pages(self, job_id: str) -> Iterator[dict[str, Any]]:
        path = f"/v1/search/jobs/{job_id}/results"
        told = self._ok(self.client.get(path))
        yield from told["items"]
        while told["next_cursor"] is not None:
            asked = {"cursor": told["next_cursor"]}
            told = self._ok(self.client.get(path, params=asked))
            yield from told["items"]

    def _check(self, shown: list[dict[str, Any]]) -> None:
        """What is shown is there, and as it is now, whatever the index says."""
        for one in shown:
            name = one["external_id"]
            assert name in self.memory.live()
            text = one.get("text") or one.get("content")
            assert text == self._text(name, set(self.memory.words[name]))

    def _text(self, name: str, words: set[str]) -> str:
        # Unlike any other, so that none is folded behind its like.
        luck = random.Random(f"{name} {sorted(words)}")
        others = ["".join(luck.choices("bdfgjnpz", k=9)) for _ in range(9)]
        return " ".join([*sorted(words), *others])

    @staticmethod
    def _ok(answer: httpx2.Response) -> Any:
        assert answer.status_code in {200, 201, 202}, answer.text
        return answer.json()


@pytest.fixture
def product(
    make_system: Callable[..., System], opensearch: Server
) -> Iterator[Product]:
    system = make_system(opensearch=opensearch.url, EMBEDDING_MODEL=MODEL)
    system.start("api", "search")
    system.wait_ready("search")
    configured = Settings.load(system.environment)
    resources = Resources(configured, make_app(configured), "test")
    with ExitStack() as endings:
        endings.callback(resources.close)
        conn = psycopg.connect(system.database, autocommit=True)
        endings.enter_context(conn)
        broker = redis.Redis.from_url(system.environment["BROKER_URL"])
        endings.callback(broker.close)
        made = Product(system, Context(resources, {}), broker, conn)
        # The first entry makes the index.
        with system.client(system.key(tenant="first")) as client:
            client.post("/v1/entries", json={"text": "x"})
        made.settle("first")
        yield made


@pytest.mark.timeout(120 if RUNS <= FEW else 3600)
def test_the_product_is_what_a_small_memory_says_whatever_happens_in_between(product):
    drive(product, RUNS, SHORT if RUNS <= FEW else LONG)


@pytest.mark.slow
@pytest.mark.requirement("B21")
@pytest.mark.timeout(3600)
def test_the_product_is_what_a_small_memory_says_after_two_hundred_long_runs(product):
    drive(product, MANY, LONG)


def drive(product: Product, runs: int, steps: int) -> None:
    """Let so much happen in so many facilities, each compared at its end."""

    class OnThisProduct(Machine):
        pass

    OnThisProduct.product = product
    run_state_machine_as_test(
        OnThisProduct,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
    assert OnThisProduct.runs >= runs
