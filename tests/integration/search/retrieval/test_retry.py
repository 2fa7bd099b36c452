"""A branch whose backend fails for a moment asks it once more, in its own time."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Self

import pytest
from opensearchpy import OpenSearch

from shared.embedding.models.endpoint_models import EndpointEncoder
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.entries.draft import EntryDraft
from shared.errors import Severity
from shared.opensearch.client import make_client
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.circuit import OPENS_AFTER_FAILURES, Circuit
from shared.search.retrieval.search_context import SearchContext
from shared.settings.sections import ProviderSettings
from shared.settings.settings import Settings
from tests.support.fixtures.asking import ANNA, ENCODER, Asking
from tests.support.fixtures.engines import Logbook, Text
from tests.support.fixtures.fault_proxy import MakeProxy
from tests.support.stub_servers.embedding_server import Script, serving

# With the time that is left to full text, enough for two.
SECONDS = 2.0


def carried_out(
    name: str, context: SearchContext, seconds: float = SECONDS
) -> list[Outcome]:
    mode = "semantic" if name == "semantic" else "keyword"
    plan = make_plan(SearchQuery("klystron tripped", mode=mode), ANNA, PlanLimits())
    branch = Branch(plan, name, time.monotonic() + seconds, time.monotonic)
    return branch_run.carry_out(branch, context)


@pytest.fixture
def server() -> Iterator[Script]:
    with serving() as script:
        script.dimension = ENCODER.dimension
        yield script


@pytest.fixture
def by_endpoint(asking: Asking, server: Script) -> SearchContext:
    """One entry, and a server that makes the vectors of questions."""
    asking.write(EntryDraft("api", "one", "klystron tripped"))
    settings = ProviderSettings(base_url=server.url, timeout_seconds=0.5)
    encoder = EndpointEncoder("here:tiny", settings)
    return replace(asking.context, encoder=lambda _: encoder)


@pytest.mark.requirement("C25", "C44", "S2-57")
def test_a_link_that_is_reset_once_costs_a_search_by_meaning_nothing(
    by_endpoint: SearchContext, server: Script
):
    server.does, server.times = "resets", 1
    (told,) = carried_out("semantic", by_endpoint)
    assert (told.status, told.attempts, told.kept) == ("ok", 2, 1)
    assert len(server.asked) == 2
    (told,) = carried_out("semantic", by_endpoint)
    assert (told.status, told.attempts) == ("ok", 1)


@pytest.mark.requirement("C25", "S2-57")
def test_a_server_that_is_gone_is_asked_twice_and_then_said_to_be_critical(
    by_endpoint: SearchContext, server: Script
):
    server.does = "resets"
    (told,) = carried_out("semantic", by_endpoint)
    assert (told.status, told.error_code) == ("error", "embedding_unavailable")
    assert (told.attempts, told.severity) == (2, Severity.CRITICAL)
    assert len(server.asked) == 2


@pytest.mark.requirement("C25", "C44")
@pytest.mark.parametrize(
    "does",
    [
        pytest.param("401", id="its key is wrong, today and tomorrow"),
        pytest.param("503", id="it asks for more time than there is"),
        pytest.param("hangs", id="it takes all the time there is"),
    ],
)
def test_what_a_second_attempt_cannot_mend_is_asked_once(by_endpoint, server, does):
    server.does = does
    began = time.monotonic()
    (told,) = carried_out("semantic", by_endpoint, seconds=0.8)
    assert (told.status, told.attempts) == ("error", 1)
    assert len(server.asked) == 1
    assert time.monotonic() - began < 0.8


@pytest.fixture
def behind_proxy(logbook: Logbook, make_proxy: MakeProxy, opensearch) -> Iterator:
    """One entry in both engines, and OpenSearch behind a proxy that refuses."""
    logbook.write([Text("one", "klystron tripped")])
    proxy = make_proxy(opensearch.url)
    client = make_client(Settings.load({"OPENSEARCH_URL": proxy.url}))
    assert client is not None
    proxy.refuse(on=True)
    yield replace(logbook.context(), opensearch=lambda: client), proxy
    client.close()


@pytest.mark.requirement("C25", "C44", "S2-57")
def test_opensearch_that_is_back_in_a_moment_is_what_answers(behind_proxy):
    context, proxy = behind_proxy
    client = context.opensearch()
    asked: list[OpenSearch] = []

    def back_for_the_second() -> OpenSearch:
        if asked:
            proxy.refuse(on=False)
        asked.append(client)
        return client

    circuit = Circuit(time.monotonic)
    context = replace(context, opensearch=back_for_the_second, circuit=circuit)
    (told,) = carried_out("os_bm25", context)
    assert (told.name, told.status, told.attempts) == ("os_bm25", "ok", 2)
    assert len(asked) == 2


@pytest.mark.requirement("C07", "C25")
def test_a_branch_counts_once_for_the_circuit_and_an_open_one_is_not_asked_again(
    behind_proxy,
):
    context, _ = behind_proxy
    now = [100.0]
    context = replace(context, circuit=Circuit(lambda: now[0]))
    told = [carried_out("os_bm25", context) for _ in range(OPENS_AFTER_FAILURES + 1)]
    firsts = [first for first, _ in told]
    assert [one.attempts for one in firsts] == [2, 2, 2, 2, 1, 1]
    assert [one.status for one in firsts] == [*["error"] * 5, "skipped"]
    assert {(one.name, one.status, one.attempts) for _, one in told} == {
        ("pg_fts", "ok", 1)
    }
    # A probe is one request.
    now[0] += 1.0
    probe, _ = carried_out("os_bm25", context)
    assert (probe.status, probe.attempts) == ("error", 1)


@pytest.mark.requirement("I17")
@pytest.mark.parametrize("seconds", [2.0, 30.0])
def test_a_backend_that_hangs_has_no_more_than_a_branch_s_share_of_a_long_search(
    asking: Asking, seconds: float
):
    given: list[float] = []

    class Timed(HashingEncoder):
        def within(self, limit: float, /) -> Self:
            given.append(limit)
            return self

    asking.write(EntryDraft("api", "one", "klystron tripped"))
    context = replace(asking.context, encoder=lambda _: Timed())
    (told,) = carried_out("semantic", context, seconds)
    assert told.status == "ok"
    (limit,) = given
    assert 0 < limit <= min(seconds, 8.0)
