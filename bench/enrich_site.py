"""What a bench of the stages works with: the tasks themselves, in this process."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import LiteralString

import psycopg
from pgvector.psycopg import register_vector
from psycopg import Connection

from bench.rig import Ground
from shared.embedding.models import model_names
from shared.embedding.models.encoder_contract import Encoder
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.messaging.celery_app import make_app
from shared.postgres.pool import connection
from shared.settings.settings import Settings
from workers.runtime.context import Context, Resources

TENANT, PAGE = "default", 500

_FREE: LiteralString = """
    SELECT count(*) FROM (
        SELECT FROM work WHERE stage = %(stage)s AND claim IS NULL LIMIT 1) AS one"""
_LEFT: LiteralString = "SELECT count(*) FROM work WHERE stage = %(stage)s"


@dataclass(frozen=True)
class Site:
    """One process of workers without Celery: its context, and the model in use."""

    ground: Ground
    ctx: Context
    model: str
    # A connection without time limits.
    unbound: Connection

    @property
    def encoder(self) -> Encoder:
        """The model itself, as the worker of vectors has it."""
        return self.ctx.encoder(self.model)

    @contextmanager
    def patient(self) -> Iterator[Connection]:
        """Give a transaction that may take as long as it takes."""
        with self.unbound.transaction():
            yield self.unbound

    def save(self, drafts: Iterator[EntryDraft], stages: Sequence[str]) -> int:
        """Store entries and make these stages due; return how many there are."""
        saved = 0
        while page := list(islice(drafts, PAGE)):
            with connection(self.ctx.pool) as conn:
                save_page(conn, TENANT, page, stages=stages, editor="bench")
            saved += len(page)
        return saved

    def count(self, statement: LiteralString, stage: str) -> int:
        """Return the one number that is asked of a stage's work."""
        with connection(self.ctx.pool) as conn:
            row = conn.execute(statement, {"stage": stage}).fetchone()
        return int(row[0]) if row else 0

    def drained(self, stage: str, run: Callable[[], None], threads: int = 1) -> float:
        """Run a stage's task until none of its work is left; return the seconds."""

        def work() -> None:
            while self.count(_FREE, stage):
                run()

        began = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            for one in [pool.submit(work) for _ in range(threads)]:
                one.result()
        took = time.perf_counter() - began
        if left := self.count(_LEFT, stage):
            message = f"{left} rows of {stage} are still due: an entry failed."
            raise RuntimeError(message)
        return took


@contextmanager
def opened(ground: Ground) -> Iterator[Site]:
    """Give what the workers of these servers would have, in this process."""
    settings = Settings.load(ground.environment)
    resources = Resources(settings, make_app(settings), "bench")
    try:
        with psycopg.connect(ground.url, autocommit=True) as unbound:
            register_vector(unbound)
            yield Site(
                ground,
                Context(resources, {}),
                model_names.choose_first_model(settings),
                unbound,
            )
    finally:
        resources.close()
