"""One question to a source: sent with our name, redirects followed or refused."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpcore2
import httpx2

from shared.errors import ConfigurationError, IngestionError
from shared.http import bounded_response, failures
from shared.http.addresses import AllowList, origin_of
from shared.http.connections import CONNECT_SECONDS, Connector, Patience, make_pool
from shared.http.secrets import Secrets
from shared.settings.source_sections import SourceAuth, SourceSettings
from shared.version import VERSION

USER_AGENT = f"Logchord/{VERSION}"
MOST_REDIRECTS = 3
_KEEPS_METHOD = frozenset({307, 308})


@dataclass(frozen=True, slots=True)
class HTTPRequest:
    """One request, before it is known where redirects lead it."""

    method: str
    url: httpx2.URL
    headers: Mapping[str, str]
    body: bytes | None = None
    # Statuses that are answers.
    allow: frozenset[int] = frozenset({failures.OK})


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is still being read, and where it comes from."""

    response: httpcore2.Response
    url: httpx2.URL


class Asker:
    """The connections of one source, to its own addresses and nowhere else."""

    def __init__(
        self,
        source: str,
        settings: SourceSettings,
        *,
        allowed: AllowList,
        secrets: Secrets,
        clock: Callable[[], datetime],
    ) -> None:
        self._source = source
        self._settings = settings
        self._allowed = allowed
        self._secrets = secrets
        self._clock = clock
        self._connector = Connector(allowed)
        self._pool: httpcore2.ConnectionPool | None = None
        self._login: dict[str, str] | None = None

    def admit(
        self,
        url: str,
        params: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
    ) -> httpx2.URL:
        """Return the full address to ask, or raise `address_refused`."""
        where = self._allowed.admit(url).copy_with(fragment=None)
        if not params:
            return where
        pairs = params.items() if isinstance(params, Mapping) else params
        return where.copy_merge_params([(name, value) for name, value in pairs])

    def ask(self, question: HTTPRequest, patience: Patience) -> Answer:
        """Return the answer with its body unread, or raise the error that it means."""
        self._connector.patience = patience
        url = question.url
        for _ in range(MOST_REDIRECTS + 1):
            response = self._sent(question, url)
            if response.status in question.allow:
                return Answer(response, url)
            response.close()
            headers = bounded_response.join_headers(response.headers)
            location = headers.get("location")
            if response.status not in failures.REDIRECTS or location is None:
                raise failures.of_status(
                    response.status,
                    headers,
                    url,
                    self._clock(),
                    has_login=self._settings.auth.kind != "none",
                )
            url = self._next(question, url, response.status, location)
        raise IngestionError(
            f"The source redirects in a circle at {failures.mask_url(question.url)}.",
            reason="redirect_loop",
        )

    def close(self) -> None:
        """Hang up."""
        if self._pool:
            self._pool.close()
            self._pool = None

    def _sent(self, question: HTTPRequest, url: httpx2.URL) -> httpcore2.Response:
        pairs = self._headers(question, url)
        target = httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        with failures.translate_network_errors(url):
            request = httpcore2.Request(
                question.method,
                target,
                headers=[(name.encode(), value.encode()) for name, value in pairs],
                content=question.body,
                extensions={"timeout": {"pool": CONNECT_SECONDS}},
            )
            return self._opened_pool().handle_request(request)

    def _headers(self, question: HTTPRequest, url: httpx2.URL) -> list[tuple[str, str]]:
        headers = [
            ("Host", url.netloc.decode("ascii")),
            ("User-Agent", USER_AGENT),
            ("Accept", "*/*"),
            ("Accept-Encoding", "gzip, deflate"),
        ]
        if self._allowed.is_own(url):
            headers += self._login_headers().items()
        # What an adapter adds may be a login, too: it does not follow elsewhere.
        if origin_of(url) == origin_of(question.url):
            headers += question.headers.items()
        if question.body is not None:
            headers.append(("Content-Length", str(len(question.body))))
        # Each goes once, however it is written; the last word is the adapter's.
        return list({name.lower(): (name, of) for name, of in headers}.values())

    def _next(
        self, question: HTTPRequest, url: httpx2.URL, status: int, location: str
    ) -> httpx2.URL:
        """Return where a redirect leads, if it may be followed."""
        try:
            target = url.join(location)
        except (httpx2.InvalidURL, ValueError) as exc:
            raise failures.of_redirect(url, None) from exc
        loses_body = question.body is not None and status not in _KEEPS_METHOD
        if loses_body or failures.looks_like_login(target):
            raise failures.of_redirect(url, target)
        try:
            return self.admit(str(target))
        except IngestionError as exc:
            raise failures.of_redirect(url, target) from exc

    def _login_headers(self) -> dict[str, str]:
        if self._login is None:
            self._login = login_headers(self._settings.auth, self._secrets)
        return self._login

    def _opened_pool(self) -> httpcore2.ConnectionPool:
        if self._pool is None:
            self._pool = make_pool(self._source, self._settings, self._connector)
        return self._pool


def login_headers(auth: SourceAuth, secrets: Secrets) -> dict[str, str]:
    """Return the headers of a login; a signature is the adapter's own affair."""
    match auth.kind:
        case "basic":
            pair = f"{_named(auth.user, 'user')}:{_secret(auth, secrets)}"
            encoded = base64.b64encode(pair.encode()).decode("ascii")
            return {"Authorization": f"Basic {encoded}"}
        case "bearer":
            return {"Authorization": f"Bearer {_secret(auth, secrets)}"}
        case "header":
            return {_named(auth.header, "header"): _secret(auth, secrets)}
        case "cookie":
            pairs = sorted(auth.cookies.items())
            values = [f"{name}={secrets.read(secret)}" for name, secret in pairs]
            return {"Cookie": "; ".join(values)}
        case _:
            return {}


def _secret(auth: SourceAuth, secrets: Secrets) -> str:
    return secrets.read(_named(auth.secret, "secret"))


def _named(value: str | None, field: str) -> str:
    if not value:
        raise ConfigurationError(
            f"This kind of `auth` needs `{field}`.", config_key=f"auth.{field}"
        )
    return value
