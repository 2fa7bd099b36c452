"""Workers in test context meet the faults ordered, where they were ordered."""

import subprocess
import sys

import psycopg
import pytest

from tests.support.commands import run_command
from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.size import QUICK_VECTORS, SHORT_LEASE
from tests.support.fixtures.system import ROOT
from tests.support.waiting import until

CLOCK = """
import sys
from tests.support.faults.injected import clock
clock.shift(shift_seconds=7200)
import datetime, time
from shared.ids import uuid7
now = datetime.datetime.now(datetime.UTC)
assert isinstance(now, datetime.datetime)
assert abs(now.timestamp() - time.time()) < 1
print(time.time(), uuid7().int >> 80)
"""

# Nothing here measures how soon: a worker may first have to start on a busy machine.
pytestmark = pytest.mark.patient
PATIENCE_SECONDS = 90.0
# Who is quarantined unread has words, too, of a plain split.
READ = "SELECT count(*) FROM entry_text WHERE NOT plain"


@pytest.mark.timeout(300)
def test_an_ordered_death_happens_once_and_the_work_is_done_after_it(
    make_system, tmp_path
):
    orders = Orders(tmp_path)
    system = make_system(**QUICK_VECTORS, **SHORT_LEASE)
    system.bring_up("api")
    with system.client() as client:
        made = client.post("/v1/entries", json={"source": "api", "text": "Beam dump"})
    entry_id = made.json()["entry_id"]
    orders.kill("after_claim", entry_id, task="enhance.extract_metadata")
    orders.hold("after_commit", entry_id, task="enhance.extract_metadata")
    system.start("enhance", faulty={"checkpoints": str(tmp_path)})
    system.start("upkeep")

    until(
        lambda: orders.taken("after_claim", entry_id),
        within_seconds=PATIENCE_SECONDS,
        what=lambda: f"the death\n{system.tail('enhance')}",
    )
    until(
        lambda: orders.taken("after_commit", entry_id),
        within_seconds=PATIENCE_SECONDS,
        what=lambda: f"the second attempt\n{system.tail('enhance')}",
    )
    with psycopg.connect(system.database) as conn:
        texts = conn.execute("SELECT count(*) FROM entry_text").fetchone()
    orders.let_go("after_commit", entry_id)

    assert texts == (1,)
    assert orders.left() == []


@pytest.mark.timeout(300)
def test_a_poisoned_text_harms_and_its_neighbour_is_done(make_system):
    system = make_system(**QUICK_VECTORS, **SHORT_LEASE)
    system.start("api")
    poison = {"word": "venom", "where": "metadata", "does": "raise"}
    system.start("enhance", faulty={"poison": [poison]})
    system.wait_ready("enhance")
    with system.client() as client:
        for text in ("a drop of venom", "a drop of water"):
            client.post("/v1/entries", json={"source": "api", "text": text})

    def settled():
        with psycopg.connect(system.database) as conn:
            done = conn.execute(READ).fetchone()
            aside = conn.execute("SELECT error ->> 'code' FROM quarantine").fetchall()
            again = conn.execute(
                "SELECT last_error ->> 'code' FROM work WHERE last_error IS NOT NULL"
            ).fetchall()
        return done == (1,) and (aside or again)

    ended = until(
        settled, within_seconds=PATIENCE_SECONDS, what=lambda: system.tail("enhance")
    )
    assert ended == [("internal_error",)]


def test_a_wrong_clock_is_wrong_for_everything_that_reads_it():
    done = run_command([sys.executable, "-c", CLOCK], cwd=ROOT, check=True)
    seconds, milliseconds = done.stdout.split()

    right = float(
        subprocess.check_output(
            [sys.executable, "-c", "import time; print(time.time())"], text=True
        )
    )
    assert float(seconds) - right == pytest.approx(7200, abs=30)
    assert int(milliseconds) / 1000 - right == pytest.approx(7200, abs=30)


def test_a_clock_that_jumps_is_right_before():
    done = run_command(
        [sys.executable, "-c", CLOCK.replace("7200)", "7200, after_seconds=3600)")],
        cwd=ROOT,
        check=True,
    )
    right = float(
        subprocess.check_output(
            [sys.executable, "-c", "import time; print(time.time())"], text=True
        )
    )
    assert float(done.stdout.split()[0]) == pytest.approx(right, abs=30)
