"""Searches whose best hits a cross-encoder reads, over a real endpoint and Postgres."""

import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from api.search.routes.plain_search import question_of
from api.search.schemas.plain_search import PlainRequest
from shared.access.scope import Scope
from shared.embedding import load_model
from shared.embedding.models.encoder_contract import CrossEncoder
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.models.onnx_models import LateInteraction
from shared.entries.draft import EntryDraft
from shared.errors import DatabaseConnectionError, EmbeddingOutageError
from shared.messaging.celery_app import make_app
from shared.postgres.pool import Pool
from shared.search.query.ordering import Ordering
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.ranking.candidate_facts import UNREAD
from shared.search.response.search import carry_out_branches
from shared.search.results import cross_encoder_scores, ranking_features
from shared.search.retrieval.circuit import OPENS_AFTER_FAILURES, PROBE_SECONDS, Circuit
from shared.search.retrieval.search_context import SearchContext
from shared.settings.search_sections import RerankingSettings
from shared.settings.sections import ProviderSettings
from shared.settings.settings import Settings
from tests.support.ended_searches import body_of
from tests.support.fixtures.asking import Asking
from tests.support.pair_graph import save, save_pieces
from tests.support.stub_servers.rerank_server import Script, serving
from workers.runtime.context import Context, Resources
from workers.runtime.preload_models import Warm

ENCODER = HashingEncoder()
ANNA = Scope("default", "anna")
HYBRID = SearchQuery("klystron -valve", mode="hybrid")
ENTRIES = (
    EntryDraft("api", "first", "klystron klystron klystron tripped", title="morning"),
    EntryDraft("api", "second", "klystron tripped, replaced its window"),
    EntryDraft("api", "third", "klystron and a much longer story about the cooling"),
    EntryDraft("api", "closed", "klystron tripped for ben", readers=("ben",)),
)


@pytest.fixture
def server() -> Iterator[Script]:
    with serving() as script:
        yield script


def endpoint(server: Script, **fields: Any) -> CrossEncoder:
    given = ProviderSettings(base_url=server.url, api_key=SecretStr("sesame"))
    settings = RerankingSettings(model="here:tiny", **fields)
    return load_model.load_cross_encoder(settings, {"here": given}, Path())


@dataclass
class World:
    pool: Pool
    context: SearchContext
    circuit: Circuit = field(default_factory=lambda: Circuit(time.monotonic))

    def ask(
        self,
        encoder: Callable[[], CrossEncoder] | None,
        asked: SearchQuery = HYBRID,
        **ordering: Any,
    ) -> dict[str, Any]:
        """Return the answer of a search, as a worker makes it."""
        known = Ordering(
            by_model=True, similarity_threshold=-1.0, min_relevance_score=0
        )
        limits = PlanLimits(opensearch=False, ordering=replace(known, **ordering))
        plan = Plan.from_json(make_plan(asked, ANNA, limits).to_json())
        context = replace(
            self.context, cross_encoder=encoder, rerank_circuit=self.circuit
        )
        arrived = carry_out_branches(context, plan, context.now() + 5)
        return body_of(context, plan, arrived)


@pytest.fixture
def world(asking: Asking) -> World:
    asking.write(*ENTRIES, language=None)
    return World(asking.pool, asking.context)


def names(body: dict[str, Any]) -> list[str]:
    return [one["external_id"] for one in body["results"]]


def branch_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in body["branches"] if one["name"] == "rerank"]


def skipped(body: dict[str, Any]) -> list[str]:
    notes = body["diagnostics"]
    return [one["message"] for one in notes if one["code"] == "rerank_skipped"]


@pytest.mark.requirement("S1-06")
def test_what_the_model_finds_best_comes_first_with_its_logit_beside(world, server):
    server.scores = {"story": 0.9, "window": 0.6, "morning": 0.2}

    body = world.ask(lambda: endpoint(server))

    assert names(body) == ["third", "second", "first"]
    shown = [one["relevance_score"] for one in body["results"]]
    assert shown == pytest.approx([0.9, 0.6, 0.2])
    assert body["results"][0]["scores"]["rerank_logit"] == pytest.approx(math.log(9))
    assert {one["calibration"] for one in body["results"]} == {"rerank_sigmoid"}
    assert (body["reranked"], skipped(body), branch_of(body)) == (True, [], [])
    (asked,) = server.asked
    assert (asked["model"], asked["query"]) == ("tiny", "klystron")
    assert asked["documents"][0].startswith("morning\nklystron klystron")
    # Who may not see an entry has it sent to nobody.
    assert not any("for ben" in text for text in asked["documents"])
    assert server.keys == ["Bearer sesame"]


@pytest.mark.requirement("S1-06", "S1-43")
@pytest.mark.parametrize("method", ["keyword", "vector", "hybrid"])
def test_the_plain_search_is_reranked_by_whichever_method(world, server, method):
    server.scores = {"story": 0.9, "window": 0.5, "morning": 0.4}
    body = PlainRequest(query="klystron -valve", method=method)
    asked = question_of(body, {}, None, Settings())

    told = world.ask(lambda: endpoint(server), asked)

    assert names(told) == ["third", "second"]
    assert (told["reranked"], told["suppressed"]["count"]) == (True, 1)
    assert {one["calibration"] for one in told["results"]} == {"rerank_sigmoid"}
    without = world.ask(lambda: endpoint(server), asked, by_model=False)
    assert all(one["calibration"] != "rerank_sigmoid" for one in without["results"])
    assert len(server.asked) == 1


@pytest.mark.requirement("S1-11")
def test_beyond_its_window_hits_keep_their_order_below(world, server):
    server.scores = {"window": 0.9, "morning": 0.3, "story": 0.99}
    fused = names(world.ask(None))

    body = world.ask(lambda: endpoint(server), model_window=2)

    assert names(body)[2] == fused[2]
    assert len(server.asked[0]["documents"]) == 2
    shown = [one["relevance_score"] for one in body["results"]]
    assert shown == sorted(shown, reverse=True)


@pytest.mark.parametrize(
    "does", ["500", "404", "hangs", "a page", "too few", "no score", "lists"]
)
def test_a_model_that_fails_costs_the_search_its_order_alone(world, server, does):
    server.does = does
    linear = world.ask(lambda: endpoint(server), by_model=False)

    began = time.monotonic()
    body = world.ask(lambda: endpoint(server), model_timeout_ms=300)

    assert time.monotonic() - began < 3
    assert names(body) == names(linear)
    assert len(skipped(body)) == 1
    assert (body["state"], body["degraded"]) == ("done", False)
    (told,) = branch_of(body)
    late = does == "hangs"
    assert (told["status"], told["reason"]) == (
        "skipped",
        "deadline" if late else "no_model",
    )
    assert told["error_code"] == "embedding_unavailable"
    assert body["replayable"] is not late
    assert {one["calibration"] for one in body["results"]} == {"linear_map"}


def test_a_model_that_keeps_failing_is_left_alone_but_for_a_probe(world, server):
    now = 0.0
    world.circuit = Circuit(lambda: now)
    server.does = "503"

    def reasons() -> list[str]:
        return [one["reason"] for one in branch_of(world.ask(lambda: endpoint(server)))]

    failing = [reasons() for _ in range(OPENS_AFTER_FAILURES)]
    asked = len(server.asked)
    while_open = reasons()

    assert failing == [["no_model"]] * OPENS_AFTER_FAILURES
    assert while_open == ["circuit_open"]
    assert len(server.asked) == asked == OPENS_AFTER_FAILURES

    server.does = "answers"
    now += PROBE_SECONDS
    assert [reasons(), reasons()] == [[], []]
    assert len(server.asked) == asked + 2


def test_a_process_without_a_model_says_so_and_answers(world):
    body = world.ask(None)
    assert len(names(body)) == 3
    assert "no time" in skipped(body)[0]
    assert [one["reason"] for one in branch_of(body)] == ["deadline"]


def test_passages_that_cannot_be_read_are_not_said_to_be_a_missing_model(
    world, server, monkeypatch
):
    def away(*_: object) -> None:
        raise DatabaseConnectionError

    monkeypatch.setattr(cross_encoder_scores, "hydrate", away)

    (told,) = branch_of(world.ask(lambda: endpoint(server)))

    assert told["reason"] == told["error_code"] == DatabaseConnectionError.code
    assert server.asked == []


@pytest.mark.parametrize("planned", ["late", "model"])
def test_what_a_model_of_the_other_kind_says_is_not_taken(
    world, server, tmp_path, planned
):
    late = planned == "late"
    loaded = endpoint(server) if late else LateInteraction(save_pieces(tmp_path))

    body = world.ask(lambda: loaded, late=late)

    assert names(body) == names(world.ask(None, by_model=False))
    (told,) = branch_of(body)
    assert (told["status"], told["reason"]) == ("skipped", "no_model")
    assert told["error_code"] == "module_not_enabled"
    assert {one["calibration"] for one in body["results"]} == {"linear_map"}
    assert server.asked == []


def test_likenesses_that_would_move_nothing_are_not_computed(
    world, tmp_path, monkeypatch
):
    late = LateInteraction(save_pieces(tmp_path))
    (read,) = {
        one["calibration"] for one in world.ask(lambda: late, late=True)["results"]
    }
    assert read == "linear_map"

    def passages(*_: object) -> None:
        raise AssertionError

    # What it takes to weigh both branches could not be read in time.
    monkeypatch.setattr(ranking_features, "load_ranking_features", lambda *_: UNREAD)
    monkeypatch.setattr(cross_encoder_scores, "hydrate", passages)
    body = world.ask(lambda: late, late=True)

    assert {one["calibration"] for one in body["results"]} == {"fused_minmax"}
    assert (body["reranked"], branch_of(body)) == (False, [])
    assert "could not be read in time" in skipped(body)[0]


@pytest.mark.requirement("S1-23")
def test_a_model_that_is_not_there_is_a_branch_that_was_skipped(world, tmp_path):
    named = RerankingSettings(model=f"onnx:{tmp_path}")

    body = world.ask(lambda: load_model.load_cross_encoder(named, {}, Path()))

    assert len(names(body)) == 3
    (told,) = branch_of(body)
    assert (told["status"], told["reason"]) == ("skipped", "no_model")
    assert told["error_code"] == "configuration_invalid"
    assert [one["status"] for one in body["branches"]] == ["ok", "ok", "skipped"]
    assert (body["state"], body["degraded"], body["reranked"]) == ("done", False, True)


@pytest.mark.requirement("C43", "S1-23")
def test_a_local_model_is_loaded_before_the_first_search_that_needs_it(world, tmp_path):
    folder = save(tmp_path)
    settings = Settings.load(
        {"BROKER_URL": "redis://127.0.0.1:1", "LOGCHORD_RERANKING__MODEL": str(folder)}
    )
    resources = Resources(settings, make_app(settings), "test")
    Warm(resources).begin_reranking()
    # What is loaded is read no more.
    shutil.rmtree(folder)

    body = world.ask(lambda: Context(resources, {}).cross_encoder)

    resources.close()
    assert (body["reranked"], branch_of(body)) == (True, [])
    assert {one["calibration"] for one in body["results"]} == {"rerank_sigmoid"}
    assert RerankingSettings().window == Ordering().model_window == 50


@pytest.mark.requirement("S1-24")
def test_logits_of_an_endpoint_are_taken_as_they_are(server):
    server.scores = {"a": -3.0, "b": 4.0}
    encoder = endpoint(server, endpoint_scores="logit")
    assert encoder.logits("q", ["b", "a", "b"], 5.0) == [4.0, -3.0, 4.0]
    assert encoder.logits("q", [], 5.0) == []
    assert len(server.asked) == 1
    with pytest.raises(EmbeddingOutageError):
        endpoint(server).logits("q", ["b"], 5.0)
