"""A file of any length: the memory of the API does not grow with it."""

import asyncio
import json
from typing import Any

import httpx2
import psutil
import psycopg
import pytest

from api.search.exports import ExportResponse
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.postgres.pool import connect, connection, make_pool
from shared.search.export.stream import Export
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.search_context import SearchContext
from tests.support.fixtures.system import System
from tests.support.waiting import until

PATH = "/v1/search/export"
ROWS = 50_000
BODY = {"query": "klystron", "exhaustive": True}
MEGABYTE = 2**20
GROWS_MB = 32

FILL = """
    WITH made AS (
        INSERT INTO entry (id, tenant, source, external_id, revision, doc_version,
                           content_hash, access_hash, kind, origin, logbooks, authors,
                           tags, metadata, entry_time)
        SELECT uuidv7(), %(tenant)s, 'api', n::text, 1, 1, '', '', 'logbook', 'human',
               '{}', '{}', '{}', '{}', now() - make_interval(secs => n %% 977)
          FROM generate_series(1, %(rows)s) AS n
        RETURNING id),
    texts AS (
        INSERT INTO revision (entry_id, number, tenant, title, text, text_format,
                              fields, content_hash, editor)
        SELECT id, 1, %(tenant)s, 'made', repeat('klystron =tripped= ', 60), 'plain',
               '{}', '', 'test'
          FROM made)
    INSERT INTO entry_text (entry_id, tenant, revision, language, analyser_version,
                            stream, idents, tsv)
    SELECT id, %(tenant)s, 1, 'en', 1, '', '{}', array_to_tsvector('{klystron}')
      FROM made"""


@pytest.fixture
def filled(api: System, tenant: str) -> str:
    with psycopg.connect(api.database) as conn:
        conn.execute(FILL, {"tenant": tenant, "rows": ROWS})
        # As autovacuum does soon behind so many rows: its minute is not waited for.
        conn.execute("ANALYZE entry, revision, entry_text")
    return tenant


@pytest.mark.requirement("I14")
def test_fifty_thousand_entries_are_written_in_constant_memory(api, filled, caller):
    process = psutil.Process(api.processes["api"].pid)
    # What the first one needs for ever is no growth.
    first = caller.post(PATH, json={**BODY, "query": "nothing"})
    assert json.loads(first.text) == {"complete": True, "rows": 0}
    before = process.memory_info().rss
    most, length, lines, end = before, 0, 0, b""
    with caller.stream("POST", PATH, json=BODY) as answer:
        for part in answer.iter_bytes():
            length += len(part)
            lines += part.count(b"\n")
            end = (end + part)[-100:]
            most = max(most, process.memory_info().rss)
    last = json.loads(end.splitlines()[-1])
    assert last == {"complete": True, "rows": ROWS}
    assert lines == ROWS + 1
    assert length > 2 * GROWS_MB * MEGABYTE
    assert most - before < GROWS_MB * MEGABYTE, f"{(most - before) / MEGABYTE:.0f} MiB"


def assert_refused(answer: httpx2.Response) -> None:
    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == "too_many_searches"
    assert answer.headers["Retry-After"] == "10"


@pytest.mark.requirement("I14")
def test_who_reads_slowly_or_goes_away_holds_nothing_back(api, tenant, filled, caller):
    def states() -> list[str]:
        with psycopg.connect(api.database, autocommit=True) as conn:
            found = conn.execute(
                "SELECT state FROM pg_stat_activity"
                " WHERE application_name LIKE 'logchord export%'"
            )
            return [row[0] for row in found]

    with caller.stream("POST", PATH, json=BODY) as answer:
        # Kept: one that is dropped ends the answer.
        parts = answer.iter_bytes()
        next(parts)
        # The rest waits for its reader, in no transaction.
        until(lambda: states() == ["idle"], within_seconds=10, what="an idle export")
        # Of two places one key has one: the other is somebody else's.
        assert_refused(caller.post(PATH, json=BODY))
        other = api.client(api.key(tenant=tenant))
        with other, other.stream("POST", PATH, json=BODY) as second:
            others = second.iter_bytes()
            next(others)
            with api.client(api.key(tenant=tenant)) as third:
                assert_refused(third.post(PATH, json=BODY))
    until(lambda: states() == [], within_seconds=10, what="no export any more")
    assert caller.post(PATH, json={**BODY, "query": "nothing"}).status_code == 200


def test_a_batch_is_weighed_with_the_metadata_that_its_rows_carry(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [
        EntryDraft(
            source="heavy", external_id=f"{n}", text="x", metadata={"log": "y" * 3000}
        )
        for n in range(4)
    ]
    asked = SearchQuery("", exhaustive=True, filters={"source": "heavy"})
    plan = make_plan(asked, Scope("default", "anna"), PlanLimits())
    monkeypatch.setattr("shared.search.export.stream.BYTES_AT_ONCE", 4000)
    with make_pool(database, application="test", size=1) as pool:
        with connection(pool) as conn:
            save_page(conn, "default", made, stages=[], editor="test")
        conn = connect(database, application="test", autocommit=True)
        export = Export(conn, plan, "jsonl")
        export.find(Ask.lasting(plan, 30.0), SearchContext(pool=pool))
        rows = [part.count("\n") for part in export.parts() if part]
        export.close()
    assert rows == [1] * (len(made) + 1)


@pytest.mark.parametrize("version", ["2.3", "2.4"])
def test_a_file_that_is_not_taken_gives_its_place_back(database, version) -> None:
    plan = make_plan(
        SearchQuery("", exhaustive=True), Scope("default", "anna"), PlanLimits()
    )
    conn = connect(database, application="test", autocommit=True)
    released: list[bool] = []

    async def stalled(*_: Any) -> Any:
        await asyncio.Event().wait()

    async def sent() -> None:
        export = Export(conn, plan, "jsonl")
        answer = ExportResponse(export, lambda: released.append(True), "jsonl", 0.05)
        asgi = {"type": "http", "asgi": {"spec_version": version}}
        async with asyncio.timeout(10):
            await answer(asgi, stalled, stalled)

    asyncio.run(sent())
    assert (released, conn.closed) == ([True], True)
