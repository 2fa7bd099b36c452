"""F6: an entry whose work takes all the memory there is costs its child alone."""

from typing import LiteralString

import psycopg
import pytest

from tests.support.faults.measures import size
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.peaks import Peaks
from tests.support.waiting import until

LIMIT_BYTES = 512 * 1024 * 1024
POISONS = [
    {"word": word, "where": stage, "does": "hog", "megabytes": 100_000}
    for stage, word in (
        ("metadata", "venom"),
        ("digest", "arsenic"),
        ("index", "toxin"),
    )
]
ENTRIES = size.times(50, 1000)
ASIDE: LiteralString = """
    SELECT entry_id::text, stage, attempts, error #>> '{details,technical}'
      FROM quarantine"""


@pytest.mark.slow
@pytest.mark.requirement("F6", "P7", "P11")
@pytest.mark.timeout(240)
def test_an_entry_that_takes_all_memory_costs_its_child_alone(make_system, opensearch):
    system = make_system(
        opensearch=opensearch.url,
        afresh=True,
        **size.QUICK_VECTORS,
        **size.SHORT_LEASE,
        **size.EVERY_STAGE,
    )
    system.start("api", "upkeep", "embed")
    system.start("enhance", faulty={"poison": POISONS})
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F6")

    with system.client() as client, Peaks(system.processes["enhance"].pid) as seen:
        until(lambda: len(seen.children) >= 2, within_seconds=10)
        first = set(seen.children)
        for number in range(ENTRIES // 2):
            ledger.post_until_accepted(client, number)
        hogs = {
            str(one["where"]): ledger.post(
                client, -n, f"a drop of {one['word']} in the cooling water"
            )
            for n, one in enumerate(POISONS, 1)
        }
        for number in range(ENTRIES // 2, ENTRIES):
            ledger.post_until_accepted(client, number)
        line = ledger.close(within_seconds=90)

    with psycopg.connect(system.database) as conn:
        aside = conn.execute(ASIDE).fetchall()
    replaced = len(seen.children - first)
    print(
        f"F6 parent_mib={seen.parent >> 20} child_mib={seen.child >> 20}"
        f" replaced={replaced} strikes={aside}"
    )
    assert (line.lost, line.duplicate_effects, line.drift) == (0, 0, 0)
    assert sorted(aside) == sorted(
        (hog, stage, 1 + 3, "MemoryError") for stage, hog in hogs.items()
    )
    # Three strikes each; a child that came and went between two looks was not seen.
    assert replaced >= 2 * len(POISONS)
    assert seen.parent < LIMIT_BYTES
    assert seen.child < LIMIT_BYTES
    assert not system.has_ended("enhance")
