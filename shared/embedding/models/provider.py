"""A provider of models: asked over HTTP for JSON, at the address that settings name."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from shared.errors import ConfigurationError, IngestionError, SourceUnreachableError
from shared.http import bounded_response, failures
from shared.http.addresses import AllowList, parse
from shared.http.connections import Patience
from shared.http.request import Asker, HTTPRequest
from shared.http.secrets import Secrets
from shared.settings.source_sections import SourceSettings

if TYPE_CHECKING:
    from shared.settings.sections import ProviderSettings

_ANSWERS = frozenset(range(200, 600)) - failures.REDIRECTS


class Answered(NamedTuple):
    """What it answered, and the seconds that it wants to be left alone."""

    status: int
    body: bytes
    retry_after: int | None


class Provider:
    """One provider's address and key; safe to share between threads."""

    def __init__(self, name: str, settings: ProviderSettings, model: str) -> None:
        key = f"api.providers.{name}.base_url"
        if not settings.base_url:
            message = f"The model {model} needs an address: set `{key}`."
            raise ConfigurationError(message, config_key=key)
        try:
            parse(settings.base_url)
        except ValueError as exc:
            message = f"`{key}` cannot be used: {exc}."
            raise ConfigurationError(message, config_key=key) from exc
        self._name = name
        self._settings = settings
        self._url = settings.base_url.rstrip("/")
        self._allowed = AllowList(name, settings.base_url)

    def post(
        self, path: str, asked: Mapping[str, Any], seconds: float, most_bytes: int
    ) -> Answered:
        """Return any answer within the time; silence is `SourceUnreachableError`."""
        patience = Patience(seconds, time.monotonic() + seconds, lambda: False)
        try:
            with closing(self._asker()) as asker:
                url = asker.admit(self._url + path)
                body = json.dumps(asked).encode()
                question = HTTPRequest("POST", url, self._headers(), body, _ANSWERS)
                answer = asker.ask(question, patience)
                with failures.translate_network_errors(url):
                    read = b"".join(
                        bounded_response.pieces(answer.response, most_bytes)
                    )
        except SourceUnreachableError:
            raise
        except IngestionError as exc:
            key = f"api.providers.{self._name}.base_url"
            message = f"`{key}` cannot be used: {exc.message}"
            raise ConfigurationError(message, config_key=key) from exc
        headers = bounded_response.join_headers(answer.response.headers)
        wait = failures.retry_after(headers.get("retry-after"), datetime.now(UTC))
        return Answered(answer.response.status, read, wait)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self._settings.api_key is not None:
            headers["Authorization"] = (
                f"Bearer {self._settings.api_key.get_secret_value()}"
            )
        return headers

    def _asker(self) -> Asker:
        # Of one call alone: threads share none, and none goes stale in between.
        return Asker(
            self._name,
            SourceSettings(base_url=self._settings.base_url),
            allowed=self._allowed,
            secrets=Secrets(self._name),
            clock=lambda: datetime.now(UTC),
        )
