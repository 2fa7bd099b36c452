"""Watched jobs: one connection reads all of their streams, from where each one is."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import redis

from api.search.event_watch import EventWatch
from shared.ids import uuid7
from shared.messaging import redis_clients
from shared.messaging.redis_link import RedisLink
from shared.search.jobs import progress
from shared.settings.settings import Settings
from tests.support.waiting import until

UNTIL = int(time.time()) + 3600


@contextlib.asynccontextmanager
async def watching(settings: Settings) -> AsyncIterator[EventWatch]:
    watch = EventWatch(lambda: redis_clients.mailbox_redis(settings))
    await watch.start()
    try:
        yield watch
    finally:
        await watch.stop()


def tell(client: redis.Redis, job_id: UUID, name: str) -> None:
    progress.tell_event(client, job_id, name, {"of": str(job_id)}, until=UNTIL)


def watchers(client: redis.Redis) -> list[dict[str, Any]]:
    """Return the connections that wait in a read of streams."""
    return [one for one in client.client_list() if one["cmd"] == "xread"]


async def waits_in_a_read(client: redis.Redis) -> None:
    await asyncio.to_thread(
        until, lambda: bool(watchers(client)), within_seconds=10, what="a blocking read"
    )


def test_of_twenty_watched_jobs_one_connection_reads(on_valkey, jobs_client):
    jobs = [uuid7() for _ in range(20)]

    async def watch_all() -> list[list[str]]:
        async with watching(on_valkey) as watch:
            with contextlib.ExitStack() as stack:
                watches = [stack.enter_context(watch.watch(one)) for one in jobs]
                await waits_in_a_read(jobs_client)
                assert len(watchers(jobs_client)) == 1
                for name in ("accepted", "planned", "done"):
                    for one in jobs:
                        await asyncio.to_thread(tell, jobs_client, one, name)
                assert len(watchers(jobs_client)) <= 1
                told = []
                for mine in watches:
                    events = [await mine.next(10) for _ in range(3)]
                    assert all(
                        event is not None and event.says == {"of": str(mine.job_id)}
                        for event in events
                    )
                    told.append([event.name for event in events if event])
                assert [await two.next(0.01) for two in watches] == [None] * 20
                return told

    assert asyncio.run(watch_all()) == [["accepted", "planned", "done"]] * 20


def test_who_resumes_is_told_what_follows_and_no_stream_is_read_from_its_start(
    on_valkey, jobs_client, monkeypatch
):
    job_id, other = uuid7(), uuid7()
    for name in ("accepted", "planned", "results"):
        tell(jobs_client, job_id, name)
    asked: list[tuple[Any, ...]] = []
    answer = RedisLink.answer

    async def noted(link: RedisLink, *words: Any) -> Any:
        if words[0] == "XREAD":
            asked.append(words)
        return await answer(link, *words)

    monkeypatch.setattr(RedisLink, "answer", noted)

    async def resume() -> list[str | None]:
        async with watching(on_valkey) as watch:
            with watch.watch(job_id, after=2) as late, watch.watch(other):
                first = await late.next(10)
                await asyncio.to_thread(tell, jobs_client, job_id, "done")
                second = await late.next(10)
        return [first and first.name, second and second.name]

    assert asyncio.run(resume()) == ["results", "done"]
    places = []
    for words in asked:
        keys_and_ids = words[words.index("STREAMS") + 1 :]
        half = len(keys_and_ids) // 2
        names, ids = keys_and_ids[:half], keys_and_ids[half:]
        places += [
            int(at.partition("-")[0])
            for name, at in zip(names, ids, strict=True)
            if str(job_id) in name
        ]
    assert places[0] == 2
    assert places == sorted(places)
    assert max(places) >= 3


def test_a_connection_that_is_cut_is_made_anew_and_nothing_is_missed(
    on_valkey, jobs_client
):
    job_id = uuid7()

    async def cut() -> list[str | None]:
        async with watching(on_valkey) as watch:
            with watch.watch(job_id) as mine:
                await waits_in_a_read(jobs_client)
                await asyncio.to_thread(tell, jobs_client, job_id, "accepted")
                first = await mine.next(10)
                for one in watchers(jobs_client):
                    jobs_client.client_kill_filter(_id=one["id"])
                await asyncio.to_thread(tell, jobs_client, job_id, "done")
                second = await mine.next(10)
                assert await mine.next(0.01) is None
        return [first and first.name, second and second.name]

    assert asyncio.run(cut()) == ["accepted", "done"]
