"""F5: work that never comes back, in a child of a prefork pool and in a thread."""

import json
from datetime import datetime
from typing import Any, LiteralString

import pytest

from shared.messaging.task_names import task_of
from tests.faults.test_poison import is_plainly_there, seconds
from tests.support.faults.injected.restarting import started_again
from tests.support.faults.measures.ledger import Ledger, p95
from tests.support.faults.measures.size import (
    EVERY_STAGE,
    QUICK_VECTORS,
    SHORT_LEASE,
    N,
)
from tests.support.fixtures.system import System
from tests.support.statements import fetch_rows, fetch_value
from tests.support.waiting import until

LATE_SECONDS = 2.0
MAX_STRIKES = 3
# A thread's limit is that of one batch, which takes 10 s at most.
THREAD_SECONDS = 12.0
# At which stage, by which word, and whether a limit interrupts it.
HARMS = (
    ("metadata", "lullaby", "hang"),
    ("digest", "coma", "stuck"),
    ("duplicates", "torpor", "stuck"),
    ("index", "stupor", "hang"),
)

_CLAIMS: LiteralString = """
    SELECT extract(epoch FROM at)::float FROM claim_log
     WHERE entry_id = %(id)s AND stage LIKE %(stage)s || '%%' ORDER BY at"""
_ASIDE: LiteralString = """
    SELECT entry_id::text, stage, error ->> 'code', attempts FROM quarantine"""


def limits(soft: float, hard: float) -> dict[str, str]:
    """Return settings with which tasks may take so long.

    More than 25 s, in a pool of children: a task claims for 15, and ends its batch.
    """
    return {
        "LOGCHORD_WORK__TASK_SOFT_SECONDS": str(soft),
        "LOGCHORD_WORK__TASK_HARD_SECONDS": str(hard),
    }


pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.mark.requirement("F5", "P7")
def test_limits_end_what_hangs_in_a_child_and_three_strikes_put_it_aside(
    make_system, opensearch
):
    system = make_system(
        opensearch=opensearch.url,
        **QUICK_VECTORS,
        **SHORT_LEASE,
        **EVERY_STAGE,
        **limits(27, 29),
    )
    orders = [
        {"word": word, "where": stage, "does": does} for stage, word, does in HARMS
    ]
    system.start("api", "upkeep", "embed")
    # Each has two children, so that whatever hangs leaves half of them.
    names = tuple(f"enhance-{number}" for number in range(len(HARMS)))
    for name in names:
        system.start(name, command="enhance", faulty={"poison": orders})
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F5 child")

    harmful, without, beside = post_beside(
        ledger, "metadata", *(f"the {word} of a klystron" for _, word, _ in HARMS)
    )
    line = ledger.close(within_seconds=300)

    print(f"F5 child p95_without={without:.3f} p95_beside={beside:.3f}")
    codes = {"hang": "task_timeout", "stuck": "worker_lost"}
    assert sorted(put_aside(system)) == sorted(
        (entry_id, stage, codes[does], 1 + MAX_STRIKES)
        for entry_id, (stage, _, does) in zip(harmful, HARMS, strict=True)
    )
    # The stage by which it is found is the first of them.
    assert is_plainly_there(system, harmful[0], "the lullaby of a klystron")
    for entry_id, (stage, _, does) in zip(harmful, HARMS, strict=True):
        limit = {"hang": 27.0, "stuck": 29.0}[does]
        told = [entry_id]
        if does == "stuck":
            told = ["Hard time limit", f" {task_of(stage)[0]}["]
        took = since_claims(system, entry_id, stage, logged(system, names, *told))
        print(f"F5 child {stage} limit={limit} fired after {took}")
        assert len(took) == 1 + MAX_STRIKES
        # The first time it may have come late into a task that was running.
        assert all(one < limit + LATE_SECONDS for one in took)
        assert all(one >= limit - 1 for one in took[1:])
    assert line.accepted == 2 * N
    assert (line.lost, line.duplicate_effects, line.drift) == (0, 0, 0)
    assert beside <= 1.5 * without


@pytest.mark.requirement("F5", "P7")
def test_a_thread_that_hangs_loses_its_lease_and_its_process(make_system, opensearch):
    system = make_system(
        opensearch=opensearch.url,
        **QUICK_VECTORS,
        **SHORT_LEASE,
        **EVERY_STAGE,
        **limits(THREAD_SECONDS, THREAD_SECONDS),
    )
    lullaby = {"word": "lullaby", "where": "embed", "does": "stuck"}
    faulty = {"poison": [lullaby]}
    workers = ("embed", "embed-2")
    system.start("api", "upkeep", "enhance")
    for name in workers:
        system.start(name, command="embed", faulty=faulty)
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F5 thread")

    with started_again(system, workers, faulty):
        (hung,), without, beside = post_beside(
            ledger, "embed", "the lullaby of a klystron"
        )
        line = ledger.close(within_seconds=180)

    print(f"F5 thread p95_without={without:.3f} p95_beside={beside:.3f}")
    ((entry_id, _, code, attempts),) = put_aside(system)
    assert (entry_id, code, attempts) == (hung, "worker_lost", 1 + MAX_STRIKES)
    fired = logged(system, workers, '"work_hung"')
    took = since_claims(system, hung, "embed:", fired)
    print(f"F5 thread limit={THREAD_SECONDS} fired after {took}")
    assert len(took) == 1 + MAX_STRIKES
    late = THREAD_SECONDS + LATE_SECONDS
    assert all(THREAD_SECONDS - 1 <= one < late for one in took)
    assert line.accepted == 2 * N
    assert (line.lost, line.duplicate_effects, line.drift) == (0, 0, 0)
    assert beside <= 1.5 * without


def post_beside(
    ledger: Ledger, stage: str, *texts: str
) -> tuple[list[str], float, float]:
    """Post entries without and beside what hangs; return it, and what 95 % took."""
    with ledger.system.client() as client:
        calm = [ledger.post_until_accepted(client, n) for n in range(N)]
        until(lambda: ledger.due() == 0, within_seconds=60)
        hung = [str(ledger.post(client, -n, text)) for n, text in enumerate(texts, 1)]
        others = range(N, 2 * N - len(texts))
        beside = [ledger.post_until_accepted(client, n) for n in others]
        until(
            lambda: still_due(ledger, beside) == 0,
            within_seconds=120,
            what="the others done",
        )
    return hung, p95(seconds(ledger, calm, stage)), p95(seconds(ledger, beside, stage))


def still_due(ledger: Ledger, ids: list[str]) -> int:
    """Return how many rows of these are still due."""
    return fetch_value(
        ledger.system.database,
        "SELECT count(*) FROM work WHERE entry_id = ANY (%(ids)s::uuid[])"
        " AND (%(vectors)s OR stage NOT LIKE 'embed:%%')",
        {"ids": ids, "vectors": ledger.vectors},
    )


def put_aside(system: System) -> list[tuple[Any, ...]]:
    """Return what was quarantined, and why."""
    return fetch_rows(system.database, _ASIDE)


def logged(system: System, names: tuple[str, ...], *words: str) -> list[float]:
    """Return when these processes logged lines with all of these words."""
    lines = [line for name in names for line in system.tail(name, 10**6).splitlines()]
    told = [line for line in lines if all(word in line for word in words)]
    found = [json.loads(line) for line in told if line[0] == "{"]
    return sorted(datetime.fromisoformat(one["timestamp"]).timestamp() for one in found)


def since_claims(
    system: System, entry_id: str, stage: str, fired: list[float]
) -> list[float]:
    """Return the seconds from each claim of an entry to what was logged next."""
    values = {"id": entry_id, "stage": stage}
    claims = [row[0] for row in fetch_rows(system.database, _CLAIMS, values)]
    after = [
        min((at - claim for at in fired if at > claim), default=0.0) for claim in claims
    ]
    return [round(one, 2) for one in after]
