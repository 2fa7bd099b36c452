"""Searches as the API asks them: planned, dispatched, waited for, never left open."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import redis

from api.search.admission import TOO_MANY, Admission, caller_of
from api.search.event_watch import EventWatch
from api.search.mailbox import Mailbox, Waiter
from api.search.search_planner import SearchPlanner
from api.server import metrics
from shared.answers.answer_question import answer_question
from shared.cards.make_cards import make_cards
from shared.errors import CapacityError, LogchordError, SearchTimeoutError
from shared.ids import uuid7
from shared.log import get_logger
from shared.messaging import fan_out, redis_clients, task_names
from shared.postgres.pool import connection
from shared.search.jobs import close_job, outcome
from shared.search.jobs import job as jobs
from shared.search.jobs.close_job import Ending
from shared.search.jobs.job import Job
from shared.search.query import deadline_shares
from shared.search.query.modes import AGENT
from shared.search.query.plan import Plan
from shared.search.response import end_search
from shared.search.response.end_search import Beside, EndedSearch
from shared.search.response.respond import nothing_asked
from shared.search.response.search import count_facets, make_job
from shared.search.retrieval.branch.retry import Paces

if TYPE_CHECKING:
    from celery import Celery
    from opensearchpy import OpenSearch

    from api.caller_info import CallerInfo
    from shared.access.cursors import Signer
    from shared.messaging.broker_clock import BrokerClock
    from shared.postgres.pool import Pool
    from shared.settings.settings import Settings

log = get_logger()

T = TypeVar("T")

DISPATCH_THREADS = 4
# How long past its deadline a search may take to rank what is in.
_LATE_SECONDS = 1.0
# So long a hold of a place says how much time a search needs that waits for one.
_LATELY_SECONDS = 30.0
BESIDE = Beside(answer_question, make_cards)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A job on its way, and until when its answer is waited for (monotonic)."""

    job: Job
    wait_until: float


class Searches(SearchPlanner):
    """One per API process: its mailbox, its dispatchers, its admission."""

    def __init__(
        self,
        settings: Settings,
        app: Celery,
        client: redis.Redis,
        clock: BrokerClock,
        pool: Pool,
        signer: Callable[[], Signer],
        opensearch: OpenSearch | None,
    ) -> None:
        super().__init__(settings, pool, clock.now, signer, lambda: opensearch)
        self._app = app
        self._client = client
        self._clock = clock
        self._pool = pool
        self._max_wait_ms = settings.max_wait_ms
        # By mode: as whoever asked has waited, and as long as a place was held.
        self._paces, self._held = Paces(), Paces(_LATELY_SECONDS)
        self.mailbox = Mailbox(lambda: redis_clients.mailbox_redis(settings))
        self.events = EventWatch(lambda: redis_clients.mailbox_redis(settings))
        self._admission = Admission(
            settings.max_concurrent_searches,
            settings.search_queue_limit,
            settings.search_queue_wait_ms / 1000,
            settings.search.share_per_key,
        )
        # Publishing costs 2 ms of Python: inline it would hold up every request.
        self._dispatchers = ThreadPoolExecutor(DISPATCH_THREADS, "dispatch")
        self._background: set[asyncio.Future[None]] = set()
        self._going_on: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to listen for answers."""
        await self.mailbox.start()
        await self.events.start()

    async def stop(self) -> None:
        """Wait a moment for searches under way, then stop listening."""
        if self._background:
            await asyncio.wait(self._background, timeout=2)
        for one in self._going_on:
            one.cancel()
        await self.mailbox.stop()
        await self.events.stop()
        self._dispatchers.shutdown(wait=False, cancel_futures=True)

    async def ask(
        self, plan: Plan, caller: CallerInfo, wait_ms: int | None
    ) -> str | Job:
        """Return the answer as JSON, or the job when `wait_ms` is over before it."""
        if not plan.branches:
            return json.dumps(nothing_asked(plan).to_json())
        is_over = False
        try:
            reply = await self._asked(plan, caller, wait_ms)
            is_over = isinstance(reply, str)
        except LogchordError as exc:
            # Who was not let in has not searched.
            is_over = exc.error_code != TOO_MANY
            raise
        finally:
            if is_over:
                metrics.search_done(plan.method, time.monotonic() - caller.arrived)
        if is_over:
            self._paces.note(plan.method, time.monotonic() - caller.arrived)
        return reply

    def expected_ms(self, plan: Plan) -> float | None:
        """Return how long such a search took lately; None: there was none here."""
        usual = self._paces.usual(plan.method) if plan.branches else 0.0
        return None if usual is None else round(usual * 1000, 3)

    async def _asked(
        self, plan: Plan, caller: CallerInfo, wait_ms: int | None
    ) -> str | Job:
        wait_ms = min(
            plan.deadline_ms if wait_ms is None else wait_ms, self._max_wait_ms
        )
        if wait_ms >= plan.deadline_ms and plan.method != AGENT:
            spare = self._spare(plan, caller)
            async with self._admission.turn(caller_of(plan.scope), spare):
                began = time.monotonic()
                try:
                    return await self._ask_directly(plan, caller)
                finally:
                    self._held.note(plan.method, time.monotonic() - began)
        return await self._ask_and_go(plan, caller, wait_ms)

    def _spare(self, plan: Plan, caller: CallerInfo) -> float:
        """Return how long it may wait for a place and still be done in time.

        As places were held lately: one let in later would only be cut by its deadline.
        """
        return _left(plan, caller) - self._held.p95(plan.method)

    async def count_facets(self, plan: Plan) -> dict[str, Any] | None:
        """Return the counts of a plan, made in this process; None: failed or late.

        As a search of its own they would be a second set of hits, too.
        """
        return await asyncio.to_thread(count_facets, self.context, plan)

    async def submit(self, plan: Plan, caller: CallerInfo) -> Job:
        """Store a job, dispatch it, and return without waiting."""
        if plan.branches:
            sent = await self._ask_and_go(plan, caller, None)
            assert isinstance(sent, Job)
            return sent
        spare = self._spare(plan, caller)
        async with self._admission.turn(caller_of(plan.scope), spare):
            send = partial(self._send, uuid7(), plan, caller, submitted=True)
            return (await self._sent(send, plan, caller)).job

    async def _ask_directly(self, plan: Plan, caller: CallerInfo) -> str:
        job_id = uuid7()
        with self.mailbox.wait_for(job_id) as waiter:
            send = partial(self._send, job_id, plan, caller, submitted=False)
            sent = await self._sent(send, plan, caller)
            answer = await waiter.answer(sent.wait_until - time.monotonic())
            if answer is not None:
                return _body(*answer)
            late = partial(self._late, sent.job, plan, waiter)
            try:
                ended = await self._in_thread(late, _LATE_SECONDS)
            except TimeoutError as exc:
                raise _too_late(plan) from exc
        self._in_background(partial(self._close, sent.job, ended))
        if ended.error is not None:
            raise ended.error
        assert ended.answer is not None
        return json.dumps(ended.answer.to_json())

    async def _ask_and_go(
        self, plan: Plan, caller: CallerInfo, wait_ms: int | None
    ) -> str | Job:
        """Return the answer, or the job that goes on; None: without a look at it."""
        until = caller.arrived + (wait_ms or 0) / 1000
        who, spare = caller_of(plan.scope), self._spare(plan, caller)
        job_id = uuid7()
        with ExitStack() as held:
            place = await self._admission.enter(who, spare)
            held.callback(place.give_back)
            waiter = held.enter_context(self.mailbox.wait_for(job_id))
            send = partial(self._send, job_id, plan, caller, submitted=True)
            sent = await self._sent(send, plan, caller)
            if wait_ms is not None:
                answer = await waiter.answer(until - time.monotonic())
                if answer is not None:
                    return _body(*answer)
            self._hold(held.pop_all(), waiter, sent.wait_until)
        return sent.job

    def _hold(self, held: ExitStack, waiter: Waiter, until: float) -> None:
        """Keep the place of a job that goes on, until it is answered or over."""

        async def to_its_end() -> None:
            with held:
                await waiter.answer(until - time.monotonic())

        task = asyncio.create_task(to_its_end(), name="going on")
        self._going_on.add(task)
        task.add_done_callback(self._going_on.discard)

    def _send(
        self, job_id: UUID, plan: Plan, caller: CallerInfo, *, submitted: bool
    ) -> _Sent:
        """Open the job, its row first if it has one, and dispatch its branches."""
        # What it has waited for a place and for this thread is of its own time.
        now = self._clock.now()
        waited = time.monotonic() - caller.arrived
        job = make_job(plan, job_id, now - waited, submitted=submitted)
        answered_by = deadline_shares.answer_end(job.deadline, plan.deadline_ms)
        wait_until = caller.arrived + (answered_by - job.created)
        if submitted:
            with connection(self._pool) as conn:
                jobs.submit_job(conn, job, waited)
                if not plan.branches:
                    close_job.close_job(conn, job, Ending("done", (), None, None))
        if not plan.branches:
            metrics.job_ended("done")
            return _Sent(job, wait_until)
        jobs.open_job(self._client, job)
        headers = {
            "deadline": job.deadline,
            "mailbox": self.mailbox.name,
            fan_out.WATCHED: submitted,
            **caller.trace,
        }
        if plan.method == AGENT:
            # Its first turn: what that asks for, it sends itself.
            fan_out.send_agent_turn(self._app, job_id, 1, headers)
            return _Sent(job, wait_until)
        wide, narrow = task_names.WIDE_SEARCH_QUEUE, task_names.SEARCH_QUEUE
        queue = wide if plan.exhaustive or plan.fan_out.sub_queries else narrow
        sent = (job_id, job.branches, queue, headers)
        fan_out.send_branches(self._app, *sent, ends_in_chord=job.ends_in_chord)
        return _Sent(job, wait_until)

    def _late(self, job: Job, plan: Plan, waiter: Waiter) -> EndedSearch:
        """Rank the outcomes that came, here: the last branch is late or gone."""
        arrived = {n: outcome.from_json(text) for n, text in waiter.outcomes.items()}
        if len(arrived) < job.branches:
            try:
                arrived = {**jobs.outcomes(self._client, job.job_id), **arrived}
            except CapacityError as exc:
                log.warning("late_without_redis", code=exc.error_code)
        log.warning(
            "search_ended_late", job_id=str(job.job_id), branches_in=len(arrived)
        )
        for number, name in enumerate(plan.branches):
            if number not in arrived:
                metrics.branch_missed(name, plan.deadline_ms / 1000)
        return end_search.end_search(self.context, job, plan, arrived, BESIDE)

    def _close(self, job: Job, ended: EndedSearch) -> None:
        if end_search.store(self._pool, job, ended):
            metrics.job_ended(ended.state)

    async def _sent(
        self, send: Callable[[], _Sent], plan: Plan, caller: CallerInfo
    ) -> _Sent:
        """Dispatch; past its deadline a search is not worth sending any more."""
        left = _left(plan, caller)
        if left <= 0:
            raise _too_late(plan)
        try:
            return await self._in_thread(send, left)
        except TimeoutError as exc:
            raise CapacityError(
                "The message broker answers too slowly; try again shortly.",
                code="broker_unavailable",
                retry_after_seconds=1,
            ) from exc

    async def _in_thread(self, step: Callable[[], T], seconds: float) -> T:
        # Few threads and a Redis that hangs: whoever waits behind others gives up.
        async with asyncio.timeout(seconds):
            return await asyncio.get_running_loop().run_in_executor(
                self._dispatchers, step
            )

    def _in_background(self, step: Callable[[], None]) -> None:
        future = asyncio.get_running_loop().run_in_executor(self._dispatchers, step)
        self._background.add(future)
        future.add_done_callback(self._background.discard)


def _too_late(plan: Plan) -> SearchTimeoutError:
    seconds = plan.deadline_ms / 1000
    return SearchTimeoutError(timeout_seconds=seconds, operation=plan.method)


def _left(plan: Plan, caller: CallerInfo) -> float:
    """Return how many seconds of a search's deadline are left."""
    return caller.arrived + plan.deadline_ms / 1000 - time.monotonic()


def _body(kind: str, text: str) -> str:
    """Return the finished body as it came; a failed search raises its error."""
    if kind == "failed":
        raise end_search.as_error(json.loads(text))
    return text
