"""The contract's table of error codes: status, category, severity, retry."""

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """Whether the caller may send it again; tasks go by `retriable` of the code."""

    CRITICAL = "CRITICAL"
    RETRIABLE = "RETRIABLE"


class Category(StrEnum):
    """Which part of the system the error speaks of."""

    DATABASE = "database"
    EMBEDDING = "embedding"
    SEARCH = "search"
    INGESTION = "ingestion"
    CONFIGURATION = "configuration"
    TIMEOUT = "timeout"
    ACCESS = "access"
    CAPACITY = "capacity"
    NETWORK = "network"
    REQUEST = "request"
    INTERNAL = "internal"


class ErrorCode(NamedTuple):
    """One row of the contract's table of codes."""

    status: int
    category: Category
    severity: Severity
    retriable: bool


_R, _C = Severity.RETRIABLE, Severity.CRITICAL

# Status 0 stands inside outcomes, runs and quarantine bodies only.
CODES: dict[str, ErrorCode] = {
    **{
        code: ErrorCode(400, Category.REQUEST, _C, retriable=False)
        for code in ("invalid_json", "invalid_encoding", "bad_cursor")
    },
    "auth_required": ErrorCode(401, Category.ACCESS, _C, retriable=False),
    "auth_invalid": ErrorCode(401, Category.ACCESS, _C, retriable=False),
    "scope_missing": ErrorCode(403, Category.ACCESS, _C, retriable=False),
    "origin_refused": ErrorCode(403, Category.ACCESS, _C, retriable=False),
    "not_found": ErrorCode(404, Category.ACCESS, _C, retriable=False),
    "method_not_allowed": ErrorCode(405, Category.REQUEST, _C, retriable=False),
    "entry_deleted": ErrorCode(410, Category.REQUEST, _C, retriable=False),
    "job_expired": ErrorCode(410, Category.REQUEST, _C, retriable=False),
    "source_paused": ErrorCode(409, Category.INGESTION, _C, retriable=False),
    "run_in_progress": ErrorCode(409, Category.INGESTION, _R, retriable=False),
    "maintenance_in_progress": ErrorCode(409, Category.INGESTION, _R, retriable=False),
    "source_is_pull": ErrorCode(409, Category.INGESTION, _C, retriable=False),
    "idempotency_conflict": ErrorCode(409, Category.REQUEST, _C, retriable=False),
    "idempotency_in_progress": ErrorCode(409, Category.REQUEST, _R, retriable=False),
    "revision_mismatch": ErrorCode(412, Category.REQUEST, _C, retriable=False),
    "body_too_large": ErrorCode(413, Category.REQUEST, _C, retriable=False),
    "unsupported_media_type": ErrorCode(415, Category.REQUEST, _C, retriable=False),
    "range_not_satisfiable": ErrorCode(416, Category.REQUEST, _C, retriable=False),
    **{
        code: ErrorCode(422, Category.REQUEST, _C, retriable=False)
        for code in (
            *("validation_failed", "nul_character", "lone_surrogate", "naive_time"),
            *("time_out_of_range", "query_too_long", "idempotency_key_invalid"),
            *("metadata_too_wide", "url_not_allowed", "unsafe_archive"),
            "unknown_filter",
        )
    },
    "unknown_mode": ErrorCode(422, Category.CONFIGURATION, _C, retriable=False),
    "module_not_enabled": ErrorCode(422, Category.CONFIGURATION, _C, retriable=False),
    "adapter_not_found": ErrorCode(422, Category.INGESTION, _C, retriable=False),
    "rate_limited": ErrorCode(429, Category.CAPACITY, _R, retriable=True),
    "too_many_searches": ErrorCode(429, Category.CAPACITY, _R, retriable=True),
    "backlog_full": ErrorCode(429, Category.CAPACITY, _R, retriable=True),
    "headers_too_large": ErrorCode(431, Category.REQUEST, _C, retriable=False),
    "internal_error": ErrorCode(500, Category.INTERNAL, _C, retriable=False),
    "database_query_failed": ErrorCode(500, Category.DATABASE, _C, retriable=False),
    "ingestion_failed": ErrorCode(500, Category.INGESTION, _C, retriable=False),
    "source_unreachable": ErrorCode(502, Category.NETWORK, _R, retriable=True),
    "database_query_retry": ErrorCode(503, Category.DATABASE, _R, retriable=True),
    "database_unavailable": ErrorCode(503, Category.DATABASE, _C, retriable=True),
    "schema_missing": ErrorCode(503, Category.DATABASE, _C, retriable=False),
    "embedding_unavailable": ErrorCode(503, Category.EMBEDDING, _C, retriable=True),
    "read_only": ErrorCode(503, Category.DATABASE, _R, retriable=True),
    "configuration_invalid": ErrorCode(
        503, Category.CONFIGURATION, _C, retriable=False
    ),
    "search_failed": ErrorCode(503, Category.SEARCH, _C, retriable=False),
    "broker_unavailable": ErrorCode(503, Category.CAPACITY, _R, retriable=True),
    "rate_limiter_unavailable": ErrorCode(503, Category.CAPACITY, _R, retriable=True),
    "search_timeout": ErrorCode(504, Category.TIMEOUT, _C, retriable=False),
    "branch_timeout": ErrorCode(0, Category.TIMEOUT, _R, retriable=False),
    "opensearch_unavailable": ErrorCode(0, Category.NETWORK, _R, retriable=True),
    "llm_unavailable": ErrorCode(0, Category.NETWORK, _R, retriable=True),
    "opensearch_refused": ErrorCode(0, Category.SEARCH, _C, retriable=False),
    "worker_lost": ErrorCode(0, Category.CAPACITY, _R, retriable=True),
    "job_cancelled": ErrorCode(0, Category.REQUEST, _C, retriable=False),
    "task_timeout": ErrorCode(0, Category.TIMEOUT, _R, retriable=True),
    "attachment_fetch_failed": ErrorCode(0, Category.NETWORK, _C, retriable=True),
    "message_rejected": ErrorCode(0, Category.REQUEST, _C, retriable=False),
}
