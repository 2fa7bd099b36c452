"""Pools that behave as a test needs: several as one, and one that lends nothing."""

from typing import cast

from psycopg_pool import ConnectionPool

from shared.postgres.pool import Pool, PooledConnection


class PoolsInTurn:
    """Looks like a pool; each connection given back moves it to the next one."""

    def __init__(self, *pools: Pool) -> None:
        self._pools = list(pools)

    @property
    def timeout(self) -> float:
        return self._pools[0].timeout

    def getconn(self, timeout: float | None = None) -> PooledConnection:
        return self._pools[0].getconn(timeout)

    def putconn(self, conn: PooledConnection) -> None:
        self._pools[0].putconn(conn)
        if len(self._pools) > 1:
            self._pools.pop(0)


def pools_in_turn(*pools: Pool) -> Pool:
    """Return the pools as one, for what borrows a connection twice."""
    return cast("Pool", PoolsInTurn(*pools))


def closed_pool() -> Pool:
    """Return a pool that nobody gets a connection of; asking it is an error."""
    return cast("Pool", ConnectionPool("", open=False))
