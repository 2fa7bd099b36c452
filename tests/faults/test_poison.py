"""F7, F8: entries that no worker survives, and a stage at which every entry fails."""

from typing import LiteralString

import psycopg
import pytest

from shared.messaging.stage_names import embed_stage
from tests.support.faults.injected.restarting import started_again
from tests.support.faults.measures import counting
from tests.support.faults.measures.ledger import Ledger, p95
from tests.support.faults.measures.size import (
    EVERY_STAGE,
    QUICK_VECTORS,
    SHORT_LEASE,
    N,
)
from tests.support.fixtures.system import System
from tests.support.waiting import until

BROKEN = {"word": "", "where": "embed", "does": "raise"}
BUDGET_IN_ROW = 25
PAUSED_SECONDS = 10
NOISE_SECONDS = 0.5
VECTORS = embed_stage(QUICK_VECTORS["EMBEDDING_MODEL"])
# One for each stage, all at once.
POISONS = {
    stage: {"word": word, "where": stage.partition(":")[0], "does": "kill"}
    for stage, word in (
        ("metadata", "venom"),
        ("digest", "arsenic"),
        ("duplicates", "hemlock"),
        ("index", "toxin"),
        (VECTORS, "cyanide"),
    )
}
# Of a backlog, amid which the poison lies: a batch grows to 32 while many wait.
BEFORE = 3 * N // 4

# From accepted to the end of the stage, for each entry of one run.
_SECONDS: LiteralString = """
    SELECT extract(epoch FROM max(ended.at) - to_timestamp(accepted.at))::float
      FROM unnest(%(ids)s::uuid[], %(times)s::float[]) AS accepted (id, at)
      JOIN end_log ended ON ended.entry_id = accepted.id
       AND ended.stage LIKE %(stage)s || '%%'
     GROUP BY accepted.id, accepted.at"""
# An entry may be due for the index more than once.
_RUNS: LiteralString = """
    SELECT entry_id::text, max(runs) FROM (
        SELECT entry_id, count(*) AS runs FROM claim_log
         WHERE stage = %(stage)s GROUP BY entry_id, created_at, want) AS due
     GROUP BY entry_id"""
_FIRST_BATCH: LiteralString = """
    SELECT count(*) FROM claim_log
     WHERE claim = (SELECT claim FROM claim_log
                     WHERE entry_id = %(id)s AND stage = %(stage)s
                     ORDER BY at LIMIT 1)"""
_PAUSED: LiteralString = """
    SELECT extract(epoch FROM since)::float FROM stage_pause
     WHERE code = 'quarantine_budget_spent' AND stage LIKE 'embed:%'"""
_FIRST_FAILURE: LiteralString = """
    SELECT extract(epoch FROM min(at))::float FROM claim_log
     WHERE stage LIKE 'embed:%'"""
_DUE: LiteralString = "SELECT count(*) FROM work WHERE stage LIKE 'embed:%'"
_ASIDE: LiteralString = """
    SELECT entry_id::text, stage, error ->> 'code', attempts FROM quarantine"""
_PLAIN: LiteralString = """
    SELECT t.plain AND m.flags = '{plain_split}'
           AND t.tsv @@ plainto_tsquery('simple', %(words)s)
      FROM entry_text t JOIN entry_metadata m USING (entry_id)
     WHERE t.entry_id = %(id)s"""


@pytest.mark.smoke
@pytest.mark.requirement("F7", "P7", "P1")
@pytest.mark.timeout(240)
def test_an_entry_that_kills_its_worker_spends_its_own_strikes_alone(make_system):
    system = make_system(**SHORT_LEASE)
    system.start("api", "upkeep")
    system.start("enhance", faulty={"poison": [POISONS["metadata"]]})
    system.wait_ready("enhance", "upkeep")
    ledger = Ledger(system, "F7", vectors=False)

    with system.client() as client:
        calm = [ledger.post_until_accepted(client, n) for n in range(N)]
        until(lambda: ledger.due() == 0, within_seconds=60)
        others = [ledger.post_until_accepted(client, n) for n in range(N, N + N // 10)]
        venom = ledger.post(client, -1, "a drop of venom in the cooling water")
        assert venom is not None
        more = range(N + N // 10, 2 * N - 1)
        others += [ledger.post_until_accepted(client, n) for n in more]
    line = ledger.close(within_seconds=120)

    of_venom = {"id": venom, "stage": "metadata"}
    with psycopg.connect(system.database) as conn:
        runs: dict[str, int] = dict(
            conn.execute(_RUNS, {"stage": "metadata"}).fetchall()
        )
        aside = conn.execute(_ASIDE).fetchall()
        together = conn.execute(_FIRST_BATCH, of_venom).fetchone()
    without, beside = p95(seconds(ledger, calm)), p95(seconds(ledger, others))
    print(f"F7 p95_without={without:.3f} p95_beside={beside:.3f} batch={together}")
    assert line.accepted == 2 * N
    assert line.lost == 0
    assert line.duplicate_effects == 0
    assert aside == [(venom, "metadata", "worker_lost", 1 + 3)]
    assert is_plainly_there(system, venom, "drop of venom")
    assert runs.pop(venom) == 1 + 3
    assert max(runs.values()) <= 2
    # Who waits for the poison waits for a lease of seconds; less is the machine's own.
    assert beside <= max(1.5 * without, without + NOISE_SECONDS)


@pytest.mark.slow
@pytest.mark.requirement("F7", "P1", "P6", "P7")
@pytest.mark.timeout(500)
def test_entries_that_kill_their_worker_at_every_stage_spend_their_own_strikes_alone(
    make_system, opensearch
):
    system = make_system(
        opensearch=opensearch.url, **QUICK_VECTORS, **SHORT_LEASE, **EVERY_STAGE
    )
    system.bring_up("api", "upkeep")
    ledger = Ledger(system, "F7 every stage")

    with system.client() as client:
        ledger.post_many(client, range(BEFORE))
        poisons = {
            stage: str(ledger.post(client, -n, f"{one['word']} in the cooling water"))
            for n, (stage, one) in enumerate(POISONS.items(), 1)
        }
        ledger.post_many(client, range(BEFORE, N - len(POISONS)))
    # All of it waits for them, so that their batches are large.
    faulty = {"poison": list(POISONS.values())}
    system.start("enhance", "embed", faulty=faulty)
    # In a pool of threads the process itself dies; a child is replaced by its parent.
    with started_again(system, ("embed",), faulty):
        line = ledger.close(within_seconds=180)

    with psycopg.connect(system.database) as conn:
        aside = conn.execute(_ASIDE).fetchall()
        runs: dict[str, dict[str, int]] = {
            stage: dict(conn.execute(_RUNS, {"stage": stage}).fetchall())
            for stage in POISONS
        }
        together = {
            stage: counting.number(conn, _FIRST_BATCH, id=one, stage=stage)
            for stage, one in poisons.items()
        }
    print(f"F7 every stage batches={together}")
    assert line.accepted == N
    assert (line.lost, line.duplicate_effects, line.drift) == (0, 0, 0)
    assert sorted(aside) == sorted(
        (one, stage, "worker_lost", 1 + 3) for stage, one in poisons.items()
    )
    venom = poisons["metadata"]
    assert is_plainly_there(system, venom, "venom in the cooling water")
    for stage, one in poisons.items():
        assert runs[stage].pop(one) == 1 + 3
        assert max(runs[stage].values()) <= 2
    assert min(together.values()) > 1


@pytest.mark.slow
@pytest.mark.requirement("F8", "P1", "P7")
@pytest.mark.timeout(240)
def test_a_broken_encoder_pauses_its_stage_and_puts_few_aside(make_system, opensearch):
    system = make_system(
        opensearch=opensearch.url, **QUICK_VECTORS, **SHORT_LEASE, **EVERY_STAGE
    )
    system.start("api", "upkeep", "enhance")
    system.start("embed", faulty={"poison": [BROKEN]})
    system.wait_ready("embed", "enhance", "upkeep")
    ledger = Ledger(system, "F8")

    with (
        system.client(system.key(scopes=("admin", "ingest"))) as client,
        psycopg.connect(system.database, autocommit=True) as conn,
    ):
        ledger.post_many(client, range(N))
        paused = until(
            lambda: conn.execute(_PAUSED).fetchone(),
            within_seconds=60,
            what=lambda: f"the stage paused\n{system.tail('embed')}",
        )
        began = conn.execute(_FIRST_FAILURE).fetchone()
        assert began is not None
        health = until(
            lambda: client.get("/health").json()["status"] == "degraded",
            within_seconds=PAUSED_SECONDS,
        )
        spent = client.get("/v1/status").json()["quarantine_budget_spent"]
        until(
            lambda: not in_other_stages(ledger),
            within_seconds=60,
            what="the other stages done",
        )
        aside = conn.execute(_ASIDE).fetchall()
        due = conn.execute(_DUE).fetchone()
        assert due is not None

        system.kill("embed")
        system.start("embed")
        released = client.post("/v1/quarantine/retry", json={"stage": spent[0]}).json()
    line = ledger.close(within_seconds=120)

    print(f"F8 paused_s={paused[0] - began[0]:.2f} aside={len(aside)} due={due[0]}")
    assert health
    assert paused[0] - began[0] < PAUSED_SECONDS
    assert 0 < len(aside) <= BUDGET_IN_ROW
    assert {code for _, _, code, _ in aside} == {"internal_error"}
    assert len(aside) + due[0] == N
    assert released["released"] == len(aside)
    assert (line.accepted, line.harm) == (N, {})


def is_plainly_there(system: System, entry_id: str, words: str) -> bool:
    """Tell whether an entry that is not read is found by its words, and flagged."""
    with psycopg.connect(system.database) as conn:
        found = conn.execute(_PLAIN, {"id": entry_id, "words": words}).fetchone()
    return found == (True,)


def in_other_stages(ledger: Ledger) -> bool:
    """Tell whether anything but vectors is still to be made."""
    with psycopg.connect(ledger.system.database) as conn:
        found = conn.execute(
            "SELECT FROM work WHERE stage NOT LIKE 'embed:%' LIMIT 1"
        ).fetchone()
    return found is not None


def seconds(ledger: Ledger, ids: list[str], stage: str = "metadata") -> list[float]:
    """Return how long each of these took from accepted to the end of a stage."""
    times = [ledger.times[one] for one in ids]
    with psycopg.connect(ledger.system.database) as conn:
        values = {"ids": ids, "times": times, "stage": stage}
        found = conn.execute(_SECONDS, values).fetchall()
    assert len(found) == len(ids)
    return [row[0] for row in found]
