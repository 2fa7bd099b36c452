"""A provider of models: asked over HTTP for JSON, at the address that settings name."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

import httpcore2
import httpx2

from shared.errors import ConfigurationError, IngestionError, SourceUnreachableError
from shared.http import bounded_response, failures
from shared.http.addresses import AllowList, parse
from shared.http.connections import Patience
from shared.http.request import Asker, HTTPRequest
from shared.http.secrets import Secrets
from shared.settings.sections import ProviderSettings
from shared.settings.source_sections import SourceSettings

_ANSWERS = frozenset(range(200, 600)) - failures.REDIRECTS


# Where a provider that needs no address listens.
WELL_KNOWN: Mapping[str, str] = {"openai": "https://api.openai.com/v1"}


class Answered(NamedTuple):
    """An answer's status and body, and how long the provider asks to be left alone."""

    status: int
    body: bytes
    retry_after: int | None


class Streamed(NamedTuple):
    """An answer whose body is read as it comes."""

    status: int
    media_type: str
    retry_after: int | None
    pieces: Iterator[bytes]


def never() -> bool:
    """Tell that nobody ends a wait before its time."""
    return False


class Provider:
    """One provider's address and key; safe to share between threads."""

    def __init__(self, name: str, settings: ProviderSettings, model: str) -> None:
        key = f"api.providers.{name}.base_url"
        base_url = settings.base_url or WELL_KNOWN.get(name)
        if not base_url:
            message = f"The model {model} needs an address: set `{key}`."
            raise ConfigurationError(message, config_key=key)
        try:
            parse(base_url)
        except ValueError as exc:
            message = f"`{key}` cannot be used: {exc}."
            raise ConfigurationError(message, config_key=key) from exc
        self._name = name
        self._settings = settings
        self._url = base_url.rstrip("/")
        self._allowed = AllowList(name, base_url)

    def post(
        self, path: str, asked: Mapping[str, Any], seconds: float, most_bytes: int
    ) -> Answered:
        """Return any answer within the time; silence is `SourceUnreachableError`."""
        with self.stream(path, asked, seconds, most_bytes) as answer:
            body = b"".join(answer.pieces)
        return Answered(answer.status, body, answer.retry_after)

    @contextmanager
    def stream(
        self,
        path: str,
        asked: Mapping[str, Any],
        seconds: float,
        most_bytes: int,
        is_cancelled: Callable[[], bool] = never,
    ) -> Iterator[Streamed]:
        """Yield an answer while it comes; leaving the block closes the connection."""
        patience = Patience(seconds, time.monotonic() + seconds, is_cancelled)
        try:
            with closing(self._asker()) as asker:
                url = asker.admit(self._url + path)
                body = json.dumps(asked).encode()
                question = HTTPRequest("POST", url, self._headers(), body, _ANSWERS)
                response = asker.ask(question, patience).response
                headers = bounded_response.join_headers(response.headers)
                media_type = headers.get("content-type", "").partition(";")[0]
                yield Streamed(
                    response.status,
                    media_type.strip().lower(),
                    failures.retry_after(headers.get("retry-after"), datetime.now(UTC)),
                    _pieces(response, url, most_bytes),
                )
        except SourceUnreachableError:
            raise
        except IngestionError as exc:
            if exc.reason == "too_large":
                raise SourceUnreachableError(exc.message, reason="too_large") from exc
            key = f"api.providers.{self._name}.base_url"
            message = f"`{key}` cannot be used: {exc.message}"
            raise ConfigurationError(message, config_key=key) from exc

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self._settings.api_key is not None:
            headers["Authorization"] = (
                f"Bearer {self._settings.api_key.get_secret_value()}"
            )
        return headers

    def _asker(self) -> Asker:
        # Each call has connections of its own: threads share none, and none gets stale.
        return Asker(
            self._name,
            SourceSettings(base_url=self._url),
            allowed=self._allowed,
            secrets=Secrets(self._name),
            clock=lambda: datetime.now(UTC),
        )


def _pieces(
    response: httpcore2.Response, url: httpx2.URL, most_bytes: int
) -> Iterator[bytes]:
    with failures.translate_network_errors(url):
        yield from bounded_response.pieces(response, most_bytes)
