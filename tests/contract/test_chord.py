"""A search in which a model reasons: its branches are the header of a chord."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from shared.messaging.task_names import END_SEARCH, RUN_BRANCH
from tests.contract.outside import EXAMPLES, installed_package
from tests.support.fixtures.system import Factory, System
from tests.support.flower import flower_of, wait_for_tasks
from tests.support.model_world import model_world
from tests.support.waiting import until

PACKAGE = EXAMPLES / "search_module"
DEADLINE_MS = 2000


@pytest.fixture
def make_pinned(make_system: Factory, tmp_path: Path) -> Callable[[], System]:
    """Make a system with a package's pipeline, in which a model is said to reason."""
    return lambda: make_system(
        PYTHONPATH=str(installed_package(PACKAGE, tmp_path)),
        LOGCHORD_SEARCH_MODULES__PINNED__ENABLED="true",
        LOGCHORD_SEARCH_MODULES__PINNED_AGAIN__ENABLED="true",
        LOGCHORD_REGISTRY="logchord_pinned.registry",
        LOGCHORD_PIPELINES__WORDS_AND_PINS__ENABLED="true",
        LOGCHORD_PIPELINES__WORDS_AND_PINS__RETRIEVAL_MODULES="keyword pinned_again",
        EMBEDDING_MODEL="hashing-384",
    )


@pytest.mark.requirement("P8")
def test_its_end_runs_in_a_worker_of_answers_and_late_in_the_api(make_pinned):
    system = make_pinned()
    system.bring_up("api", "search", "enhance")
    broker = redis.Redis.from_url(system.environment["BROKER_URL"])
    question = {
        "query": "klystron",
        "mode": "words_and_pins",
        "deadline_ms": DEADLINE_MS,
    }
    with system.client() as client:
        entry = {"external_id": "one", "text": "the klystron tripped"}
        client.post("/v1/entries", json=entry).raise_for_status()

        def found() -> bool:
            words = {"query": "klystron", "mode": "keyword"}
            return bool(
                client.post("/v1/search/query", json=words).json()["total_results"]
            )

        until(found, within_seconds=30, what="the words of the entry")

        # No worker serves the queue: the API ranks what is in, near the deadline.
        late = client.post("/v1/search/query", json=question).json()
        assert "results" in late, str(late)
        assert [one["external_id"] for one in late["results"]] == ["one"]
        assert late["search_duration_ms"] > DEADLINE_MS / 2
        (waiting,) = broker.lrange("answer", 0, -1)
        assert END_SEARCH.encode() in waiting

        system.bring_up("answer")
        until(
            lambda: broker.llen("answer") == 0,
            within_seconds=30,
            what="the end that waited",
        )
        began = time.monotonic()
        answer = client.post("/v1/search/query", json=question).json()
        assert [one["external_id"] for one in answer["results"]] == ["one"]
        assert [one["status"] for one in answer["branches"]] == ["ok", "empty"]
        assert (time.monotonic() - began) * 1000 < late["search_duration_ms"]
        job = client.get(f"/v1/search/jobs/{answer['job_id']}").json()
        assert job["state"] == "done"


@pytest.mark.requirement("U15")
def test_a_submitted_one_shows_its_branches_and_its_body_in_flower(make_pinned):
    system = make_pinned()
    system.bring_up("api", "search", "answer")
    question = {"query": "klystron", "mode": "words_and_pins"}
    with flower_of(system) as flower, system.client() as client:
        answer = client.post("/v1/search/jobs", json=question)
        answer.raise_for_status()

        tasks = wait_for_tasks(flower, answer.json()["job_id"], 3)

    names = sorted(one["name"] for one in tasks)
    assert names == [END_SEARCH, RUN_BRANCH, RUN_BRANCH]


@pytest.mark.requirement("U15", "C41", "S1-02", "S1-10")
def test_a_model_that_words_the_answer_makes_a_chord_of_the_two_branches(make_system):
    with model_world(make_system) as world, flower_of(world.system) as flower:
        until(
            lambda: len(_outcomes(world.ask(mode="hybrid"))) == 2,
            within_seconds=30,
            what="the vector of the entry",
        )
        flat, worded = world.run(mode="hybrid"), world.run()
        group = wait_for_tasks(flower, str(flat["job_id"]), 2)
        tasks = wait_for_tasks(flower, str(worded["job_id"]), 3)

    # Without a model the last of the two branches answers.
    assert [one["name"] for one in group] == [RUN_BRANCH, RUN_BRANCH]
    assert worded["response"]["llm_status"] == "ok", worded
    names = sorted(one["name"] for one in tasks)
    assert names == [END_SEARCH, RUN_BRANCH, RUN_BRANCH]
    # The body comes behind its whole header.
    (body,) = [one for one in tasks if one["name"] == END_SEARCH]
    header = [one for one in tasks if one["name"] == RUN_BRANCH]
    assert body["started"] >= max(one["started"] for one in header)
    assert _outcomes(flat["response"]) == _outcomes(worded["response"])
    found = [
        [one["entry_id"] for one in job["response"]["results"]]
        for job in (flat, worded)
    ]
    assert found[0] == found[1] != []


def _outcomes(answer: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the branches that found something, and how much."""
    return [
        (one["name"], one["kept"])
        for one in answer["branches"]
        if one["status"] == "ok"
    ]
