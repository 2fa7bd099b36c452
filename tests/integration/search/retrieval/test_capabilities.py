"""What an installation says of itself, against what it does."""

import pytest

from shared.errors import ConfigurationError
from shared.search.retrieval.search_parameters import ParameterDescriptor

QUERY = "/v1/search/query"

# Every row of the contract's table that is a setting, with its default.
LIMITS = {
    "max_query_chars": 1000,
    "max_query_chars_hard": 10_000,
    "max_search_body_bytes": 65_536,
    "max_header_bytes": 16_384,
    "max_entry_bytes": 1_000_000,
    "max_batch_entries": 1000,
    "max_batch_bytes": 16_777_216,
    "max_attachment_bytes": 52_428_800,
    "max_attachments_per_entry": 50,
    "max_unpacked_bytes": 104_857_600,
    "max_archive_members": 1000,
    "max_archive_ratio": 100,
    "max_metadata_keys": 64,
    "max_metadata_depth": 8,
    "max_external_id_chars": 255,
    "max_title_chars": 1000,
    "max_tags": 64,
    "default_limit": 10,
    "max_limit": 100,
    "max_page_size": 100,
    "max_window": 500,
    "rerank_window": 50,
    "facet_max_matches": 100_000,
    "max_filter_values": 100,
    "max_query_terms": 64,
    "fanout_cap": 24,
    "max_concurrent_searches": 50,
    "search_queue_limit": 100,
    "search_queue_wait_ms": 1000,
    "job_retention_hours": 24,
    "event_retention_minutes": 60,
    "cursor_ttl_minutes": 60,
    "idempotency_ttl_hours": 24,
    "max_backlog_entries": 1_000_000,
    "synthesis.quota_per_day": 200,
    "synthesis.quota_per_minute": 10,
    "rate_search_per_minute": 600,
    "rate_ingest_per_minute": 600,
    "rate_default_per_minute": 600,
    "rate_login_per_minute": 10,
}


def test_every_bound_that_is_told_is_the_bound_that_holds(caller):
    told = caller.get("/v1/capabilities").json()
    bounds = [
        (mode["name"], one)
        for mode in told["modes"]
        if mode["enabled"]
        for one in [*told["shared_parameters"], *mode["parameters"]]
        if one["type"] in {"int", "float"}
    ]
    assert len(bounds) >= 6
    for mode, one in bounds:
        step = one["step"]
        for value, status in (
            (one["min"] - step, 422),
            (one["max"] + step, 422),
            (one["default"], 200),
        ):
            # A blank question is planned, and touches no backend.
            body = {"query": "", "mode": mode, one["name"]: value}
            answer = caller.post(QUERY, json=body)
            assert answer.status_code == status, (mode, one["name"], value)


def test_every_mode_and_filter_that_is_told_is_taken(caller):
    told = caller.get("/v1/capabilities").json()
    names = [mode["name"] for mode in told["modes"] if mode["enabled"]]
    assert told["default_mode"] == names[0]
    assert names == ["auto", "keyword", "semantic", "hybrid", "agentic", "rag"]
    for mode in names:
        answer = caller.post(QUERY, json={"query": "", "mode": mode})
        assert answer.status_code == 200, mode
    refused = caller.post(QUERY, json={"query": "", "filters": {"colour": "red"}})
    assert told["filters"] == sorted(refused.json()["error"]["details"]["allowed"])


def test_the_limits_that_are_told_are_those_in_force(caller):
    limits = caller.get("/v1/capabilities").json()["limits"]
    too_long = {"query": "x" * (limits["max_query_chars_hard"] + 1)}
    assert caller.post(QUERY, json=too_long).status_code == 422
    assert limits.items() >= LIMITS.items()


@pytest.mark.requirement("O08")
def test_all_that_is_browsed_has_a_route_and_no_other_service_s_name(caller):
    entry_id = caller.post("/v1/entries", json={"text": "beam"}).json()["entry_id"]
    assert caller.post(QUERY, json={"query": ""}).status_code == 200
    routes = ("capabilities", "filter-options/author", "entries", "status")
    for path in (*(f"/v1/{one}" for one in routes), f"/v1/entries/{entry_id}"):
        assert caller.get(path).status_code == 200, path
    assert caller.get("/health").status_code == 200
    for name in (*routes, "search", f"entries/{entry_id}"):
        for ask in (caller.get, caller.post):
            assert ask(f"/api/{name}").status_code == 404, name


def test_modes_say_what_they_are_good_for(caller):
    told = caller.get("/v1/capabilities").json()
    described = {mode["name"]: mode["description"] for mode in told["modes"]}
    assert "Exact words, phrases and names" in described["keyword"]
    assert "in other words" in described["semantic"]
    modules = {one["name"]: one for one in told["modules"]}
    assert modules["os_bm25"]["fallback"] == "pg_fts"
    assert modules["semantic"]["needs_embedder"] is True


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "colour"},
        {"type": "select"},
        {"type": "dynamic_select"},
        {"type": "text", "options_endpoint": "/v1/x"},
        {"type": "int", "min": 2, "max": 1},
    ],
    ids=["type", "no options", "no endpoint", "endpoint", "bounds"],
)
def test_a_control_that_nobody_could_draw_is_refused(wrong):
    with pytest.raises(ConfigurationError):
        ParameterDescriptor("x", "X", **wrong)
