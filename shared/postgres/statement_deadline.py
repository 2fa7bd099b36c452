"""How long the statements of a transaction may take, told to the server.

`request_deadline` bounds the waiting on a link, which the server knows nothing of.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import LiteralString, Self

from psycopg import Connection

from shared.errors import DatabaseQueryError
from shared.postgres.pool import Pool, connection, pipelined_connection

_LIMIT_TIME: LiteralString = """
    SELECT set_config('statement_timeout', %(ms)s, true),
           set_config('plan_cache_mode', %(plans)s, true)"""


@dataclass(frozen=True, slots=True)
class Deadline:
    """One end for several statements, by the monotonic clock."""

    ends_at: float

    @classmethod
    def after(cls, milliseconds: int) -> Self:
        """Make a deadline that lies so far ahead of now."""
        return cls(time.monotonic() + milliseconds / 1000)

    @property
    def left_ms(self) -> int:
        """The time that is left, 0 at the least."""
        return max(0, int((self.ends_at - time.monotonic()) * 1000))

    def limit_time(
        self, conn: Connection, most_ms: int | None = None, *, one_plan: bool = False
    ) -> None:
        """Limit the next statements to the time left; raise if none is left."""
        left = self.left_ms if most_ms is None else min(self.left_ms, most_ms)
        if left <= 0:
            raise DatabaseQueryError(technical="no time is left for it")
        # To the end of the transaction: a savepoint that is released keeps it.
        limit_time(conn, left, one_plan=one_plan)


def limit_time(conn: Connection, budget_ms: int, *, one_plan: bool = False) -> None:
    """Bound each statement that follows in this transaction by a time.

    `one_plan`: what follows reads rows by index whatever it is given, and is planned
    once a connection: planning would take longer than reading. Never what filters.
    All else is planned with its values each time: left to choose, the database plans
    once for all values after some runs, and may then walk through a whole table.
    """
    plans = "force_generic_plan" if one_plan else "force_custom_plan"
    conn.execute(_LIMIT_TIME, {"ms": str(budget_ms), "plans": plans}, prepare=True)


@contextmanager
def timed_connection(pool: Pool, budget_ms: int) -> Iterator[Connection]:
    """Open a connection, each statement of which is bounded by a time."""
    with connection(pool) as conn:
        limit_time(conn, budget_ms)
        yield conn


@contextmanager
def timed_pipeline(
    pool: Pool, budget_ms: int, *, one_plan: bool = False
) -> Iterator[Connection]:
    """Open a connection in pipeline mode, its statements bounded as by `limit_time`."""
    with pipelined_connection(pool) as conn:
        limit_time(conn, budget_ms, one_plan=one_plan)
        yield conn


def make_share_limiter(conn: Connection, ends_at: float) -> Callable[[float], bool]:
    """Return a function that gives what follows a share of the time left, if any is."""

    def limit_to_share(share: float) -> bool:
        left = ends_at - time.monotonic()
        # Never 0, which means no limit: what has no time left fails at once.
        limit_time(conn, max(1, int(1000 * share * left)))
        return left > 0

    return limit_to_share
