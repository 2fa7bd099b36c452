"""Who did what: every action leaves its row, nothing takes one away, admins read it."""

import asyncio
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from api.access.audit import MOST_AT_ONCE, Audit
from shared.access import audit_records
from shared.access.audit_records import AuditFilter, AuditRecord
from shared.postgres.pool import make_pool
from tests.support.fixtures.system import System
from tests.support.typed import typist
from tests.support.waiting import until
from tests.support.written import ok

QUERY = "Who stole the zebrafish?"
ABSENT = "00000000-0000-0000-0000-000000000007"
NOW = datetime(2026, 3, 2, 6, tzinfo=UTC)
DAY = int(NOW.timestamp() // 86_400)
Rows = list[tuple[Any, ...]]


def record(at: datetime = NOW) -> AuditRecord:
    return AuditRecord("default", "read", "done", "gateway", "anna", "GET /x", at=at)


def rows_of(system: System, tenant: str, columns: str = "action, outcome") -> Rows:
    statement = f"SELECT {columns} FROM audit_record WHERE tenant = %s ORDER BY at"
    with psycopg.connect(system.database) as conn:
        return conn.execute(statement.encode(), (tenant,)).fetchall()


def written(system: System, tenant: str, count: int, columns: str) -> Rows:
    """Return the rows of a facility once there are so many."""
    until(
        lambda: len(rows_of(system, tenant)) >= count,
        within_seconds=5,
        what=lambda: str(rows_of(system, tenant)),
    )
    return rows_of(system, tenant, columns)


@pytest.fixture
def broken(api: System) -> Iterator[None]:
    """Let nothing be stored in the audit, as where the disk is full."""
    with psycopg.connect(api.database, autocommit=True) as conn:
        conn.execute(
            "ALTER TABLE audit_record ADD CONSTRAINT full_disk CHECK (false) NOT VALID"
        )
        yield
        conn.execute("ALTER TABLE audit_record DROP CONSTRAINT IF EXISTS full_disk")


@pytest.mark.requirement("U30")
def test_each_action_leaves_who_did_it_and_what_came_of_it(
    api: System, tenant: str, operator: httpx2.Client, caller: httpx2.Client
) -> None:
    pushed = caller.post("/v1/entries", json={"source": "api", "text": QUERY}).json()
    entry = pushed["entry_id"]
    caller.post("/v1/search/jobs", json={"query": QUERY})
    caller.get(f"/v1/entries/{entry}")
    caller.get(f"/v1/entries/{ABSENT}")
    asked = {"query": "zebrafish", "exhaustive": True}
    file = caller.post("/v1/search/export", json=asked)
    assert file.is_success
    caller.post("/v1/sources/operations/pause")
    key = operator.post("/v1/keys", json={"name": "display"}).json()["key_id"]
    # In the table before the answer went out: nobody waits for that here.
    last = [("administer", "begun"), ("administer", "done")]
    assert rows_of(api, tenant)[-2:] == last
    operator.delete(f"/v1/keys/{key}")

    me, admin = (one.get("/v1/me").json()["key_id"] for one in (caller, operator))
    columns = "key_id, action, outcome, request, target, status"
    assert set(written(api, tenant, 10, columns)) == {
        (me, "search", "done", "POST /v1/search/jobs", None, 202),
        (me, "read", "done", "GET /v1/entries/{entry_id}", entry, 200),
        (
            *(me, "read", "refused", "GET /v1/entries/{entry_id}"),
            *(ABSENT, 404),
        ),
        (me, "export", "begun", "POST /v1/search/export", None, None),
        (me, "export", "done", "POST /v1/search/export", None, 200),
        (
            *(me, "administer", "refused", "POST /v1/sources/{source}/pause"),
            *("operations", 403),
        ),
        (admin, "administer", "begun", "POST /v1/keys", None, None),
        (admin, "administer", "done", "POST /v1/keys", key, 201),
        (admin, "administer", "begun", "DELETE /v1/keys/{key_id}", key, None),
        (admin, "administer", "done", "DELETE /v1/keys/{key_id}", key, 204),
    }
    told = json.dumps(rows_of(api, tenant, "to_jsonb(audit_record)"))
    keys_of_queries = rows_of(api, tenant, "query_key, query")
    assert "zebra" not in told
    assert len({one for one, _ in keys_of_queries if one}) == 2


@pytest.mark.requirement("U30")
def test_what_cannot_be_audited_is_not_administered_and_a_search_goes_on(
    api: System,
    tenant: str,
    operator: httpx2.Client,
    caller: httpx2.Client,
    broken: None,
) -> None:
    refused = operator.post("/v1/keys", json={"name": "unseen"})
    exported = caller.get(f"/v1/search/jobs/{ABSENT}/export")
    searched = caller.post("/v1/search/jobs", json={"query": QUERY})

    assert (refused.status_code, exported.status_code) == (500, 500)
    assert searched.status_code == 202
    with psycopg.connect(api.database) as conn:
        made = conn.execute("SELECT FROM api_key WHERE name = 'unseen'").fetchall()
        assert made == []
        until(
            lambda: "audit_not_written" in api.tail("api", 200),
            within_seconds=5,
            what="the warning",
        )
        figures = httpx2.get(f"{api.url}/metrics").text
        (waiting,) = re.findall(r"^logchord_audit_waiting (\S+)", figures, re.MULTILINE)
        assert float(waiting) >= 3
        conn.execute("ALTER TABLE audit_record DROP CONSTRAINT full_disk")
    # What waited is not lost: only whoever kills the process loses it.
    assert set(written(api, tenant, 3, "action, outcome")) == {
        ("administer", "failed"),
        ("export", "failed"),
        ("search", "done"),
    }


@pytest.mark.requirement("U30")
def test_admins_read_the_audit_of_their_facility_and_nobody_else_does(
    api: System, tenant: str, operator: httpx2.Client, caller: httpx2.Client
) -> None:
    body = {"source": "api", "external_id": "OPS-7", "text": "x"}
    entry = caller.post("/v1/entries", json=body).json()["entry_id"]
    caller.get(f"/v1/entries/{entry}")
    caller.get("/e/api/OPS-7")
    for _ in range(2):
        assert operator.post("/v1/quarantine/retry", json={}).is_success
    written(api, tenant, 6, "id")

    def read(client: httpx2.Client = operator, **asked: Any) -> list[dict[str, Any]]:
        found, asked = [], {"limit": 2, **asked}
        while asked.get("cursor", "first"):
            page = client.get("/v1/audit", params=asked).json()
            found += page["items"]
            asked["cursor"] = page["next_cursor"]
        return found

    me = caller.get("/v1/me").json()["key_id"]
    by_name = {(one["request"], one["target"]) for one in read(target="api/OPS-7")}
    assert by_name == {
        ("GET /v1/entries/{entry_id}", entry),
        ("GET /e/{source}/{external_id:path}", "api/OPS-7"),
    }
    assert [one["key_id"] for one in read(who=me)] == [me, me]
    changes = read(action="administer")
    assert [one["outcome"] for one in changes] == ["done", "begun", "done", "begun"]
    first = changes[-1]["at"]
    assert read(until=first, action="administer") == []
    assert len(read(since=first, action="administer")) == 4
    assert operator.get("/v1/audit", params={"since": "x"}).status_code == 422

    assert caller.get("/v1/audit").status_code == 403
    rf = {"name": "rf", "scopes": ["admin"], "logbooks": ["RF"]}
    token = ok(operator.post("/v1/keys", json=rf), 201)["token"]
    with api.client(token) as of_some:
        # They name entries of others, some of which exist.
        for path in ("/v1/audit", "/v1/quarantine", "/quarantine"):
            assert of_some.get(path).status_code == 403
    with api.client(api.key(tenant=f"{tenant}-b", scopes=("admin",))) as other:
        assert [one["request"] for one in read(other)] in ([], ["GET /v1/audit"])
    with api.client(api.key(tenant="*", scopes=("admin",))) as installation:
        assert {one["tenant"] for one in read(installation, who=me)} == {tenant}


def test_the_command_line_shows_the_audit_and_leaves_rows_of_its_own(
    api: System, tenant: str, tmp_path: Path
) -> None:
    logchord = typist(api, tmp_path, api.key(tenant=tenant, scopes=("admin",)))
    made = logchord("keys", "create", "--name", "x", "--tenant", tenant, "--json")
    key_id = json.loads(made.stdout)["key_id"]

    (line,) = logchord("audit", "--target", key_id).stdout.splitlines()
    assert line.endswith(f"[command]  logchord keys create  {key_id}")
    assert "administer done" in line
    assert logchord("audit", "--who", "nobody").stdout == ""
    logchord("keys", "revoke", key_id)
    (line, _) = logchord("audit", "--target", key_id).stdout.splitlines()
    assert line.endswith(f"[command]  logchord keys revoke  {key_id}")


def test_admins_read_who_revoked_a_key_of_theirs_from_elsewhere(
    api: System, tenant: str
) -> None:
    key_id = api.key(tenant=tenant).split("_")[1]
    with api.client(api.key(tenant="*", scopes=("admin",))) as installation:
        assert installation.delete(f"/v1/keys/{key_id}").status_code == 204

    with api.client(api.key(tenant=tenant, scopes=("admin",))) as operator:
        found = operator.get("/v1/audit", params={"target": key_id}).json()["items"]
    told = [(one["request"], one["outcome"]) for one in found]
    assert told == [("DELETE /v1/keys/{key_id}", "done")]


@pytest.mark.requirement("U30")
def test_what_waits_is_written_when_the_process_ends(database: str) -> None:
    async def serve() -> None:
        pool = make_pool(database, application="test", size=1)
        try:
            kept = Audit(pool, keeps_reading=True)
            await kept.start()
            for _ in range(MOST_AT_ONCE + 1):
                kept.note(record())
            await kept.stop()
        finally:
            pool.close()

    asyncio.run(serve())
    with psycopg.connect(database) as conn:
        counted = conn.execute("SELECT count(*) FROM audit_record").fetchone()
    assert counted == (MOST_AT_ONCE + 1,)


@pytest.mark.requirement("U30")
def test_the_database_refuses_to_change_or_remove_a_row(
    conn: psycopg.Connection,
) -> None:
    audit_records.rotate_audit(conn, retention_days=2, day=DAY)
    row = record()
    # The same again, as after a commit whose answer was lost.
    audit_records.store_records(conn, [row, record(at=NOW - timedelta(days=9))])
    audit_records.store_records(conn, [row])
    conn.commit()
    for statement in (
        "UPDATE audit_record SET subject = 'somebody else'",
        "DELETE FROM audit_record",
        f"DELETE FROM audit_record_d{DAY}",
        "UPDATE audit_record_default SET subject = 'somebody else'",
        "TRUNCATE audit_record",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only added"):
            conn.execute(statement.encode())
        conn.rollback()
    kept = audit_records.list_records(conn, "default", AuditFilter(), limit=9)
    assert [one.subject for one in kept] == ["anna", "anna"]
    assert kept[0] == row


@pytest.mark.requirement("U30")
def test_retention_drops_whole_days_and_what_came_before_its_day_was_made(
    conn: psycopg.Connection,
) -> None:
    early = record(at=NOW - timedelta(days=1))
    audit_records.store_records(conn, [early])
    audit_records.rotate_audit(conn, retention_days=2, day=DAY)
    audit_records.store_records(conn, [record()])

    def kept() -> list[datetime]:
        found = audit_records.list_records(conn, "default", AuditFilter(), limit=9)
        return [one.at for one in found]

    audit_records.rotate_audit(conn, retention_days=2, day=DAY + 1)
    assert kept() == [NOW, early.at]
    audit_records.rotate_audit(conn, retention_days=2, day=DAY + 2)
    assert kept() == [NOW]
    audit_records.rotate_audit(conn, retention_days=2, day=DAY + 3)
    assert kept() == []
