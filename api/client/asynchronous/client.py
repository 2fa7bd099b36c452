"""All that the API offers, as one object with a key."""

from types import TracebackType
from typing import Any, Self

from api.client.asynchronous.link import AsyncLink
from api.client.asynchronous.operations import AsyncOperations
from api.client.asynchronous.searches import AsyncSearches


class AsyncClient(AsyncSearches, AsyncOperations):
    """A caller of one Logchord.

    Errors are raised as the server's own classes, with `retriable` and `severity`; what
    may pass is tried three times within `timeout_seconds`, as `Retry-After` says.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8006",
        api_key: str | None = None,
        timeout_seconds: float = 30,
        *,
        transport: Any = None,
    ) -> None:
        self._link = AsyncLink(base_url, api_key, timeout_seconds, transport)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
