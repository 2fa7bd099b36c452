"""When a key was last used is written for all keys at once, once in a while."""

import asyncio

import psycopg

from api.access.key_use import KeyUse
from shared.access import keys
from shared.access.scope import Scope
from shared.postgres.pool import make_pool
from tests.support.waiting import until


def last_use(database: str) -> dict[str, bool]:
    with psycopg.connect(database) as conn:
        listed = keys.list_keys(conn, "*")
    return {one.name: one.last_used_at is not None for one in listed}


def test_the_last_use_of_a_key_is_kept(database):
    with psycopg.connect(database) as conn:
        used, _ = (
            keys.create_key(conn, tenant="default", name=name, scopes=["read"])
            for name in ("used", "idle")
        )
    assert last_use(database) == {"used": False, "idle": False}

    async def serve() -> None:
        pool = make_pool(database, application="test", size=1)
        try:
            use = KeyUse(pool, every_seconds=0.05)
            await use.start()
            use.note(Scope("default", "x", key_id=used.key_id))
            use.note(Scope("default", "x", key_id="absent"))
            await asyncio.to_thread(
                until, lambda: last_use(database)["used"], within_seconds=10
            )
            await use.stop()
        finally:
            pool.close()

    asyncio.run(serve())
    assert last_use(database) == {"used": True, "idle": False}


def test_what_was_noted_last_is_written_when_the_process_ends(database):
    with psycopg.connect(database) as conn:
        made = keys.create_key(conn, tenant="default", name="used", scopes=["read"])

    async def serve() -> None:
        pool = make_pool(database, application="test", size=1)
        try:
            use = KeyUse(pool)
            await use.start()
            use.note(Scope("default", "x", key_id=made.key_id))
            await use.stop()
        finally:
            pool.close()

    asyncio.run(serve())
    assert last_use(database) == {"used": True}


def test_a_second_use_within_half_a_minute_writes_nothing(conn):
    made = keys.create_key(conn, tenant="default", name="used", scopes=["read"])
    keys.note_use(conn, [made.key_id])
    first = keys.list_keys(conn, "*")[0].last_used_at
    conn.commit()

    keys.note_use(conn, [made.key_id])

    assert keys.list_keys(conn, "*")[0].last_used_at == first
