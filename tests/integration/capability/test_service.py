"""The embedded service: one a process, in this process or by workers, over no fork."""

import asyncio
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

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
from local.server import Server
from shared import errors
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.settings.settings import Settings
from tests.support.fixtures.asking import Asking
from tests.support.fixtures.system import ROOT, System
from tests.support.fixtures.workers import close_pools
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


@pytest.mark.requirement("S2-11")
def test_a_process_makes_its_service_from_its_file_when_it_first_asks(
    database: str, logbook: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "logchord.yaml"
    given = {"database_url": database, "opensearch_url": "off", "default_limit": 1}
    file.write_text(json.dumps(given | {"embedding_model": "hashing-384"}))
    monkeypatch.setenv("LOGCHORD_CONFIG", str(file))
    reset_search_service()

    async def ask() -> Any:
        assert vars(services)["_service"] is None
        service = await get_search_service(inline=True)
        assert service is await get_search_service()
        found = await service.search(query="RF cavity", mode="keyword")
        await close_search_service()
        return found

    assert len(asyncio.run(ask()).results) == 1


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


@pytest.mark.requirement("S2-49")
def test_a_broker_that_is_away_is_nothing_to_a_service_of_this_process(
    database: str, logbook: Asking
):
    settings = settings_of(database, BROKER_URL="redis://127.0.0.1:9/0")

    async def ask() -> Any:
        service = SearchService(settings, inline=True)
        try:
            return await service.search(query="RF cavity", mode="keyword")
        finally:
            await service.close()

    assert len(asyncio.run(ask()).results) == 2


def test_a_service_closed_within_a_search_says_so_and_takes_no_other(database, logbook):
    settings = settings_of(database)

    async def both() -> None:
        service = SearchService(settings, inline=True)
        searches = [
            asyncio.create_task(service.search(query="RF cavity", mode="keyword"))
            for _ in range(8)
        ]
        await asyncio.wait(searches, return_when=asyncio.FIRST_COMPLETED)
        await service.close()
        await service.close()
        for one in await asyncio.gather(*searches, return_exceptions=True):
            if isinstance(one, BaseException):
                assert isinstance(one, errors.LogchordError), one
            else:
                assert len(one.results) == 2
        with pytest.raises(errors.ConfigurationError, match="closed"):
            await service.search(query="RF cavity")

    asyncio.run(asyncio.wait_for(both(), 60))


def test_a_time_range_bounds_a_search_and_a_wrong_field_is_refused(own_service):
    async def ask(**fields: Any) -> Any:
        return await own_service.search(query="RF cavity", mode="keyword", **fields)

    january = asyncio.run(ask(time_range=(JANUARY, datetime(2026, 2, 1, tzinfo=UTC))))
    assert january.time_range_applied is True
    assert [one.title for one in january.results] == ["RF trip"]
    with pytest.raises(errors.InvalidRequestError) as caught:
        asyncio.run(ask(limt=1))
    assert caught.value.details["fields"][0]["path"] == "limt"
    assert caught.value.message.startswith("limt: ")
    with pytest.raises(errors.ModuleNotEnabledError):
        asyncio.run(ask(modules=["nonsense"]))
    for filters in ({"date_from": "2026-01-31"}, {"time_range": ["2026-01-01", None]}):
        with pytest.raises(errors.InvalidRequestError, match="given twice"):
            asyncio.run(ask(time_range=(JANUARY, None), filters=filters))
    with pytest.raises(errors.InvalidRequestError, match="given twice"):
        asyncio.run(ask(max_results=1, limit=2))


@pytest.mark.requirement("S2-02", "S2-09", "S2-10", "S2-12", "S2-13", "S2-20")
@pytest.mark.parametrize("timed", [True, False])
def test_a_scripted_planner_has_a_question_answered(own_service, *, timed):
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
    assert context.degraded is context.get_summary()["degraded"] is False
    assert context.as_of is not None
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


PREFORKED = """
    import asyncio, os

    from celery import Celery, signals

    from api.service import SearchService, get_search_service
    from shared.errors import ConfigurationError
    from shared.postgres.pool import connection
    from shared.settings.settings import Settings

    app = Celery(broker=os.environ["OWN_BROKER"], backend=os.environ["OWN_BROKER"])

    def ask(service):
        asyncio.run(service.search(query="rf", mode="keyword"))
        with connection(service._data.pool) as conn:
            return conn.execute("SELECT pg_backend_pid()").fetchone()[0]

    def own():
        return asyncio.run(get_search_service(inline=True))

    theirs = []

    @signals.worker_init.connect
    def search_before_the_fork(**_):
        service = own()
        theirs.extend([service, ask(service), os.getpid()])

    @app.task(name="search")
    def search(_):
        inherited, parents, parent = theirs
        try:
            ask(inherited)
        except ConfigurationError as exc:
            refused = exc.message
        mine = own()
        again = own()
        assert again is mine is not inherited
        return [parent, parents, os.getpid(), ask(mine), refused]
"""


@pytest.mark.slow
@pytest.mark.requirement("S2-47")
def test_each_process_of_a_prefork_worker_has_connections_of_its_own(
    database: str, valkey: Server, tmp_path: Path
):
    (tmp_path / "preforked.py").write_text(textwrap.dedent(PREFORKED), "utf-8")
    environment = {
        "DATABASE_URL": database,
        "OPENSEARCH_URL": "off",
        "OWN_BROKER": valkey.url,
        "EMBEDDING_MODEL": "hashing-384",
        "HOME": "/nowhere",
        "C_FORCE_ROOT": "1",
    }
    queue = f"preforked-{tmp_path.name}"
    command = ["celery", "-A", "preforked", "worker", "-P", "prefork", "-c", "2"]
    worker = subprocess.Popen(
        [sys.executable, "-m", *command, "-Q", queue, "--prefetch-multiplier", "1"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )
    app = Celery(broker=valkey.url, backend=valkey.url)
    try:
        sent = [
            app.send_task("search", (number,), queue=queue, expires=120)
            for number in range(20)
        ]
        told = [one.get(timeout=120) for one in sent]
    finally:
        worker.terminate()
        worker.wait(timeout=30)
        close_pools(app)
        app.backend.client.close()
    (parent,), (parents,) = {one[0] for one in told}, {one[1] for one in told}
    backends: dict[int, set[int]] = {}
    for _, _, process, backend, refused in told:
        backends.setdefault(process, set()).add(backend)
        assert "get_search_service" in refused
    assert len(backends) == 2
    assert parent not in backends
    first, second = backends.values()
    assert not first & second
    assert parents not in first | second


def test_a_search_that_workers_do_not_answer_ends_with_its_service(running: System):
    """Its loop is a thread's: were it only stopped, the search would wait for ever."""

    async def closed_within() -> None:
        service = SearchService(Settings.load(running.environment))
        waiting = asyncio.create_task(service.search(query="RF", mode="keyword"))
        clients = service._clients
        assert clients is not None
        sent = partial(bool, clients.searches.mailbox._waiting)
        await asyncio.to_thread(until, sent, within_seconds=60, what="its search")
        await service.close()
        with pytest.raises(errors.ConfigurationError, match="closed"):
            await waiting

    with running.frozen("search"):
        asyncio.run(asyncio.wait_for(closed_within(), 120))


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
