"""Requests of the client: in time, tried again where that is worth it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from api.client.error_answers import UnreachableError, check_place, read_error
from api.client.event_lines import Event, EventLines
from api.client.retry_pause import find_pause

if TYPE_CHECKING:
    import httpx2

    from api.client.models.model import Model, Page

M = TypeVar("M", bound="Model")
T = TypeVar("T")

_CONNECT_SECONDS = 10.0
# The longest that the server waits, and of a client's own time as much as leaves the
# answer its way: whoever reads no longer than the server waits never hears of it.
_MOST_WAIT_MS, _WAIT_MS_OF_A_SECOND = 30_000, 800
# A pause may end later than it should.
_LEAST_SECONDS = 0.001
# What only reads, although it is a POST.
READING = frozenset(
    {"/search", "/v1/classify", "/v1/search/query", "/v1/search/plan"}
    | {"/v1/search/suggestions/evaluate"}
)
# Where the server knows by its key what it has carried out already.
KEYED = ("/v1/entries", "/v1/quarantine")


class AsyncLink:
    """One API, and one key for it."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        timeout_seconds: float,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        # Three quarters of what it takes to import the client, were it done with it.
        import httpx2

        check_place(base_url, api_key)
        self._timeout_seconds = timeout_seconds
        self._timeout = httpx2.Timeout
        self.most_wait_ms = min(
            _MOST_WAIT_MS, int(_WAIT_MS_OF_A_SECOND * timeout_seconds)
        )
        self._failures = httpx2.TransportError
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx2.AsyncClient(
            base_url=base_url.rstrip("/"),
            headers={**headers, "Accept": "application/json"},
            timeout=httpx2.Timeout(timeout_seconds, connect=_CONNECT_SECONDS),
            transport=transport,
        )

    async def close(self) -> None:
        """Let go of every connection."""
        await self._http.aclose()

    async def read(self, kind: type[M], method: str, path: str, **given: Any) -> M:
        """Ask the server, and read its answer as a model."""
        answer = await self.ask(method, path, **given)
        return kind.model_validate_json(answer.content)

    async def get(self, kind: type[M], path: str, /, **params: Any) -> M:
        """Read what stands at a path."""
        return await self.read(kind, "GET", path, params=params)

    async def post(self, kind: type[M], path: str, /, **fields: Any) -> M:
        """Send fields to a path."""
        return await self.read(kind, "POST", path, json=fields)

    async def download(self, path: str, **params: Any) -> httpx2.Response:
        """Read a file."""
        return await self.ask("GET", path, params=params, headers={"Accept": "*/*"})

    async def ask(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        **given: Any,
    ) -> httpx2.Response:
        """Return an answer that is a success, or raise what it says."""
        sent = dict(headers or {})
        may_repeat = method != "POST" or path in READING
        if not may_repeat and path.startswith(KEYED):
            may_repeat = True
            sent.setdefault("Idempotency-Key", uuid.uuid4().hex)
        async with self.stream(
            method, path, headers=sent, is_whole=True, may_repeat=may_repeat, **given
        ) as answer:
            return answer

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        is_whole: bool = False,
        may_repeat: bool = False,
        **given: Any,
    ) -> AsyncIterator[httpx2.Response]:
        """Give an answer as it comes, or whole; one that breaks off raises.

        A server that turns the request away is asked again; one that does not answer,
        where twice is as once.
        """
        left = self._timeout_seconds
        ends_at = time.monotonic() + left
        tries, has_begun = 0, False
        while True:
            tries += 1
            if is_whole:
                connect = min(left, _CONNECT_SECONDS)
                given["timeout"] = self._timeout(left, connect=connect)
            try:
                async with self._http.stream(
                    method, path, params=_told(params), **given
                ) as answer:
                    if is_whole or not answer.is_success:
                        await answer.aread()
                    if answer.is_success:
                        has_begun = True
                        yield answer
                        return
                after = answer.headers.get("Retry-After")
                error = read_error(answer.status_code, answer.content, after)
            except self._failures as exc:
                error = _unreachable(self._http, exc)
                error.__cause__ = exc
            left = ends_at - time.monotonic()
            pause = find_pause(error, tries, left, may_repeat=may_repeat)
            if has_begun or pause is None:
                raise error
            await asyncio.sleep(pause)
            left = max(_LEAST_SECONDS, ends_at - time.monotonic())

    async def events(
        self, method: str, path: str, *, headers: Mapping[str, str] = {}, **given: Any
    ) -> AsyncIterator[Event]:
        """Give the events of a stream as they come."""
        lines = EventLines()
        sent = {**headers, "Accept": "text/event-stream"}
        async with self.stream(method, path, headers=sent, **given) as answer:
            async for line in answer.aiter_lines():
                event = lines.hear(line)
                if event is not None:
                    yield event

    async def items(
        self, kind: type[Page[T]], path: str, /, **params: Any
    ) -> AsyncIterator[T]:
        """Give what stands in a list, one page of it after the other."""
        cursor: str | None = None
        while True:
            answer = await self.ask("GET", path, params={**params, "cursor": cursor})
            page = kind.model_validate_json(answer.content)
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return


def _told(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameters that say something."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in (params or {}).items()
        if value is not None
    }


def _unreachable(http: httpx2.AsyncClient, exc: Exception) -> UnreachableError:
    message = f"The API at {http.base_url} does not answer ({type(exc).__name__})."
    return UnreachableError(message)
