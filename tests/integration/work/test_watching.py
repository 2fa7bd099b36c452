"""Every surface tells the same numbers, from Postgres, whatever else is away."""

import json
import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import httpx2
import psycopg
import pytest
from psycopg import Connection

from local.server import free_port
from shared.access import keys
from shared.settings.settings import Settings
from shared.stages import entry_stages
from shared.work import lag, upkeep_loops, work_overview
from tests.support.fixtures.system import TRUSTED, System
from tests.support.saving import save_many
from tests.support.typed import typed
from tests.support.waiting import until

STAGE = "metadata"
NUMBERS = ("due", "bulk", "overdue", "leased", "quarantined", "per_minute")
GAUGES = {
    "overdue": "logchord_due_overdue",
    "leased": "logchord_due_leased",
    "quarantined": "logchord_quarantined",
    "per_minute": "logchord_stage_ended_per_minute",
    "paused": "logchord_stage_paused",
}


def make_due(conn: Connection, tenant: str, count: int) -> list[UUID]:
    return save_many(conn, count, stages=[STAGE], tenant=tenant)


def make_busy(conn: Connection, tenant: str = "default") -> None:
    """Make six rows, of every kind that a stage can have, and quarantine one entry."""
    ids = make_due(conn, tenant, 6)
    late, held = "now() - interval '1 min'", "now() + interval '1 h'"
    for setting, of in (
        ("class = 1", ids[:2]),
        # It must not fall overdue while a test runs; much later it were put off.
        ("due_at = now() + interval '5 min'", ids),
        (f"due_at = {late}", ids[1:4]),
        (f"claim = uuidv7(), leased_until = {held}", ids[3:4]),
    ):
        statement = f"UPDATE work SET {setting} WHERE entry_id = ANY(%s)"
        conn.execute(statement.encode(), (of,))
    conn.execute(
        "INSERT INTO quarantine (id, tenant, entry_id, source, external_id, stage,"
        " error) VALUES (uuidv7(), %s, %s, 'api', 'x', %s, '{\"code\": \"c\"}')",
        (tenant, ids[5], STAGE),
    )


@pytest.fixture
def alone(make_system: Callable[..., System]) -> System:
    """The API with neither Redis nor OpenSearch, and work in every state."""
    system = make_system(
        opensearch=f"http://127.0.0.1:{free_port()}",
        BROKER_URL=f"redis://127.0.0.1:{free_port()}/0",
    )
    with psycopg.connect(system.database) as conn:
        make_busy(conn)
        conn.execute(
            "INSERT INTO stage_pause (stage, code, error) VALUES"
            " ('index', 'quarantine_budget_spent', '{\"code\": \"internal_error\"}')"
        )
        conn.execute("INSERT INTO stage_outcome (stage, done) VALUES (%s, 42)", [STAGE])
        conn.execute(
            "INSERT INTO maintenance (id, kind, state, ended_at, result) VALUES"
            " (uuidv7(), 'reconcile_index', 'done', now() - interval '1 min',"
            '  \'{"differing": 4, "removed": 3}\'),'
            " (uuidv7(), 'reconcile_index', 'done', now() - interval '1 h',"
            '  \'{"differing": 9, "removed": 9}\')'
        )
    system.bring_up("api")
    return system


def typed_in(system: System, *words: str) -> str:
    """Return what a command prints that finds something wrong."""
    ended = typed(*words, environ=system.environment, folder=system.logs)
    assert ended.returncode == 1, ended.stderr
    return ended.stdout


def status_of(system: System) -> dict[str, Any]:
    return json.loads(typed_in(system, "status", "--json"))


def metrics_of(system: System) -> dict[str, dict[str, float]]:
    """Each stage's numbers by the names that /v1/lag gives them."""
    text = httpx2.get(f"{system.url}/metrics", verify=TRUSTED).text
    found: dict[str, dict[str, float]] = {}
    for name, gauge in GAUGES.items():
        for stage, value in re.findall(rf'{gauge}{{stage="(.*?)"}} (.+)', text):
            found.setdefault(stage, {})[name] = float(value)
    pattern = r'logchord_due_work{class="(\w+)",stage="(.*?)"} (.+)'
    for kind, stage, value in re.findall(pattern, text):
        found[stage]["due" if kind == "live" else kind] = float(value)
    return found


def numbers(stages: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    return {
        one["stage"]: {
            **{name: float(one[name]) for name in NUMBERS},
            "paused": float(one["paused"] is not None),
        }
        for one in stages
    }


def test_lag_metrics_and_status_tell_the_same_with_redis_and_opensearch_down(alone):
    with alone.client() as client:
        told = client.get("/v1/lag").json()
        status = client.get("/v1/status").json()
    measured = metrics_of(alone)
    typed = status_of(alone)
    alone.stop("api")
    without_api = status_of(alone)
    lines = typed_in(alone, "status").splitlines()
    checks = json.loads(typed_in(alone, "doctor", "--json"))["checks"]

    expected = numbers(told["stages"])
    assert expected[STAGE] == {
        "due": 4.0,
        "bulk": 2.0,
        "overdue": 2.0,
        "leased": 1.0,
        "quarantined": 1.0,
        "per_minute": 42.0,
        "paused": 0.0,
    }
    assert expected["index"]["paused"] == 1.0
    assert measured == expected
    assert numbers(typed["stages"]) == expected
    assert numbers(without_api["stages"]) == expected
    assert told["problems"]
    for document in (status, typed, without_api):
        assert set(document["problems"]) >= set(told["problems"])
    for document in (told, status, typed, without_api):
        assert document["index"]["drift"] == 7
        assert document["index"]["compared_at"]
        assert document["index"]["watermark"] < told["as_of"]
    (line,) = [one for one in lines if one.startswith("Index ")]
    assert "; 7 differed at " in line
    assert status["quarantine_budget_spent"] == ["index"]
    (rest,) = status["paused"]
    assert (rest["stage"], rest["until"]) == ("index", None)
    assert "logchord quarantine retry --stage index" in rest["message"]
    (line,) = [one for one in lines if one.startswith("  index ")]
    assert line.endswith("PAUSED quarantine_budget_spent")
    work = {one["found"] for one in checks if one["name"] == "work"}
    assert work == set(told["problems"])


def test_an_opensearch_that_is_away_is_told_of_with_no_work_for_it(make_system):
    system = make_system(opensearch=f"http://127.0.0.1:{free_port()}")
    system.bring_up("api", "upkeep")

    def told() -> list[str]:
        with system.client() as client:
            found: list[str] = client.get("/v1/status").json()["problems"]
        return [one for one in found if one.startswith("OpenSearch has not answered")]

    until(
        lambda: len(told()) == 1, within_seconds=30, what=lambda: system.tail("upkeep")
    )
    typed = status_of(system)
    checks = json.loads(typed_in(system, "doctor", "--json"))["checks"]

    (sentence,) = told()
    assert sentence in typed["problems"]
    assert sentence in {one["found"] for one in checks if one["name"] == "work"}
    assert all(one["due"] + one["bulk"] == 0 for one in typed["stages"])


def test_metrics_of_the_process_stay_when_postgres_goes(make_system):
    system = make_system(database=f"postgresql://u:p@127.0.0.1:{free_port()}/x")
    system.bring_up("api")

    text = httpx2.get(f"{system.url}/metrics", timeout=20, verify=TRUSTED).text

    assert "logchord_work_known 0.0" in text
    assert "logchord_http_requests_total" in text


@pytest.mark.requirement("SEC2")
def test_a_facility_is_told_its_own_counts_alone(api, tenant):
    with psycopg.connect(api.database) as conn:
        make_busy(conn, tenant)
        make_due(conn, f"{tenant}-b", 3)
        installation = keys.create_key(conn, tenant="*", name="ops", scopes=["admin"])

    def counts(token: str) -> dict[str, float]:
        with api.client(token) as client:
            return numbers(client.get("/v1/lag").json()["stages"])[STAGE]

    own, other = counts(api.key(tenant=tenant)), counts(api.key(tenant=f"{tenant}-b"))
    everybodys = counts(installation.token)

    assert [own[name] for name in NUMBERS[:5]] == [4, 2, 2, 1, 1]
    assert [other[name] for name in NUMBERS[:5]] == [3, 0, 0, 0, 0]
    assert everybodys["due"] >= own["due"] + other["due"]
    assert everybodys["quarantined"] >= 1


def test_a_facility_without_a_neighbour_is_told_everything(conn):
    make_due(conn, "only", 1)
    assert lag.reach(conn, "only") == lag.ANY_TENANT
    assert lag.reach(conn, "another") == "another"

    make_due(conn, "another", 1)

    assert lag.reach(conn, "only") == "only"
    assert lag.reach(conn, lag.ANY_TENANT) == lag.ANY_TENANT


def test_the_holder_of_a_lock_is_who_holds_it_and_not_who_turned_last(conn, database):
    conn.execute(
        "INSERT INTO upkeep_loop (name, last_turn_at, holder) VALUES"
        " ('sweeper', now() - interval '40 s', 'there 1'),"
        " ('finisher', now(), 'here 4711')"
    )
    conn.commit()

    def held() -> dict[str, str | None]:
        # Who is connected is looked at once in a transaction.
        conn.commit()
        return {one.name: one.holder for one in upkeep_loops.listing(conn)}

    before = held()
    with psycopg.connect(
        database, autocommit=True, application_name="logchord upkeep finisher 4711"
    ) as holder:
        take = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
        holder.execute(take, (upkeep_loops.LOCK_SPACE, "finisher"))
        holder.execute(take, (upkeep_loops.LOCK_SPACE, "index"))
        during = held()

    assert before == {"sweeper": None, "finisher": None}
    assert during == {
        "sweeper": None,
        "finisher": "here 4711",
        "index": "127.0.0.1 4711",
    }
    (sweeper,) = [one for one in upkeep_loops.listing(conn) if one.name == "sweeper"]
    assert sweeper.seconds_since_turn == pytest.approx(40, abs=5)


def test_a_backlog_of_bulk_work_is_not_counted_every_second(conn):
    ids = make_due(conn, "default", 500)
    conn.execute("UPDATE work SET class = 1")
    conn.execute("UPDATE work SET class = 0 WHERE entry_id = ANY(%s)", (ids[:7],))

    assert lag.count_live_due(conn, [STAGE], most=1000) == 7
    assert lag.count_live_due(conn, [STAGE], most=3) == 4
    # Nobody can do it: it is no reason to refuse what others can.
    assert lag.count_live_due(conn, ["index"], most=1000) == 0


def test_work_that_nobody_here_can_do_fills_no_backlog_and_is_told(conn):
    that_run = entry_stages.list_runnable_stages(Settings.load({}))
    make_due(conn, "default", 4)
    conn.execute("UPDATE work SET stage = 'package_is_gone'")
    make_due(conn, "other", 2)

    assert lag.count_live_due(conn, that_run, most=1000) == 2
    for tenant in (lag.ANY_TENANT, "default"):
        seen = work_overview.load_overview(
            *(conn, [STAGE]),
            that_run=that_run,
            max_backlog=2,
            zone="Europe/Berlin",
            tenant=tenant,
        )
        assert not any("max_backlog_entries" in one for one in seen.problems)
        (told,) = [one for one in seen.problems if "cannot be run here" in one]
        assert "4 entries wait for the stage 'package_is_gone'" in told
    full = work_overview.load_overview(
        conn, [STAGE], that_run=that_run, max_backlog=1, zone="UTC"
    )
    assert any("max_backlog_entries" in one for one in full.problems)


def test_a_watermark_is_the_oldest_row_or_the_oldest_transaction(conn, database):
    make_due(conn, "default", 3)
    conn.execute("UPDATE work SET created_at = now() - interval '1 h'")
    conn.commit()

    behind = lag.measure_lag(conn, ["index", STAGE])
    waiting = {one.stage: one for one in behind.stages}

    assert waiting[STAGE].oldest_seconds == pytest.approx(3600, abs=60)
    assert lag.find_watermark(conn, [STAGE, "index"]) == waiting[STAGE].watermark
    assert waiting["index"].watermark > waiting[STAGE].watermark


def test_the_locks_of_a_real_upkeep_name_its_process(make_system):
    system = make_system()
    system.bring_up("api", "upkeep")
    ours = system.processes["upkeep"].pid

    with system.client() as client:

        def held() -> dict[str, str]:
            locks = client.get("/v1/lag").json()["locks"]
            return {one["name"]: one["holder"] for one in locks if one["holder"]}

        names = {"sweeper", "finisher", "scheduler", "retention"}
        until(lambda: held().keys() >= names, within_seconds=30)
        until(
            lambda: all(one.endswith(f" {ours}") for one in held().values()),
            within_seconds=10,
        )
        turned = client.get("/v1/status").json()["upkeep"]
        system.kill("upkeep")
        until(lambda: not held(), within_seconds=10, what="the locks of the dead")

    assert all(one["seconds_since_turn"] < 90 for one in turned)
