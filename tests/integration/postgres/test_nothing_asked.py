"""What asks for nothing, or for what is off, reaches no backend at all."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from api.caller_info import CallerInfo
from api.search.schemas.search import SearchRequest
from api.search.searches import Searches
from shared.access.cursors import Signer
from shared.entries.draft import EntryDraft
from shared.errors import ModuleNotEnabledError
from shared.messaging import redis_clients
from shared.messaging.broker_clock import BrokerClock
from shared.messaging.celery_app import make_app
from shared.postgres.pool import Pool, make_pool
from shared.search.query.plan import SearchQuery
from shared.settings.settings import Settings
from tests.support.fixtures.asking import ANNA


@dataclass
class Watched:
    """Searches of an API process, whose backends count who comes to them."""

    searches: Searches
    pool: Pool
    deaf: socket.socket

    def answer(self, question: SearchQuery) -> dict[str, Any]:
        plan = self.searches.plan(question, ANNA)
        caller = CallerInfo(ANNA, {}, time.monotonic())
        told = asyncio.run(self.searches.ask(plan, caller, None))
        assert isinstance(told, str)
        return json.loads(told)

    def refuses(self, **fields: Any) -> None:
        with pytest.raises(ModuleNotEnabledError) as caught:
            self.searches.plan(
                SearchRequest(query="beam", **fields).question(None), ANNA
            )
        assert (caught.value.status, caught.value.error_code) == (
            422,
            "module_not_enabled",
        )

    @property
    def visits(self) -> int:
        """How often the database was asked for, or the broker connected to."""
        visits: int = self.pool.get_stats().get("requests_num", 0)
        try:
            self.deaf.accept()[0].close()
        except BlockingIOError:
            return visits
        return visits + 1


@pytest.fixture
def watched(database: str) -> Iterator[Watched]:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        deaf.settimeout(0)
        port = deaf.getsockname()[1]
        settings = Settings.load(
            {
                "BROKER_URL": f"redis://127.0.0.1:{port}/0",
                "OPENSEARCH_URL": f"http://127.0.0.1:{port}",
                "LOGCHORD_SEARCH_MODULES__SEMANTIC__ENABLED": "false",
            }
        )
        client = redis_clients.jobs_redis(settings)
        pool = make_pool(database, application="test", size=1)
        searches = Searches(
            settings,
            make_app(settings),
            client,
            BrokerClock(client),
            pool,
            lambda: Signer(b"test", 60),
            None,
        )
        yield Watched(searches, pool, deaf)
        asyncio.run(searches.stop())
        pool.close()
        client.close()


@pytest.mark.requirement("S0-19")
def test_a_blank_question_is_answered_without_a_database_or_a_broker(watched):
    for blank in ("", " \t\n", "\u3000", "AND OR"):
        body = watched.answer(SearchQuery(blank))
        assert (body["state"], body["results"], body["branches"]) == ("done", [], [])
    assert watched.visits == 0


@pytest.mark.requirement("S0-19")
def test_a_filter_alone_lists_what_passes_it_newest_first(asking):
    hours = (5, 9, 7)
    asking.write(
        EntryDraft("olog", "elsewhere", "the beam was lost"),
        *(
            EntryDraft(
                "api",
                f"at {hour}",
                "beam",
                entry_time=datetime(2026, 3, 2, hour, tzinfo=UTC),
            )
            for hour in hours
        ),
    )
    body = asking.ask("  ", filters={"source": "api"})
    listed = [one["external_id"] for one in body["results"]]
    assert listed == ["at 9", "at 7", "at 5"]


@pytest.mark.requirement("S0-05")
def test_what_is_off_or_not_built_in_is_refused_before_anything_is_asked(watched):
    for mode in ("semantic", "vector", "hybrid", "rag", "agent"):
        watched.refuses(mode=mode)
    for fields in (
        {"modules": ["semantic"]},
        {"rerank": "model"},
        {"rerank": "late"},
        {"synthesize": "llm"},
        {"filters": {"author": {"gte": "x"}}},
    ):
        watched.refuses(**fields)
    assert watched.visits == 0
