"""Searches for a program that runs in this process: no HTTP, one service a process."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Coroutine
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import ValidationError

from api.caller_info import CallerInfo
from api.search.schemas.search import SearchRequest
from api.search.search_clients import DataClients, SearchClients
from api.search.search_planner import SearchPlanner
from api.search.searches import BESIDE
from shared.access.scope import Scope
from shared.embedding import load_model
from shared.embedding.load_model import load_encoder
from shared.errors import ConfigurationError, InvalidRequestError, LogchordError
from shared.ids import uuid7
from shared.search.query.filters.time_range import RANGE
from shared.search.query.plan import Plan, SearchQuery
from shared.search.response import search as in_process
from shared.search.response.search_answer import SearchAnswer
from shared.settings.settings import Settings

if TYPE_CHECKING:
    from types import TracebackType

Moment = datetime | str
T = TypeVar("T")

# Who holds the database's address may read all of it, as the one facility there is.
EMBEDDED = Scope("default", "service", allowed=frozenset({"read", "search"}))


class _Loop:
    """An event loop in a thread of its own, for callers of any loop or of none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="searches", daemon=True
        )
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result; giving up the wait cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return await asyncio.wrap_future(future)

    async def stop(self) -> None:
        """End the loop, and what still runs there: else its callers wait for ever."""
        await self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()


class SearchService:
    """Searches as the API asks them; `async with` leaves it open for the next one.

    With `inline` branches run in this process: no broker and no worker is needed, and
    the models are loaded here.
    """

    def __init__(self, settings: Settings, *, inline: bool = False) -> None:
        self._settings = settings
        self._process = os.getpid()
        self._is_closed = False
        self._inline = inline
        self._loop: _Loop | None = None
        self._clients: SearchClients | None = None
        self._starting = threading.Lock()
        if inline:
            self._data = DataClients.open(settings, "service")
            self._planner = _planner(settings, self._data)
        else:
            clients = self._clients = SearchClients.open(settings, "service")
            self._data, self._planner = clients.data, clients.searches

    async def __aenter__(self) -> Self:
        """Use the service; its pool connects at the first search."""
        self._refuse_use()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the service open: the process owns it, see `close_search_service`."""

    async def search(
        self,
        query: str = "",
        *,
        mode: str = "auto",
        time_range: tuple[Moment | None, Moment | None] | None = None,
        max_results: int | None = None,
        scope: Scope = EMBEDDED,
        **fields: Any,
    ) -> SearchAnswer:
        """Search, and wait for the answer; fields are those of `SearchRequest`."""
        self._refuse_use()
        given: dict[str, Any] = {"query": query, "mode": mode, **fields}
        if max_results is not None:
            given["max_results"] = max_results
        if time_range is not None:
            filters = given.get("filters", {})
            if RANGE in filters:
                message = f"{RANGE} is given twice."
                raise InvalidRequestError.field(RANGE, "duplicate", message)
            given["filters"] = {**filters, RANGE: [*map(_as_text, time_range)]}
        question = _question(given)
        if self._inline:
            return await self._search_here(question, scope)
        return await self._search_by_workers(question, scope)

    async def close(self) -> None:
        """Stop listening and close the pool; a search under way is told so."""
        if self._process == os.getpid() and not self._is_closed:
            self._is_closed = True
            if self._loop is not None and self._clients is not None:
                await self._loop.run(self._clients.searches.stop())
                await self._loop.stop()
            await asyncio.to_thread(self._data.pool.close)

    async def _search_here(self, question: SearchQuery, scope: Scope) -> SearchAnswer:
        plan = await self._plan(question, scope)
        run = partial(in_process.search, self._planner.context, plan, BESIDE)
        return await asyncio.to_thread(run)

    async def _search_by_workers(
        self, question: SearchQuery, scope: Scope
    ) -> SearchAnswer:
        assert self._clients is not None
        searches = self._clients.searches
        arrived = time.monotonic()

        async def ask() -> Any:
            await searches.start()
            plan = await self._plan(question, scope)
            caller = CallerInfo(scope, {"request_id": str(uuid7())}, arrived)
            return await searches.ask(plan, caller, plan.deadline_ms)

        try:
            reply = await self._own_loop().run(ask())
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._is_closed and task is not None and not task.cancelling():
                raise _closed() from None
            raise
        if not isinstance(reply, str):
            message = f"The search goes on as the job {reply.job_id}."
            raise LogchordError(message, code="search_timeout")
        return SearchAnswer.from_values(json.loads(reply))

    async def _plan(self, question: SearchQuery, scope: Scope) -> Plan:
        approved = await self._planner.glossaries.of(scope.tenant)
        await self._planner.scores.refresh()
        return self._planner.plan(question, scope, approved)

    def _own_loop(self) -> _Loop:
        with self._starting:
            if self._loop is None:
                self._loop = _Loop()
            return self._loop

    def _refuse_use(self) -> None:
        if self._is_closed:
            raise _closed()
        if self._process != os.getpid():
            raise ConfigurationError(
                "This service was made before the process forked, and its connections"
                " are the parent's: ask get_search_service() for this process's own."
            )


async def _cancel_others() -> None:
    """Cancel all that runs on this loop but the caller, and wait for its end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for one in others:
        one.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _closed() -> ConfigurationError:
    message = "This service is closed: ask get_search_service() for another."
    return ConfigurationError(message)


_lock = threading.Lock()
_service: SearchService | None = None


async def get_search_service(
    settings: Settings | None = None, *, inline: bool = False
) -> SearchService:
    """Return the service of this process, made at its first use from the settings."""
    return await asyncio.to_thread(_get, settings, inline)


async def close_search_service() -> None:
    """Close the service of this process, its pool too; the next use makes another."""
    service = _forget()
    if service is not None:
        await service.close()


def reset_search_service() -> None:
    """Forget the service of this process without closing it: it stays its user's."""
    _forget()


# As orchestrators of the reference call them.
get_ariel_search_service = get_search_service
close_ariel_service = close_search_service
reset_ariel_service = reset_search_service


def _get(settings: Settings | None, inline: bool) -> SearchService:  # noqa: FBT001
    global _service  # noqa: PLW0603 - one a process is the promise
    with _lock:
        if _service is None:
            found = settings or Settings.load(os.environ)
            _service = SearchService(found, inline=inline)
        return _service


def _forget() -> SearchService | None:
    global _service
    with _lock:
        service, _service = _service, None
        return service


def _after_fork() -> None:
    # Whoever held the lock is not in this process.
    global _service, _lock
    _service, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _planner(settings: Settings, data: DataClients) -> SearchPlanner:
    providers, cache = settings.api.providers, settings.cache

    @lru_cache
    def encoder(model: str) -> Any:
        return load_encoder(model, cache, providers)

    @lru_cache(maxsize=1)
    def cross_encoder() -> Any:
        return load_model.load_cross_encoder(settings.reranking, providers, cache)

    return SearchPlanner(
        settings,
        data.pool,
        time.time,
        data.signer,
        lambda: data.opensearch,
        encoder,
        cross_encoder,
    )


def _question(given: dict[str, Any]) -> SearchQuery:
    try:
        return SearchRequest.model_validate(given).question(None)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        carried = first.get("ctx", {}).get("error")
        if isinstance(carried, LogchordError):
            raise carried from exc
        path = ".".join(map(str, first["loc"]))
        message = f"{path}: {first['msg'].removeprefix('Value error, ')}"
        raise InvalidRequestError.field(path, first["type"], message) from exc


def _as_text(moment: Moment | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment
