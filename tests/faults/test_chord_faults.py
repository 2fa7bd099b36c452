"""F26 and F27 for the chord: its header, its body, and the state of both are lost.

A search of mode `rag` whose answer a model words, and one of mode `agentic`.
"""

import random
import time
from collections.abc import Iterator

import pytest

from tests.support.faults.fan_outs import (
    AT_ONCE,
    FAMILIES,
    LATE_SECONDS,
    MODULES,
    SEARCHES,
    WORKERS,
    End,
    asking,
    assert_lacks,
    assert_missing_are_told,
    drop_one_of_each,
    fill,
    hold_answers,
    kill_workers,
    nobody_pops,
    rounds,
    start_search,
    summed_up,
    were_sent,
)
from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.queues import Queues
from tests.support.faults.measures.size import QUICK_VECTORS, SEED
from tests.support.fixtures.system import Factory, System
from tests.support.stub_servers.chat_server import chatting, says
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(1800)]

# The queue of the header of either; the body of both comes to `answer`.
QUEUE_OF = {"rag": "search", "agentic": "search.bulk"}
# They have threads for as many bodies as are under way at once.
ANSWERERS = ("answer", "answer-2", "answer-3")


@pytest.fixture(scope="module")
def made(make_lasting_system: Factory) -> Iterator[System]:
    """A logbook on Postgres alone, with a model that words answers."""
    with chatting(says("Beam dump number 1.")) as model:
        system = make_lasting_system(
            LOGCHORD_API__PROVIDERS__HERE__BASE_URL=model.url,
            LOGCHORD_REASONING__PROVIDER="here",
            LOGCHORD_REASONING__MODEL_ID="tiny",
            LOGCHORD_SYNTHESIS__QUOTA_PER_DAY="100000",
            LOGCHORD_SYNTHESIS__QUOTA_PER_MINUTE="100000",
            LOGCHORD_FAULT_INJECTION="true",
            **QUICK_VECTORS,
        )
        system.environment["SEARCH_REDIS_URL"] = system.environment["BROKER_URL"]
        fill(system)
        yield system
        assert model.asked


@pytest.fixture
def system(made: System) -> Iterator[System]:
    """The same one for each test, which starts the workers that it needs."""
    yield made
    for name in {*WORKERS, *ANSWERERS} & made.processes.keys():
        made.kill(name)


@pytest.mark.requirement("F26", "P8", "C41")
@pytest.mark.parametrize("mode", QUEUE_OF)
def test_searches_end_partial_when_a_worker_dies_that_runs_one_of_the_header(
    system, mode
):
    with asking(system, mode) as asker:
        system.bring_up("answer")
        ends = kill_workers(system, asker, deadline_s=12, set_up_s=10)

    summed_up(f"F26 worker killed, {mode}", ends)


@pytest.mark.requirement("F26", "P8", "C41")
@pytest.mark.parametrize("mode", QUEUE_OF)
def test_searches_end_when_messages_of_the_header_or_the_body_are_dropped(system, mode):
    lacking: list[End] = []
    whole: list[End] = []
    queue, queues = QUEUE_OF[mode], Queues(system)
    with asking(system, mode) as asker:
        start_search(system, asker, "search", "answer")
        for _ in rounds(SEARCHES // AT_ONCE):
            if len(lacking) == SEARCHES // 2:
                break
            with system.frozen("search", "answer"):
                # What a worker that is held still waits for would be lost to it.
                until(lambda: nobody_pops(queues), within_seconds=10, what="no pop")
                asker.ask(AT_ONCE, deadline_s=9)
                until(
                    lambda: queues.length(queue) == 2 * AT_ONCE,
                    within_seconds=7,
                    what="every message of every header",
                )
                drop_one_of_each(queues, queue)
            some = asker.ends()
            lacking += some if were_sent(some) else []
        for _ in rounds(SEARCHES // AT_ONCE):
            if len(whole) == SEARCHES // 2:
                break
            with system.frozen("answer"):
                with system.frozen("search"):
                    until(lambda: nobody_pops(queues), within_seconds=10, what="no pop")
                asker.ask(AT_ONCE, deadline_s=9)
                until(
                    lambda: queues.length("answer") == AT_ONCE,
                    within_seconds=7,
                    what="the body of every chord",
                )
                queues.redis.delete("answer")
            some = asker.ends()
            whole += some if were_sent(some) else []
    queues.close()

    for end in lacking:
        assert_lacks(end, next(f for f in FAMILIES if end.branches[MODULES[f]] != "ok"))
    assert {tuple(end.branches.values()) for end in whole} == {("ok", "ok")}
    assert {end.state for end in whole} <= {"done", "partial"}
    summed_up(f"F26 message dropped, {mode}", lacking + whole)


@pytest.mark.requirement("F26", "P8", "C41")
@pytest.mark.parametrize("mode", QUEUE_OF)
def test_searches_end_when_the_body_dies_before_it_answers(system, mode, tmp_path):
    ends: list[End] = []
    orders, options = Orders(tmp_path), {"faulty": {"checkpoints": str(tmp_path)}}
    with asking(system, mode) as asker:
        start_search(system, asker, *WORKERS, *ANSWERERS, **options)
        for _ in rounds(SEARCHES // AT_ONCE):
            asker.ask(AT_ONCE, deadline_s=12, fault="branch=semantic;delay_ms=3000")
            is_set_up = hold_answers(asker, orders, AT_ONCE, asked_s=2.8, held_s=8)
            for name in ANSWERERS:
                system.kill(name)
            some = asker.ends()
            assert max(end.late_s for end in some) < LATE_SECONDS
            if is_set_up and were_sent(some):
                ends += some
            if len(ends) == SEARCHES:
                break
            start_search(system, asker, *ANSWERERS, **options)

    # All of the header is in, whoever ranks it now.
    assert {tuple(end.branches.values()) for end in ends} == {("ok", "ok")}
    assert {end.state for end in ends} <= {"done", "partial"}
    summed_up(f"F26 body killed, {mode}", ends)


@pytest.mark.requirement("F27", "P8", "U14", "C41")
@pytest.mark.parametrize("mode", QUEUE_OF)
def test_searches_end_when_the_counts_of_the_chord_are_flushed(system, mode):
    chance = random.Random(SEED)
    ends: list[End] = []
    with asking(system, mode) as asker:
        start_search(system, asker, *WORKERS, "answer")
        for _ in rounds(SEARCHES // AT_ONCE):
            asker.ask(AT_ONCE, deadline_s=6, fault="branch=semantic;delay_ms=600")
            # Before the header, in the middle of it, or with all of it in.
            moment = time.monotonic() + chance.uniform(0.05, 1.5)
            until(lambda m=moment: time.monotonic() > m, within_seconds=3)
            asker.forget()
            some = asker.ends()
            ends += some if were_sent(some) else []
            if len(ends) == SEARCHES:
                break

    summed_up(f"F27, {mode}", ends)
    assert_missing_are_told(ends)
