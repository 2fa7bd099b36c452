"""Requests that come at once with one key have it looked up once."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from starlette.requests import Request

from api.access.callers import Callers
from shared.access import keys
from shared.access.scope import Scope
from shared.errors import AccessError
from shared.postgres.pool import make_pool
from shared.settings.settings import Settings
from tests.support.waiting import until

NOBODY: Any = None


class Lookups:
    """How often a key was looked up; none is through before it may."""

    def __init__(self) -> None:
        self.made = 0
        self.may_end = threading.Event()
        self._find = keys.find

    def __call__(self, conn: Any, token: str) -> Scope:
        self.made += 1
        assert self.may_end.wait(30)
        return self._find(conn, token)


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lookups]:
    counted = Lookups()
    monkeypatch.setattr(keys, "find", counted)
    yield counted
    counted.may_end.set()


def request(token: str) -> Request:
    return Request(
        {
            "type": "http",
            "client": ("10.0.0.1", 40_000),
            "headers": [(b"authorization", f"Bearer {token}".encode())],
        }
    )


@asynccontextmanager
async def callers(database: str) -> AsyncIterator[Callers]:
    pool = make_pool(database, application="test", size=2)
    try:
        yield Callers(Settings.load({}), pool, NOBODY, lambda _: None, bytes)
    finally:
        pool.close()


def token_of(database: str) -> str:
    with psycopg.connect(database) as conn:
        made = keys.create_key(conn, tenant="default", name="panel", scopes=["read"])
    return made.token


async def is_looking(lookups: Lookups) -> None:
    """Return when a lookup has begun; all that were asked before have come as far."""
    await asyncio.to_thread(until, lambda: lookups.made > 0, within_seconds=30)


def test_all_who_come_at_once_with_a_key_have_it_looked_up_once(database, lookups):
    token = token_of(database)

    async def find() -> list[Scope]:
        async with callers(database) as known:
            find_one = (known.find(request(token)) for _ in range(8))
            finding = [asyncio.create_task(one) for one in find_one]
            await is_looking(lookups)
            # One that goes away takes nothing from the others, even the first.
            finding[0].cancel()
            lookups.may_end.set()
            found = await asyncio.gather(*finding[1:])
            found.append(await known.find(request(token)))
            return found

    found = asyncio.run(find())
    assert {one.subject for one in found} == {found[0].subject}
    assert (len(found), lookups.made) == (8, 1)


def test_a_key_that_nobody_knows_is_refused_to_each_and_looked_up_again(
    database: str, lookups: Lookups
) -> None:
    token = token_of(database)
    with psycopg.connect(database) as conn:
        for one in keys.list_keys(conn, "*"):
            revoked = keys.revoke(conn, "*", one.key_id)
            assert revoked is not None
            assert revoked.was_in_use

    async def find() -> list[Any]:
        async with callers(database) as known:
            find_one = (known.find(request(token)) for _ in range(3))
            finding = [asyncio.create_task(one) for one in find_one]
            await is_looking(lookups)
            lookups.may_end.set()
            refused: list[Any] = await asyncio.gather(*finding, return_exceptions=True)
            with pytest.raises(AccessError):
                await known.find(request(token))
            return refused

    assert [type(one) for one in asyncio.run(find())] == [AccessError] * 3
    assert lookups.made == 2
