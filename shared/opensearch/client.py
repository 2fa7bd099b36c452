"""The OpenSearch client: a time-out on every call, no retries, errors by kind."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from opensearchpy import OpenSearch
from opensearchpy import exceptions as driver

from shared.errors import ConfigurationError, OpenSearchError
from shared.settings.settings import Settings

OFF = "off"
TIMEOUT_SECONDS = 2.0
_CONNECTIONS = 16
_TOO_MANY = 429
_ELSEWHERE = frozenset({401, 403, 404, 405})
_SERVER_ERROR = 500


def make_client(settings: Settings) -> OpenSearch | None:
    """Return a client, or None where the system runs on Postgres alone; no I/O."""
    secret = settings.opensearch_url
    if secret is None:
        message = (
            "No OpenSearch is known: run `logchord up`, or set OPENSEARCH_URL;"
            " OPENSEARCH_URL=off runs on Postgres alone."
        )
        raise ConfigurationError(message, config_key="OPENSEARCH_URL")
    url = secret.get_secret_value()
    if url == OFF:
        return None
    # It would log a line a request, and the address with its password.
    logging.getLogger("opensearch").setLevel(logging.ERROR)
    return OpenSearch(
        hosts=[url],
        timeout=TIMEOUT_SECONDS,
        # The circuit and the due work decide what is tried again.
        max_retries=0,
        retry_on_timeout=False,
        retry_on_status=(),
        pool_maxsize=_CONNECTIONS,
    )


def refresh(client: OpenSearch, index: str, seconds: float = TIMEOUT_SECONDS) -> None:
    """Make indexed documents searchable without waiting for the interval."""
    with translate_engine_errors():
        client.indices.refresh(index=index, params={"request_timeout": seconds})


@contextmanager
def translate_engine_errors() -> Iterator[None]:
    """Turn what the driver raises into our own error, by its kind."""
    try:
        yield
    except driver.OpenSearchException as exc:
        raise as_logchord_error(exc) from exc


def as_logchord_error(exc: driver.OpenSearchException) -> OpenSearchError:
    """Classify a driver exception by whether the same request may succeed later."""
    if isinstance(exc, driver.ConnectionTimeout):
        return OpenSearchError(
            technical=type(exc).__name__, details={"timed_out": True}
        )
    if isinstance(exc, driver.ConnectionError):
        return OpenSearchError(technical=type(exc.info).__name__)
    if isinstance(exc, driver.TransportError):
        return refusal(int(exc.status_code), str(exc.error))
    # What answered is not OpenSearch: a proxy's page, perhaps.
    return OpenSearchError(technical=type(exc).__name__)


def refusal(status: int, kind: str) -> OpenSearchError:
    """Return the error of an answer or of one item, by status and error type.

    The reason is left out: it may quote the document.
    """
    technical = f"{status} {kind}"
    is_passing = (
        status == _TOO_MANY
        or status >= _SERVER_ERROR
        # A full disk blocks writing, a password is wrong, the address is another's, or
        # the alias is gone with its index: never the document's fault, and each ends.
        or status in _ELSEWHERE
    )
    if is_passing:
        return OpenSearchError(technical=technical)
    return OpenSearchError(
        "OpenSearch refused this.", code="opensearch_refused", technical=technical
    )
