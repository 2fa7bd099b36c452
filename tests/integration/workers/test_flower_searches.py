"""Flower lists every kind of worker, and the tasks of searches that were submitted."""

import pytest

from shared.messaging.task_names import RUN_BRANCH
from tests.support.fixtures import system as systems
from tests.support.flower import flower_of, tasks_of, wait_for_tasks
from tests.support.waiting import until
from workers.runtime.worker_kinds import KINDS

QUESTION = {"query": "klystron", "mode": "hybrid"}
MODEL = "hashing-384"


@pytest.mark.timeout(240)
@pytest.mark.requirement("U15")
def test_a_submitted_job_is_followed_in_flower_and_a_direct_one_is_not(make_system):
    system = make_system(EMBEDDING_MODEL=MODEL)
    system.bring_up("api", "search")
    with flower_of(system) as flower, system.client() as client:
        direct = client.post("/v1/search/query", json=QUESTION).json()["job_id"]
        answer = client.post("/v1/search/jobs", json=QUESTION)
        job_id = answer.json()["job_id"]
        branches = wait_for_tasks(flower, job_id, 2)
        job = client.get(f"/v1/search/jobs/{job_id}", params={"wait_ms": 5000}).json()

        assert answer.status_code == 202
        assert job["state"] == "done"
        assert {one["name"] for one in branches} == {RUN_BRANCH}
        assert {one["retries"] for one in branches} == {0}
        assert all(one["runtime"] > 0 for one in branches)
        assert all(one["received"] <= one["succeeded"] for one in branches)
        assert all(one["worker"].startswith("search@") for one in branches)
        # The same worker took it before those.
        assert tasks_of(flower, direct) == []
        # What Flower tells is gone with it; the job is not.
        system.kill("flower")
        assert client.get(f"/v1/search/jobs/{job_id}").json()["state"] == "done"


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_direct_searches_are_shown_where_a_setting_says_so(make_system):
    system = make_system(EMBEDDING_MODEL=MODEL, LOGCHORD_FLOWER__DIRECT_SEARCHES="true")
    system.bring_up("api", "search")
    with flower_of(system) as flower, system.client() as client:
        direct = client.post("/v1/search/query", json=QUESTION).json()["job_id"]

        wait_for_tasks(flower, direct, 2)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_every_kind_of_worker_is_listed_with_its_queues(make_system, monkeypatch):
    for kind in KINDS:
        words = ("serve", "worker", ",".join(kind.queues))
        monkeypatch.setitem(systems.COMMANDS, kind.name, words)
    queues = {kind.name: set(kind.queues) for kind in KINDS}
    system = make_system(EMBEDDING_MODEL=MODEL)
    system.start(*queues)
    system.wait_ready(*queues)
    with flower_of(system) as flower:

        def answering() -> dict[str, set[str]]:
            # Queues are what remote control tells of a worker, and no heartbeat.
            workers = flower.get("/api/workers", params={"refresh": "true"}).json()
            return {
                name.partition("@")[0]: {one["name"] for one in told["active_queues"]}
                for name, told in workers.items()
                if told.get("active_queues")
            }

        def beating() -> set[str]:
            workers = flower.get("/api/workers", params={"status": "true"}).json()
            return {name.partition("@")[0] for name, is_on in workers.items() if is_on}

        until(lambda: answering() == queues, within_seconds=60, what="their queues")
        until(lambda: beating() == set(queues), within_seconds=30, what="heartbeats")
