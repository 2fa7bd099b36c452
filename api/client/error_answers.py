"""Answers that are errors, as the very exceptions that the server raised."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from shared.errors import (
    CODES,
    AccessError,
    AdapterNotFoundError,
    CapacityError,
    Category,
    ConfigurationError,
    ConflictError,
    DatabaseConnectionError,
    DatabaseQueryError,
    EmbeddingGenerationError,
    ErrorCode,
    GoneError,
    IngestionError,
    InternalError,
    InvalidRequestError,
    LogchordError,
    ModuleNotEnabledError,
    NotFoundError,
    SearchExecutionError,
    SearchTimeoutError,
    Severity,
    SourceUnreachableError,
)

_BY_CODE: Mapping[str, type[LogchordError]] = {
    "not_found": NotFoundError,
    "entry_deleted": GoneError,
    "job_expired": GoneError,
    "idempotency_conflict": ConflictError,
    "idempotency_in_progress": ConflictError,
    "revision_mismatch": ConflictError,
    "unknown_mode": ModuleNotEnabledError,
    "module_not_enabled": ModuleNotEnabledError,
    "adapter_not_found": AdapterNotFoundError,
    "source_unreachable": SourceUnreachableError,
    "database_unavailable": DatabaseConnectionError,
}
_BY_CATEGORY: Mapping[str, type[LogchordError]] = {
    Category.REQUEST: InvalidRequestError,
    Category.ACCESS: AccessError,
    Category.CAPACITY: CapacityError,
    Category.DATABASE: DatabaseQueryError,
    Category.EMBEDDING: EmbeddingGenerationError,
    Category.SEARCH: SearchExecutionError,
    Category.TIMEOUT: SearchTimeoutError,
    Category.INGESTION: IngestionError,
    Category.CONFIGURATION: ConfigurationError,
    Category.INTERNAL: InternalError,
}
_FOR_A_WHILE = frozenset({429, 502, 503, 504})


def check_place(base_url: str, api_key: str | None) -> None:
    """Refuse an address or a key that no request can be made of."""
    if not base_url.lower().startswith(("http://", "https://")):
        message = f"{base_url!r} is no address: write it as http://HOST:PORT."
        raise ConfigurationError(message)
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise ConfigurationError(
            "The key holds signs that no key has, such as the end of a line."
        )


class UnreachableError(LogchordError):
    """The API does not answer: check its address, and whether it is running."""

    code = "source_unreachable"


def read_error(status: int, body: bytes, retry_after: str | None) -> LogchordError:
    """Return the exception of an answer, also of one that Logchord did not write."""
    try:
        rebuilt = rebuild_error(json.loads(body)["error"], status)
    except (ValueError, KeyError, TypeError):
        message = f"The answer is {status}, but not as Logchord writes it."
        rebuilt = UnreachableError(message, retriable=status in _FOR_A_WHILE)
        if status not in _FOR_A_WHILE:
            rebuilt.severity = Severity.CRITICAL
    if retry_after is not None and retry_after.isdecimal():
        rebuilt.retry_after_seconds = int(retry_after)
    return rebuilt


def rebuild_error(told: Mapping[str, Any], status: int = 0) -> LogchordError:
    """Return the exception that a body tells of; a code of a newer release too."""
    code, category = told["code"], told["category"]
    known = CODES.get(code)
    kind = _BY_CODE.get(code) or _BY_CATEGORY.get(category, LogchordError)
    error = kind.__new__(kind, told["message"])
    row = known or ErrorCode(
        status,
        Category(category) if category in set(Category) else Category.INTERNAL,
        Severity(told["severity"]),
        told["retriable"],
    )
    details = dict(told.get("details") or {})
    error.__dict__.update(
        id=uuid.UUID(told["id"]),
        error_code=code,
        status=status or row.status,
        category=row.category,
        severity=Severity(told["severity"]),
        retriable=told["retriable"],
        message=told["message"],
        technical=details.pop("technical", None),
        details=details,
        retry_after_seconds=None,
        request_id=told.get("request_id"),
    )
    return error
