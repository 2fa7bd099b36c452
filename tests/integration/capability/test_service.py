"""The embedded service: one a process, in this process or by workers, over no fork."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from api import service as services
from api.app import create_app
from api.capability.installed_capabilities import find_capabilities
from api.capability.orchestration import (
    OrchestratorState,
    PlannedStep,
    TimeRangeContext,
)
from api.capability.search_results import LogbookSearchResultsContext
from api.service import (
    SearchService,
    close_search_service,
    get_search_service,
    reset_search_service,
)
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.errors import InvalidRequestError, ModuleNotEnabledError
from shared.settings.settings import Settings
from tests.support.fixtures.asking import Asking
from tests.support.fixtures.system import System
from tests.support.waiting import until

JANUARY = datetime(2026, 1, 15, 12, tzinfo=UTC)
MARCH = datetime(2026, 3, 2, 12, tzinfo=UTC)
TEXTS = (
    "The cavity tripped on arc at noon.",
    "Arc detector of the cavity cleaned after it tripped in the night.",
    "Water leak beside the cavity that tripped; no arc was seen today.",
)
TRIP = "SR RF cavity 2 tripped on arc. It was reset after an hour."


def settings_of(database: str, **more: str) -> Settings:
    given = {"DATABASE_URL": database, "OPENSEARCH_URL": "off", **more}
    return Settings.load({"EMBEDDING_MODEL": "hashing-384", **given})


@pytest.fixture
def logbook(asking: Asking) -> Asking:
    asking.write(
        EntryDraft("api", "OPS-1", TRIP, title="RF trip", entry_time=JANUARY),
        EntryDraft("api", "OPS-2", "RF cavity 2 is back.", entry_time=MARCH),
    )
    return asking


@pytest.fixture
def own_service(database: str, logbook: Asking) -> Iterator[SearchService]:
    reset_search_service()
    yield asyncio.run(get_search_service(settings_of(database), inline=True))
    asyncio.run(close_search_service())


@pytest.mark.requirement("S2-11", "S2-46", "S2-49")
def test_the_snippet_of_the_reference_runs_without_a_broker(own_service: SearchService):
    async def snippet() -> Any:
        service = await get_search_service()
        assert service is own_service
        async with service:
            assert (await service.search(query="RF cavity fault")).results
        # Leaving it does not close it.
        assert await get_search_service() is service
        return await service.search(query="RF cavity", mode="keyword", max_results=1)

    result = asyncio.run(snippet())
    assert [one.entry_id for one in result.entries] == [
        one.entry_id for one in result.results
    ]
    assert len(result.entries) == 1
    assert result.search_modes_used == ["keyword"]


@pytest.mark.requirement("S2-49")
def test_a_closed_service_is_made_anew_and_a_forgotten_one_goes_on(
    own_service: SearchService, database: str
):
    async def both() -> None:
        reset_search_service()
        other = await get_search_service(settings_of(database), inline=True)
        assert other is not own_service
        assert (await own_service.search(query="cavity")).results
        await close_search_service()
        assert other._data.pool.closed
        assert not own_service._data.pool.closed

    asyncio.run(both())
    asyncio.run(own_service.close())


def test_a_time_range_bounds_a_search_and_a_wrong_field_is_refused(
    own_service: SearchService,
):
    async def ask(**fields: Any) -> Any:
        return await own_service.search(query="RF cavity", mode="keyword", **fields)

    january = asyncio.run(ask(time_range=(JANUARY, datetime(2026, 2, 1, tzinfo=UTC))))
    assert january.time_range_applied is True
    assert [one.title for one in january.results] == ["RF trip"]
    with pytest.raises(InvalidRequestError) as caught:
        asyncio.run(ask(limt=1))
    assert caught.value.details["fields"][0]["path"] == "limt"
    with pytest.raises(ModuleNotEnabledError):
        asyncio.run(ask(modules=["nonsense"]))


@pytest.mark.requirement("S2-02", "S2-09", "S2-10", "S2-12", "S2-13", "S2-20")
@pytest.mark.parametrize("timed", [True, False])
def test_a_scripted_planner_has_a_question_answered(
    own_service: SearchService, *, timed: bool
):
    state = OrchestratorState()
    if timed:
        january = TimeRangeContext("2026-01-01", "2026-01-31")
        state.store("tr_rf_trips", january)
    step = PlannedStep("logbook_search", "ls_rf_trips", "Why did RF cavity 2 trip?")
    capability = find_capabilities()[step.capability](state, step)
    stored = asyncio.run(capability.execute())
    context = state.contexts["LOGBOOK_SEARCH_RESULTS"]["ls_rf_trips"]
    assert stored == {"LOGBOOK_SEARCH_RESULTS": {"ls_rf_trips": context}}
    assert isinstance(context, LogbookSearchResultsContext)
    assert context.time_range_applied is timed
    titles = [one["title"] for one in context.entries]
    assert titles == ["RF trip"] if timed else sorted(titles) == ["", "RF trip"]
    assert "tripped on arc" in (context.answer or "")
    assert context.sources
    assert context.search_modes_used[0] == "keyword"


@pytest.mark.requirement("S2-48")
def test_the_web_app_has_its_own_and_closes_it(database: str):
    settings = settings_of(database, BROKER_URL="redis://127.0.0.1:9/0")
    app = create_app(settings)

    async def through() -> Any:
        async with app.router.lifespan_context(app):
            pool = app.state.context.pool
            assert services._service is None
            assert not pool.closed
            return pool

    reset_search_service()
    assert asyncio.run(through()).closed


@pytest.mark.requirement("S2-47")
def test_a_child_never_uses_its_parents_connections(database: str):
    code = """
        import asyncio, os, sys
        from api.service import get_search_service
        from shared.errors import ConfigurationError
        from shared.postgres.pool import connection

        def backend(service):
            with connection(service._data.pool) as conn:
                return conn.execute("SELECT pg_backend_pid()").fetchone()[0]

        def own():
            return asyncio.run(get_search_service(inline=True))

        parent = own()
        asyncio.run(parent.search(query="rf", mode="keyword"))
        theirs = backend(parent)
        child = os.fork()
        if child:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        try:
            asyncio.run(parent.search(query="rf", mode="keyword"))
        except ConfigurationError as exc:
            assert "get_search_service" in exc.message
        else:
            os._exit(3)
        mine = own()
        asyncio.run(mine.search(query="rf", mode="keyword"))
        os._exit(0 if mine is not parent and backend(mine) != theirs else 4)
    """
    environment = {"DATABASE_URL": database, "OPENSEARCH_URL": "off"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**environment, "EMBEDDING_MODEL": "hashing-384", "HOME": "/nowhere"},
        check=False,
        timeout=60,
    )
    assert done.returncode == 0


@pytest.mark.requirement("S2-12", "S2-18")
def test_workers_answer_whoever_embeds_the_service(running: System, tenant: str):
    with running.client(running.key(tenant=tenant)) as rest:
        for number, text in enumerate(TEXTS):
            body = {"text": text, "external_id": f"T-{number}"}
            params: dict[str, str | int] = {"wait_for": "index", "wait_ms": 20_000}
            rest.post("/v1/entries", json=body, params=params).raise_for_status()
        until(
            lambda: rest.get("/v1/lag").json()["index"]["indexed"] >= 3,
            within_seconds=30,
            what="three entries in the index",
        )
    scope = Scope(tenant, "service", allowed=frozenset({"search", "read"}))

    async def ask() -> Any:
        service = SearchService(Settings.load(running.environment))
        async with service:
            first = await service.search(query="cavity tripped arc", scope=scope)
            # From another loop, too: nothing of it belongs to the caller's.
            other = await asyncio.to_thread(
                lambda: asyncio.run(
                    service.search(query="arc cavity tripped", scope=scope)
                )
            )
        await service.close()
        return first, other

    first, other = asyncio.run(ask())
    assert len(first.results) == len(other.results) == len(TEXTS)
    assert first.search_modes_used == ["keyword", "semantic", "hybrid"]
    assert first.answer
