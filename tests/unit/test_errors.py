"""The tree of errors: what each says, how each is classified, what none ever shows."""

import json
import pickle
import re

import psycopg
import psycopg.errors
import psycopg_pool
import pytest

from api.cli.main import COMMANDS
from shared import errors
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
    EmbeddingOutageError,
    FileGoneError,
    GoneError,
    IngestionError,
    InternalError,
    InvalidRequestError,
    LanguageModelError,
    LogchordError,
    MalformedEntryError,
    MessageRejectedError,
    ModelOutageError,
    ModelRefusalError,
    ModuleNotEnabledError,
    NotFoundError,
    OpenSearchError,
    SearchExecutionError,
    SearchTimeoutError,
    Severity,
    SourceUnreachableError,
    TaskTimeoutError,
    WorkerLostError,
    classify_error,
)
from shared.postgres.pool import as_logchord_error, translate_database_errors
from shared.redact import redact
from tests.support import typed

C, R = Severity.CRITICAL, Severity.RETRIABLE

# Class, code, status, category, severity, retriable, as the contract has them.
CLASSES = [
    (LogchordError(), "internal_error", 500, "internal", C, False),
    (InternalError(), "internal_error", 500, "internal", C, False),
    (InvalidRequestError(), "validation_failed", 422, "request", C, False),
    (NotFoundError(), "not_found", 404, "access", C, False),
    (GoneError(), "entry_deleted", 410, "request", C, False),
    (ConflictError(), "idempotency_conflict", 409, "request", C, False),
    (AccessError(), "auth_required", 401, "access", C, False),
    (CapacityError(), "rate_limited", 429, "capacity", R, True),
    (DatabaseConnectionError(), "database_unavailable", 503, "database", C, True),
    (DatabaseQueryError(), "database_query_retry", 503, "database", R, True),
    (EmbeddingOutageError(), "embedding_unavailable", 503, "embedding", C, True),
    (EmbeddingGenerationError(), "embedding_unavailable", 503, "embedding", C, True),
    (LanguageModelError(), "llm_unavailable", 0, "network", R, True),
    (ModelOutageError(), "llm_unavailable", 0, "network", R, True),
    (ModelRefusalError(), "llm_unavailable", 0, "network", R, False),
    (SearchExecutionError(), "search_failed", 503, "search", C, False),
    (SearchTimeoutError(), "search_timeout", 504, "timeout", C, False),
    (OpenSearchError(), "opensearch_unavailable", 0, "network", R, True),
    (WorkerLostError(), "worker_lost", 0, "capacity", R, True),
    (TaskTimeoutError(), "task_timeout", 0, "timeout", R, True),
    (MessageRejectedError(), "message_rejected", 0, "request", C, False),
    (IngestionError(), "ingestion_failed", 500, "ingestion", C, False),
    (SourceUnreachableError(), "source_unreachable", 502, "network", R, True),
    (FileGoneError(), "source_unreachable", 502, "network", R, True),
    (MalformedEntryError(), "ingestion_failed", 500, "ingestion", C, False),
    (
        AdapterNotFoundError("x", ["push"]),
        "adapter_not_found",
        422,
        "ingestion",
        C,
        False,
    ),
    (ConfigurationError(), "configuration_invalid", 503, "configuration", C, False),
    (ModuleNotEnabledError(), "module_not_enabled", 422, "configuration", C, False),
]

# Code, status, category, severity, retriable, as the contract has them.
CODE_ROWS = """
run_in_progress 409 ingestion R no
maintenance_in_progress 409 ingestion R no
unsafe_archive 422 request C no
attachment_fetch_failed 0 network C yes
invalid_json 400 request C -
invalid_encoding 400 request C -
bad_cursor 400 request C -
auth_required 401 access C -
auth_invalid 401 access C -
scope_missing 403 access C -
origin_refused 403 access C -
not_found 404 access C -
method_not_allowed 405 request C -
entry_deleted 410 request C -
job_expired 410 request C -
job_cancelled 0 request C -
source_is_pull 409 ingestion C -
idempotency_conflict 409 request C -
idempotency_in_progress 409 request R -
revision_mismatch 412 request C -
body_too_large 413 request C -
unsupported_media_type 415 request C -
validation_failed 422 request C -
nul_character 422 request C -
lone_surrogate 422 request C -
naive_time 422 request C -
time_out_of_range 422 request C -
query_too_long 422 request C -
idempotency_key_invalid 422 request C -
metadata_too_wide 422 request C -
url_not_allowed 422 request C -
unknown_filter 422 request C -
unknown_mode 422 configuration C -
module_not_enabled 422 configuration C -
adapter_not_found 422 ingestion C -
rate_limited 429 capacity R yes
too_many_searches 429 capacity R yes
backlog_full 429 capacity R yes
headers_too_large 431 request C -
internal_error 500 internal C -
database_query_failed 500 database C -
ingestion_failed 500 ingestion C -
source_unreachable 502 network R yes
database_query_retry 503 database R yes
database_unavailable 503 database C yes
schema_missing 503 database C -
embedding_unavailable 503 embedding C yes
read_only 503 database R yes
configuration_invalid 503 configuration C -
search_failed 503 search C -
broker_unavailable 503 capacity R yes
rate_limiter_unavailable 503 capacity R yes
search_timeout 504 timeout C -
branch_timeout 0 timeout R -
opensearch_unavailable 0 network R yes
llm_unavailable 0 network R yes
worker_lost 0 capacity R yes
"""
# Ours beside them.
OUR_ROWS = """
range_not_satisfiable 416 request C -
source_paused 409 ingestion C no
opensearch_refused 0 search C -
message_rejected 0 request C -
task_timeout 0 timeout R yes
"""

PLANTED = "planted-password"
SECRETS = (
    f"postgresql://logchord:{PLANTED}@db:5432/logchord",
    f"postgresql://logchord:{PLANTED}@/x@db/logchord",
    f"redis://:{PLANTED}@broker:6379/0",
    f"host=db password={PLANTED} dbname=logchord",
    f"host=db password='{PLANTED} and more' dbname=logchord",
    f"lk_0123abcd_{PLANTED}",
    f"sk-{PLANTED}",
    f"Authorization: Bearer {PLANTED}",
    f"authorization: Basic {PLANTED}",
    f"X-API-Key: {PLANTED}",
    json.dumps({"api_key": PLANTED, "token": PLANTED}),
    f"https://service/path?api_key={PLANTED}&x=1",
)


def our_classes() -> set[type[LogchordError]]:
    found = [LogchordError]
    for kind in found:
        found += kind.__subclasses__()
    return {kind for kind in found if kind.__module__ == errors.__name__}


def test_the_table_of_classes_is_whole():
    assert {type(row[0]) for row in CLASSES} == our_classes()


def test_the_codes_are_those_of_the_contract():
    rows = {}
    for line in (CODE_ROWS + OUR_ROWS).split("\n"):
        if line:
            code, status, category, severity, retriable = line.split()
            rows[code] = (int(status), category, severity == "R", retriable == "yes")
    assert rows == {
        code: (row.status, row.category.value, row.severity is R, row.retriable)
        for code, row in CODES.items()
    }


@pytest.mark.requirement("S2-50", "S2-58")
@pytest.mark.parametrize(
    ("error", "code", "status", "category", "severity", "retriable"),
    CLASSES,
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_each_class_is_classified_as_the_contract_has_it(
    error, code, status, category, severity, retriable
):
    assert (error.error_code, error.status) == (code, status)
    assert error.category is Category(category)
    assert error.severity is severity
    assert error.retriable is error.is_retriable is retriable
    assert classify_error(error) == (severity, error.message)
    assert error.message


def test_the_categories_of_the_reference_and_ours_are_all_there():
    listed = """database embedding search ingestion configuration timeout
        access capacity network request internal"""
    assert {category.value for category in Category} == set(listed.split())


def test_any_other_exception_is_critical_and_its_text_stays_inside():
    severity, message = classify_error(ValueError(SECRETS[0]))
    assert severity is C
    assert "ValueError" not in message
    assert PLANTED not in message


@pytest.mark.requirement("S2-55")
def test_a_wrong_configuration_is_told_in_the_words_of_the_exception():
    error = ConfigurationError("prot is not a setting.", config_key="prot")
    assert classify_error(error) == (C, "prot is not a setting.")


@pytest.mark.requirement("S2-51")
def test_guidance_names_commands_of_ours():
    unreachable = DatabaseConnectionError()
    assert unreachable.severity is C
    told = re.findall(r"`logchord (\w+)`", unreachable.message)
    assert told == ["up", "migrate", "ingest"]
    for name in told:
        assert typed.ending(name, "--help") == 0
    assert "search_modules.semantic.enabled" in EmbeddingGenerationError().message
    assert "deadline_ms" in SearchTimeoutError().message
    for error, *_ in CLASSES:
        named = re.findall(r"`logchord (\w+)", error.message)
        assert set(named) <= COMMANDS.keys(), error.message


@pytest.mark.requirement("C26", "S2-52", "S2-53", "S2-58")
@pytest.mark.parametrize(
    ("state", "code", "severity", "retriable"),
    [
        ("40001", "database_query_retry", R, True),
        ("40P01", "database_query_retry", R, True),
        ("55P03", "database_query_retry", R, True),
        ("57014", "database_query_retry", R, True),
        ("57P01", "database_query_retry", R, True),
        ("57P02", "database_query_retry", R, True),
        ("57P03", "database_query_retry", R, True),
        ("53000", "database_query_retry", R, True),
        ("53100", "database_query_retry", R, True),
        ("53200", "database_query_retry", R, True),
        ("53300", "database_query_retry", R, True),
        ("08000", "database_query_retry", R, True),
        ("08003", "database_query_retry", R, True),
        ("08006", "database_query_retry", R, True),
        ("58030", "database_query_retry", R, True),
        ("XX000", "database_query_failed", C, False),
        ("22000", "database_query_failed", C, False),
        ("22001", "database_query_failed", C, False),
        ("22007", "database_query_failed", C, False),
        ("22021", "database_query_failed", C, False),
        ("22P02", "database_query_failed", C, False),
        ("42601", "database_query_failed", C, False),
        ("42703", "schema_missing", C, False),
        ("42883", "database_query_failed", C, False),
        ("42P01", "schema_missing", C, False),
        ("23505", "database_query_failed", C, False),
        ("25006", "read_only", R, True),
    ],
)
def test_errors_of_the_database_are_classified_by_sqlstate(
    state, code, severity, retriable
):
    raised = psycopg.errors.lookup(state)("driver text")
    error = as_logchord_error(raised)
    assert isinstance(error, DatabaseQueryError)
    assert (error.error_code, error.severity) == (code, severity)
    assert error.retriable is retriable
    assert "driver text" not in error.message
    assert "driver text" in (error.technical or "")


@pytest.mark.requirement("C26")
@pytest.mark.parametrize(
    ("raised", "kind", "retriable"),
    [
        (psycopg.OperationalError("connection refused"), DatabaseConnectionError, True),
        (psycopg.InterfaceError("is closed"), DatabaseConnectionError, True),
        (psycopg_pool.PoolTimeout("no connection"), DatabaseConnectionError, True),
        (psycopg_pool.PoolClosed("closed"), DatabaseConnectionError, True),
        (psycopg.DataError("cannot contain NUL"), DatabaseQueryError, False),
        (psycopg.ProgrammingError("1 placeholder"), DatabaseQueryError, False),
        (psycopg.NotSupportedError("not supported"), DatabaseQueryError, False),
        (
            UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
            DatabaseQueryError,
            False,
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_no_sqlstate_is_not_a_reason_to_try_again(raised, kind, retriable):
    with pytest.raises(kind) as caught, translate_database_errors():
        raise raised
    assert caught.value.retriable is retriable
    assert caught.value.severity is C
    assert caught.value.__cause__ is raised


@pytest.mark.requirement("C17")
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_in_no_message_and_in_no_technical_text(secret):
    for text in (secret, f"before {secret} after", f"«{secret}»"):
        assert PLANTED not in redact(text)
        for kind in our_classes() - {AdapterNotFoundError}:
            error = kind(text)
            assert PLANTED not in json.dumps(error.body("r", admin=True))
            assert PLANTED not in f"{error!r} {error} {error.__dict__}"
        error = InternalError(technical=text)
        assert PLANTED not in json.dumps(error.body("r", admin=True))


@pytest.mark.parametrize(
    "text",
    [
        "GET http://127.0.0.1:8006/v1/entries?limit=5",
        "https://example.org/path, mail to operator@example.org",
        "basic authentication is required",
        "tokens: 512, token_count=3, max_tokens",
        "lk 12 and sk-7",
    ],
)
def test_what_is_no_secret_is_left_as_it_is(text):
    assert redact(text) == text


@pytest.mark.requirement("O10")
def test_extra_fields_are_kept_short_and_clean():
    secret = SECRETS[0]
    connection = DatabaseConnectionError(technical=secret)
    query = DatabaseQueryError(query=secret + "x" * 600)
    search = SearchExecutionError(query=secret + "x" * 600, search_mode="hybrid")
    embedding = EmbeddingGenerationError(input_text=secret + "x" * 600, model_name="m")
    assert len(query.query or "") == 500
    assert len(search.query or "") == 200
    assert len(embedding.input_text or "") == 100
    for error in (connection, query, search, embedding):
        assert PLANTED not in str(error.__dict__)
    assert (connection.connection_details or "").startswith("postgresql://logchord:***")
    assert (search.search_mode, embedding.model_name) == ("hybrid", "m")
    ingestion = IngestionError(source="ops", entries_affected=3)
    assert (ingestion.source, ingestion.entries_affected) == ("ops", 3)
    adapter = AdapterNotFoundError("olag", ["olog", "push"])
    assert adapter.adapter_name == "olag"
    assert adapter.available_adapters == ["olog", "push"]
    assert adapter.body()["error"]["details"] == {"available": ["olog", "push"]}
    assert ConfigurationError(config_key="port").config_key == "port"
    assert ModuleNotEnabledError(module_name="agent").module_name == "agent"
    timeout = SearchTimeoutError(timeout_seconds=3.0, operation="hybrid")
    assert (timeout.timeout_seconds, timeout.operation) == (3.0, "hybrid")


def test_the_body_has_one_shape_and_keeps_technical_text_for_admins():
    error = DatabaseQueryError(technical="23505: duplicate key")
    body = error.body("req-1")
    assert body == {
        "error": {
            "id": str(error.id),
            "code": "database_query_retry",
            "category": "database",
            "severity": "RETRIABLE",
            "retriable": True,
            "message": error.message,
            "request_id": "req-1",
        }
    }
    told = error.body("req-1", admin=True)["error"]["details"]
    assert told == {"technical": "23505: duplicate key"}
    assert error.technical_details == "23505: duplicate key"
    assert error.details == {}


def test_a_wrong_field_is_named_by_its_path():
    error = InvalidRequestError.field("limit", "too_large", "At most 100.")
    assert error.body()["error"]["details"] == {
        "fields": [{"path": "limit", "code": "too_large", "message": "At most 100."}]
    }
    assert error.error_code == "validation_failed"
    named = InvalidRequestError.field(
        "text", "nul", "No NUL.", top_code="nul_character"
    )
    assert named.error_code == "nul_character"


def test_a_message_about_a_field_says_which():
    error = InvalidRequestError.field("parameters.k", "range", "It takes a number.")
    assert error.message == "parameters.k: It takes a number."
    assert error.details["fields"][0]["message"] == "It takes a number."


@pytest.mark.parametrize("row", CLASSES, ids=lambda row: type(row[0]).__name__)
def test_an_error_crosses_from_a_child_process_whole(row):
    error = row[0]
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(again) is type(error)
    assert again.__dict__ == error.__dict__
    assert str(again) == str(error)
