"""All that the API offers, as one object with a key."""

from types import TracebackType
from typing import Any, Self

from api.client.synchronous.link import Link
from api.client.synchronous.operations import Operations
from api.client.synchronous.searches import Searches


class Client(Searches, Operations):
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
        self._link = Link(base_url, api_key, timeout_seconds, transport)

    def close(self) -> None:
        """Let go of every connection."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
