"""The real reach of an adapter, made from nothing but a test's few words."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from shared.http.bounded_response import HTTPReply
from shared.http.paced_client import SourceClient
from shared.settings.source_sections import SourceSettings
from shared.sources.adapter_io import RealIO, make_io
from shared.sources.adapter_memory import StoredMemory
from shared.sources.local_files import PathFiles


class PlainIO:
    """Whatever server a test names first becomes the source's own."""

    def __init__(
        self,
        path: Path | None = None,
        secrets: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self._path = path
        self._secrets = dict(secrets or {})
        self._settings = settings
        self._servers: dict[str, RealIO] = {}
        self.memory = StoredMemory()
        self.files = PathFiles("test", str(path) if path else None)
        self.http = _FirstServer(self)
        self.offset = timedelta()
        self.cancelled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers.values():
            server.close()

    def now(self) -> datetime:
        """Return the time, wrong by what the test has set."""
        return datetime.now(UTC) + self.offset

    def secret(self, name: str) -> str:
        """Return a secret that the test has given."""
        return self._secrets[name]

    def is_cancelled(self) -> bool:
        """Tell what the test has ordered."""
        return self.cancelled

    def client(self, url: str) -> SourceClient:
        """Return the real client of this address."""
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        if origin not in self._servers:
            settings = SourceSettings(
                base_url=origin,
                **{
                    "rate_per_second": 10_000,
                    "retry_delay_seconds": 0.01,
                    "max_retries": 1,
                    "request_timeout_seconds": 10,
                    **self._settings,
                },
            )
            self._servers[origin] = make_io(
                "test", settings, memory=self.memory, environ=self._secrets
            )
        return self._servers[origin].http


class _FirstServer:
    """Requests, each by the client of its own server."""

    def __init__(self, io: PlainIO) -> None:
        self._io = io

    def get(
        self,
        url: str,
        *,
        params: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
        allow: Sequence[int] = (),
    ) -> HTTPReply:
        return self._io.client(url).get(
            url, params=params, headers=headers, allow=allow
        )

    def post(
        self,
        url: str,
        *,
        body: bytes,
        media_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        allow: Sequence[int] = (),
    ) -> HTTPReply:
        return self._io.client(url).post(
            url, body=body, media_type=media_type, headers=headers, allow=allow
        )

    def stream(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
    ) -> AbstractContextManager[Iterator[bytes]]:
        """Read a large answer piece by piece."""
        return self._io.client(url).stream(url, headers=headers, max_bytes=max_bytes)
