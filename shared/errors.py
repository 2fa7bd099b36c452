"""Every error that leaves Logchord, as one tree.

LogchordError
├── InvalidRequestError              request; its instance names the exact code
│   ├── NotFoundError                404, absent or out of scope alike
│   ├── GoneError                    410, tombstone or retention passed
│   └── ConflictError                409 and 412
├── AccessError                      401, 403
├── CapacityError                    429, and 503 of broker and limiter
├── DatabaseConnectionError          Postgres cannot be reached
├── DatabaseQueryError               a statement failed, classified by SQLSTATE
├── EmbeddingGenerationError         the model cannot be reached or answers nonsense
│   └── EmbeddingOutageError         the same for every text; it is asked again
├── LanguageModelError               a model said nothing that can be used
│   ├── ModelOutageError             silent, cut, overloaded, nonsense: it may pass
│   └── ModelRefusalError            it or its endpoint said no: it will again
├── SearchExecutionError             every branch of a search failed
├── SearchTimeoutError               the deadline passed with no branch in
├── OpenSearchError                  inside branch outcomes and index work only
├── WorkerLostError                  inside outcomes, jobs and quarantine only
├── TaskTimeoutError                 inside quarantine and due work only
├── IngestionError                   in runs and quarantine; its reason says what
│   ├── SourceUnreachableError       the source does not answer, or not now
│   │   └── FileGoneError            one file of it was there a moment ago
│   ├── MalformedEntryError          one item costs itself
│   └── AdapterNotFoundError
└── ConfigurationError
    └── ModuleNotEnabledError

`retriable` governs the task: may the system try the same work again?
`severity` governs the caller: RETRIABLE = send it again, CRITICAL = read the message.
A class docstring is its default message.
"""

import json
import uuid
from typing import Any, ClassVar, NamedTuple, Self, TypedDict, Unpack

from shared.error_codes import CODES, Category, ErrorCode, Severity
from shared.redact import redact

# Whoever handles errors finds these beside them.
__all__ = ["CODES", "Category", "ErrorCode", "Severity"]

JsonObject = dict[str, Any]


class ErrorFields(TypedDict, total=False):
    """What any error may be told beside its message."""

    code: str | None
    technical: str | None
    retriable: bool | None
    severity: Severity | None
    retry_after_seconds: int | None
    details: JsonObject | None


class LogchordError(Exception):
    """Something went wrong inside Logchord; the log holds the details."""

    code: ClassVar[str] = "internal_error"

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        technical: str | None = None,
        retriable: bool | None = None,
        severity: Severity | None = None,
        retry_after_seconds: int | None = None,
        details: JsonObject | None = None,
    ) -> None:
        self.id = uuid.uuid4()
        self.error_code = code or self.code
        row = CODES[self.error_code]
        self.status = row.status
        self.category = row.category
        self.severity = severity or row.severity
        self.retriable = row.retriable if retriable is None else retriable
        self.message = redact(message or (type(self).__doc__ or "").split("\n")[0])
        self.technical = redact(technical) if technical else None
        self.retry_after_seconds = retry_after_seconds
        self.details = details or {}
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross from a prefork child to its parent whole, whatever __init__ takes."""
        return _restored, (type(self), self.args, self.__dict__)

    @property
    def is_retriable(self) -> bool:
        """The name that orchestrators of the reference use."""
        return self.retriable

    @property
    def technical_details(self) -> str | None:
        """The name that orchestrators of the reference use."""
        return self.technical

    def body(self, request_id: str | None = None, *, admin: bool = False) -> JsonObject:
        """Return the one JSON shape of an error; technical text only for admins."""
        details = dict(self.details)
        if admin and self.technical:
            details["technical"] = self.technical
        error: JsonObject = {
            "id": str(self.id),
            "code": self.error_code,
            "category": self.category.value,
            "severity": self.severity.value,
            "retriable": self.retriable,
            "message": self.message,
            "request_id": request_id,
        }
        if details:
            error["details"] = details
        return {"error": error}

    def as_json(self, *, admin: bool = False) -> str:
        """Return the error alone, for the row that keeps why something failed."""
        return json.dumps(self.body(admin=admin)["error"])


def _restored(
    kind: type[LogchordError], args: tuple[Any, ...], state: JsonObject
) -> LogchordError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InternalError(LogchordError):
    """An unexpected error occurred; give its id to whoever runs Logchord."""


class InvalidRequestError(LogchordError):
    """The request cannot be understood as it stands."""

    code = "validation_failed"

    @classmethod
    def field(
        cls, path: str, code: str, message: str, *, top_code: str | None = None
    ) -> Self:
        """Name the one field that is wrong, and why."""
        return cls(
            # Many callers are shown the message alone.
            f"{path}: {message}" if message.startswith("It ") else message,
            code=top_code,
            details={"fields": [{"path": path, "code": code, "message": message}]},
        )


class NotFoundError(InvalidRequestError):
    """There is nothing under this address that you may see."""

    code = "not_found"


class GoneError(InvalidRequestError):
    """This entry was deleted."""

    code = "entry_deleted"


class ConflictError(InvalidRequestError):
    """The same Idempotency-Key came with another body; use a new key."""

    code = "idempotency_conflict"


class AccessError(LogchordError):
    """This needs a key; create one with `logchord keys create`."""

    code = "auth_required"


class CapacityError(LogchordError):
    """Too many requests just now; try again shortly."""

    code = "rate_limited"


class DatabaseConnectionError(LogchordError):
    """Postgres is not reachable. Start it with `logchord up` or set `DATABASE_URL`, then run `logchord migrate` and `logchord ingest`."""  # noqa: E501 - the docstring is the message, and one sentence of it

    code = "database_unavailable"

    def __init__(
        self, message: str | None = None, **fields: Unpack[ErrorFields]
    ) -> None:
        super().__init__(message, **fields)
        self.connection_details = self.technical


class DatabaseQueryError(LogchordError):
    """The query failed and is being tried again."""

    code = "database_query_retry"

    def __init__(
        self,
        message: str | None = None,
        *,
        query: str | None = None,
        out_of_time: bool = False,
        **fields: Unpack[ErrorFields],
    ) -> None:
        super().__init__(message, **fields)
        # Ended by its own time limit: worth another try, and none at once.
        self.out_of_time = out_of_time
        self.query = redact(query)[:500] if query else None


class EmbeddingGenerationError(LogchordError):
    """The embedding model cannot be reached; keyword search goes on, and `search_modules.semantic.enabled: false` switches semantic search off."""  # noqa: E501 - the docstring is the message, and one sentence of it

    code = "embedding_unavailable"

    def __init__(
        self,
        message: str | None = None,
        *,
        model_name: str | None = None,
        input_text: str | None = None,
        **fields: Unpack[ErrorFields],
    ) -> None:
        super().__init__(message, **fields)
        self.model_name = model_name
        self.input_text = redact(input_text)[:100] if input_text else None


class EmbeddingOutageError(EmbeddingGenerationError):
    """The embedding model does not answer just now; it is asked again."""


class LanguageModelError(LogchordError):
    """The language model gave no answer; what was found without it stands."""

    code = "llm_unavailable"

    def __init__(
        self,
        message: str | None = None,
        *,
        reason: str = "error",
        **fields: Unpack[ErrorFields],
    ) -> None:
        fields.setdefault("details", {"reason": reason})
        super().__init__(message, **fields)
        self.reason = reason


class ModelOutageError(LanguageModelError):
    """The language model does not answer just now; what was found without it stands."""


class ModelRefusalError(LanguageModelError):
    """The language model refuses to answer; what was found without it stands."""

    def __init__(
        self,
        message: str | None = None,
        *,
        reason: str = "refused",
        technical: str | None = None,
    ) -> None:
        super().__init__(message, reason=reason, technical=technical, retriable=False)


class SearchExecutionError(LogchordError):
    """No part of the search could be carried out."""

    code = "search_failed"

    def __init__(
        self,
        message: str | None = None,
        *,
        query: str | None = None,
        search_mode: str | None = None,
        **fields: Unpack[ErrorFields],
    ) -> None:
        super().__init__(message, **fields)
        self.query = redact(query)[:200] if query else None
        self.search_mode = search_mode


class SearchTimeoutError(LogchordError):
    """Nothing came back before the deadline. Give a longer `deadline_ms`, or submit a job to `/v1/search/jobs`."""  # noqa: E501 - the docstring is the message, and one sentence of it

    code = "search_timeout"

    def __init__(
        self,
        message: str | None = None,
        *,
        timeout_seconds: float | None = None,
        operation: str | None = None,
        **fields: Unpack[ErrorFields],
    ) -> None:
        super().__init__(message, **fields)
        self.timeout_seconds = timeout_seconds
        self.operation = operation


class OpenSearchError(LogchordError):
    """OpenSearch does not answer; keyword search goes on in Postgres."""

    code = "opensearch_unavailable"


class WorkerLostError(LogchordError):
    """The worker that did this work ended before it was done."""

    code = "worker_lost"


class TaskTimeoutError(LogchordError):
    """The work took longer than a task may."""

    code = "task_timeout"


class MessageRejectedError(LogchordError):
    """A message on a queue could not be understood and was dropped."""

    code = "message_rejected"


class IngestionError(LogchordError):
    """The entry could not be taken in."""

    code = "ingestion_failed"

    def __init__(
        self,
        message: str | None = None,
        *,
        source: str | None = None,
        entries_affected: int | None = None,
        reason: str | None = None,
        **fields: Unpack[ErrorFields],
    ) -> None:
        fields.setdefault("details", {"reason": reason} if reason else None)
        super().__init__(message, **fields)
        self.source = source
        self.entries_affected = entries_affected
        self.reason = reason


class SourceUnreachableError(IngestionError):
    """The source does not answer just now; it is asked again."""

    code = "source_unreachable"


class FileGoneError(SourceUnreachableError):
    """A file of the source has gone since it was listed; the others are read."""


class MalformedEntryError(IngestionError):
    """The source sent an entry that cannot be read; the others are taken in."""


class AdapterNotFoundError(IngestionError):
    """No adapter of this name is installed."""

    code = "adapter_not_found"

    def __init__(self, adapter_name: str, available_adapters: list[str]) -> None:
        there = ", ".join(available_adapters)
        super().__init__(f"No adapter is called {adapter_name!r}; there are {there}.")
        self.adapter_name = adapter_name
        self.available_adapters = available_adapters
        self.details = {"available": available_adapters}


class ConfigurationError(LogchordError):
    """The configuration cannot be used as it stands; run `logchord config`."""

    code = "configuration_invalid"

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        config_key: str | None = None,
        details: JsonObject | None = None,
    ) -> None:
        super().__init__(message, code=code, details=details)
        self.config_key = config_key


class ModuleNotEnabledError(ConfigurationError):
    """This feature is off or not built in."""

    code = "module_not_enabled"

    def __init__(
        self,
        message: str | None = None,
        *,
        module_name: str | None = None,
        available: list[str] | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, code=code, details={"available": available or []})
        self.module_name = module_name


class ErrorClassification(NamedTuple):
    """What an orchestrator needs to know of a failure."""

    severity: Severity
    user_message: str


def classify_error(exc: BaseException) -> ErrorClassification:
    """Return severity and user message of any exception; never its driver text."""
    error = exc if isinstance(exc, LogchordError) else InternalError()
    return ErrorClassification(error.severity, error.message)
