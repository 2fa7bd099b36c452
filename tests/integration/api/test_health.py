"""Health, status, lag and metrics; a backend that hangs makes no probe hang."""

import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import psutil
import psycopg
import pytest

from api.operations.health_checks import SharedLogin
from shared.errors import DatabaseQueryError
from tests.support.fixtures.system import ROOT, System
from tests.support.written import push_found


def test_alive_touches_nothing(api: System):
    assert httpx2.get(f"{api.url}/health/live").json() == {"status": "alive"}


@pytest.mark.requirement("S1-57")
def test_health_has_exactly_the_shape_of_the_reference(running: System, client):
    push_found(client, [{"text": "a vacuum pump"}])

    answer = httpx2.get(f"{running.url}/health")

    assert answer.status_code == 200
    assert answer.json() == {
        "status": "healthy",
        "vector_db": {
            "collections": [{"name": "knowledge_base_bge_small_en_v1_5_int8"}]
        },
        "keyword_engine": "connected",
    }


@pytest.mark.requirement("F8")
def test_health_is_degraded_while_a_stage_has_spent_its_budget(api: System):
    def health() -> str:
        status: str = httpx2.get(f"{api.url}/health").json()["status"]
        return status

    before = health()
    with psycopg.connect(api.database) as conn:
        conn.execute(
            "INSERT INTO stage_pause (stage, code) VALUES"
            " ('x', 'quarantine_budget_spent'), ('y', 'opensearch_unavailable')"
        )
        conn.commit()
        spent = health()
        conn.execute("DELETE FROM stage_pause WHERE stage = 'x'")
        conn.commit()
        resting = health()
        conn.execute("DELETE FROM stage_pause WHERE stage = 'y'")

    assert (before, spent, resting) == ("healthy", "degraded", "healthy")


def test_ready_names_every_component(running: System):
    answer = httpx2.get(f"{running.url}/health/ready")

    assert answer.status_code == 200
    assert answer.json() == {
        "ready": True,
        "checks": {
            "postgres": "ok",
            "broker": "ok",
            "opensearch": "ok",
            "embedding": "ok",
            "migrations": "ok",
        },
    }


def test_a_search_engine_that_is_switched_off_is_said_but_nothing_to_mend(api: System):
    health = httpx2.get(f"{api.url}/health").json()

    assert (health["status"], health["keyword_engine"]) == ("healthy", "disconnected")


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        yield listener.getsockname()[1]


@pytest.mark.requirement("S1-57", "S1-114", "S1-115")
def test_probes_of_backends_that_hang_end_in_time_and_do_not_pile_up(make_system, deaf):
    system = make_system(
        opensearch=f"http://127.0.0.1:{deaf}",
        database=f"postgresql://u:p@127.0.0.1:{deaf}/x",
        BROKER_URL=f"redis://127.0.0.1:{deaf}/0",
    )
    system.start("api")
    system.wait_ready()
    process = psutil.Process(system.processes["api"].pid)

    def ask(_: int) -> float:
        began = time.monotonic()
        answer = httpx2.get(f"{system.url}/health/ready", timeout=10)
        assert answer.status_code == 503
        assert answer.json()["checks"]["postgres"] == "down"
        return time.monotonic() - began

    first = ask(0)
    threads_before = process.num_threads()
    with ThreadPoolExecutor(10) as callers:
        rest = list(callers.map(ask, range(40)))

    assert first < 1.5
    assert sorted(rest)[len(rest) // 2] < 1.5
    assert process.num_threads() - threads_before < 10
    began = time.monotonic()
    assert httpx2.get(f"{system.url}/health/live").status_code == 200
    assert time.monotonic() - began < 1
    health = httpx2.get(f"{system.url}/health", timeout=10)
    assert (health.status_code, health.json()["status"]) == (503, "unhealthy")
    assert health.json()["keyword_engine"] == "disconnected"
    system.stop("api")


def test_who_asks_postgres_at_a_time_shares_a_login_that_ends_with_the_last(database):
    login = SharedLogin(database)

    with login.lend() as first:
        with login.lend() as second:
            assert second is first
        assert first.execute("SELECT 1").fetchone() == (1,)
        # Broken meanwhile, it is no use to whoever asks next.
        with psycopg.connect(database) as conn:
            conn.execute(
                "SELECT pg_terminate_backend(%s, 5000)", (first.info.backend_pid,)
            )
        with pytest.raises(DatabaseQueryError), login.lend() as again:
            again.execute("SELECT 1")
        with login.lend() as third:
            assert third.execute("SELECT 1").fetchone() == (1,)

    assert third.closed


def test_status_lists_workers_loops_and_components(running: System, client, admin):
    status = client.get("/v1/status").json()

    kinds = {one["kind"] for one in status["workers"] if not one["stale"]}
    assert {"search", "enhance", "embed", "upkeep"} <= kinds
    one = status["workers"][0]
    assert set(one) == {*("kind", "queues", "pid", "host", "version", "since", "stale")}
    assert {loop["loop"] for loop in status["upkeep"]} >= {"sweeper", "finisher"}
    assert all(part["ok"] for part in status["components"].values())
    assert "technical" not in status["components"]["postgres"]
    assert "technical" in admin.get("/v1/status").json()["components"]["postgres"]
    # What is counted over the facility is told to nobody else, and not as nothing.
    assert status["not_embedded"] is None
    assert admin.get("/v1/status").json()["not_embedded"] is not None


def test_lag_counts_what_is_due_from_postgres(api: System, caller):
    before = {
        one["stage"]: one["due"] for one in caller.get("/v1/lag").json()["stages"]
    }

    caller.post("/v1/entries", json={"text": "x"})

    lag = caller.get("/v1/lag").json()
    after = {one["stage"]: one["due"] for one in lag["stages"]}
    assert after["metadata"] == before["metadata"] + 1
    assert set(lag["stages"][0]) == {
        *("stage", "due", "bulk", "overdue", "oldest_seconds", "leased"),
        *("quarantined", "watermark", "per_minute", "paused"),
    }
    assert {one["queue"] for one in lag["workers"]} >= {"index", "enhance.embed"}
    assert set(lag["index"]) == {
        *("entries", "indexed", "watermark", "drift", "compared_at")
    }
    assert any("No upkeep is alive" in problem for problem in lag["problems"])


def test_metrics_count_requests_by_route_and_due_work_by_stage(api: System, caller):
    caller.post("/v1/entries", json={"text": "x"})
    caller.get("/v1/entries/00000000-0000-0000-0000-000000000000")

    text = httpx2.get(f"{api.url}/metrics").text

    assert 'logchord_http_requests_total{route="/v1/entries",status="201"}' in text
    route = 'route="/v1/entries/{entry_id}",status="404"'
    assert f"logchord_http_requests_total{{{route}}}" in text
    assert 'logchord_due_work{class="live",stage="metadata"}' in text
    assert 'logchord_ingested_total{source="api",status="created"}' in text
    assert "00000000-0000" not in text


def test_every_alert_of_prometheus_asks_for_figures_that_are_shown(api: System):
    alerts = (ROOT / "compose" / "prometheus-alerts.yaml").read_text("utf-8")
    text = httpx2.get(f"{api.url}/metrics").text

    shown = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    asked = set(re.findall(r"\blogchord_[a-z_]+", alerts))
    assert len(asked) >= 9
    assert asked - shown == set()
    assert 'logchord_component_up{component="postgres"} 1.0' in text
    assert re.search(r'logchord_workers_alive\{queue="search"\} \d', text)


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_metrics_behind_a_proxy_are_for_admins(api: System, tenant, name):
    address = f"{api.url}/metrics"

    assert httpx2.get(address, headers={name: "10.0.0.1"}).status_code == 401
    for scopes, status in ((("read",), 403), (("admin",), 200)):
        token = api.key(tenant=tenant, scopes=scopes)
        headers = {name: "10.0.0.1", "Authorization": f"Bearer {token}"}
        assert httpx2.get(address, headers=headers).status_code == status


@pytest.mark.parametrize("path", ["/docs", "/openapi.json"])
def test_the_documentation_shows_without_the_internet(api: System, path: str):
    with httpx2.Client(base_url=api.url, follow_redirects=True) as browser:
        page = browser.get(path)
        assert page.status_code == 200
        if path == "/openapi.json":
            assert page.json()["openapi"].startswith("3.1")
            return
        addresses = re.findall(r'(?:href|src)="([^"]+)"', page.text)
        assert addresses
        for address in addresses:
            assert address.startswith("/docs/assets/")
            assert browser.get(address).status_code == 200
        assert "http" not in page.text.replace("http-equiv", "")


@pytest.mark.parametrize(
    "path", ["/health", "/health/live", "/health/ready", "/metrics", "/openapi.json"]
)
def test_whatever_can_be_read_can_be_asked_for_its_headers(api: System, path: str):
    whole, head = (httpx2.request(m, f"{api.url}{path}") for m in ("GET", "HEAD"))
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert httpx2.head(f"{api.url}/v1/entries").status_code == 401
    assert httpx2.head(f"{api.url}/v1/search/query").status_code == 405
