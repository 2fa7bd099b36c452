"""F3: a worker dies, or an entry is edited, or a lease runs out, at every named line.

All of it happens in one run, each at an entry of its own, which was there before: an
order must lie at its line before the work does.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, LiteralString, NamedTuple

import httpx2
import psycopg
import pytest

from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import (
    EVERY_STAGE,
    FULL,
    QUICK_VECTORS,
    SHORT_LEASE,
    N,
)
from tests.support.fixtures.fault_ledger import Line
from tests.support.fixtures.system import System
from tests.support.statements import fetch_rows, run_statement
from tests.support.waiting import until

TASK_OF = {
    "metadata": "enhance.extract_metadata",
    "embed": "enhance.embed_entries",
    "index": "index.index_entries",
    "digest": "enhance.run_stage:digest",
    "duplicates": "enhance.place_entries",
}
_INSIDE = ("before_finish", "before_commit", "after_commit")
# Before the claim first: a nudge that names its entries is lost with a worker, and
# the sweeper's names none.
LINES = {
    "metadata": ("before_claim", "after_claim", *_INSIDE),
    "embed": ("before_claim", "after_claim", "after_vector", *_INSIDE),
    "index": ("before_claim", "after_claim", "after_index", *_INSIDE),
}
# Each is a run too many, of which the small set would have more than its tenth.
if FULL:
    LINES |= {
        # As every stage that finds things.
        "digest": ("before_claim", "after_claim", *_INSIDE),
        "duplicates": ("before_claim", "after_claim", "after_commit"),
    }
# While it is claimed and not yet ended.
CLAIMED = {"after_claim", "after_vector", "after_index", "before_finish"}
# There the task holds the entry itself: the edit waits for its commit.
COMES_NEXT = {
    ("metadata", "before_finish"),
    ("embed", "before_finish"),
    ("digest", "before_finish"),
}
# Due once the metadata of an edit has ended, and not before.
AFTER_METADATA = {"index", "duplicates"}
WORKERS = {
    "enhance": "enhance",
    "enhance-2": "enhance",
    "embed": "embed",
    "embed-2": "embed",
}
if FULL:
    # Each of four stages may hold a process that waits for an heir, which is another.
    WORKERS |= {"enhance-3": "enhance"}
TAKEN_SECONDS = 40
MOST_TRIES = 3
# How long the one whose lease is over waits for an heir: in a transaction not as long.
TAKEN_OVER_SECONDS = {False: 25.0, True: 8.0}

# Who ended each row: a claim that was lost must not.
_WATCH_ENDINGS: LiteralString = """
    CREATE TABLE ended_by (
        entry_id uuid, stage text, claim uuid,
        at timestamptz DEFAULT clock_timestamp());
    CREATE FUNCTION note_ending() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO ended_by VALUES (OLD.entry_id, OLD.stage, OLD.claim);
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch_endings AFTER DELETE ON work FOR EACH ROW
      EXECUTE FUNCTION note_ending()"""
_CLAIMS: LiteralString = """
    SELECT claim::text, (created_at, want)::text FROM claim_log
     WHERE entry_id = %(entry_id)s AND stage LIKE %(stage)s || '%%'
       AND at > to_timestamp(%(since)s)
     ORDER BY at"""
_ENDINGS: LiteralString = """
    SELECT claim::text FROM ended_by
     WHERE entry_id = %(entry_id)s AND stage LIKE %(stage)s || '%%'
       AND at > to_timestamp(%(since)s)
     ORDER BY at"""
_DUE: LiteralString = """
    SELECT FROM work
     WHERE entry_id = %(entry_id)s AND stage LIKE %(stage)s || '%%'"""
# What was claimed earlier and is still in hand is a dead one's, or it is held.
_AT_WORK: LiteralString = """
    SELECT FROM work
     WHERE stage LIKE %(stage)s || '%%' AND leased_until > clock_timestamp()
       AND claimed_at > clock_timestamp() - interval '1 s'
     LIMIT 1"""
# Whoever holds it may lose its lease, on a machine that stands still for as long: then
# another one has ended the row, and what the edit makes due is a row of its own.
_STILL_HELD: LiteralString = """
    SELECT FROM work
     WHERE entry_id = %(entry_id)s AND stage = %(stage)s AND want = claimed_want
       AND claim = (SELECT claim FROM claim_log
                     WHERE entry_id = %(entry_id)s AND stage = %(stage)s
                       AND at > to_timestamp(%(since)s)
                     ORDER BY at LIMIT 1)"""
# What a failure has to say: who had it in hand, and what nobody took.
_TOLD: LiteralString = """
    SELECT 'now ' || clock_timestamp()
     UNION ALL
    SELECT to_jsonb(w)::text FROM work w WHERE w.entry_id = %(entry_id)s
     UNION ALL
    SELECT to_jsonb(c)::text FROM claim_log c WHERE c.entry_id = %(entry_id)s
     UNION ALL
    SELECT to_jsonb(e)::text FROM ended_by e WHERE e.entry_id = %(entry_id)s
     UNION ALL
    SELECT to_jsonb(p)::text FROM stage_pause p"""
_REVISIONS: LiteralString = """
    SELECT e.revision, t.revision, f.revision FROM entry e
      JOIN entry_text t ON t.entry_id = e.id
      JOIN entry_finding f ON f.entry_id = e.id AND f.stage = 'digest'
     WHERE e.id = %(entry_id)s"""


class Case(NamedTuple):
    """What happens, in the work of which stage, at which line."""

    does: str
    stage: str
    line: str


CASES = [
    Case(does, stage, line)
    for does in ("edit", "expire", "kill")
    for stage, lines in LINES.items()
    for line in lines
]


def cases(does: str) -> list[Any]:
    """Return the cases of one kind, as arguments of a test."""
    found = [case for case in CASES if case.does == does]
    return [pytest.param(case, id=f"{case.stage}-{case.line}") for case in found]


class Happened(NamedTuple):
    """What became of one case, from its order on."""

    claims: list[tuple[str, str]]
    endings: list[str]
    revision: int
    analysed: int
    digested: int


@dataclass
class Run:
    """One system in which every case happens once."""

    system: System
    orders: Orders
    faulty: dict[str, str]
    ledger: Ledger = field(init=False)
    pushed: dict[Case, tuple[str, float]] = field(default_factory=dict)
    tries: Counter[Case] = field(default_factory=Counter)
    line: Line = field(init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Start everything, with two workers of each kind: one may always be dying."""
        self.system.start("api", "upkeep")
        for name, command in WORKERS.items():
            self.system.start(name, command=command, faulty=self.faulty)
        self.system.wait_ready("upkeep", "enhance", "embed")
        self.ledger = Ledger(self.system, "F3")
        run_statement(self.system.database, _WATCH_ENDINGS)

    def carry_out(self) -> None:
        """Let every case happen, those of one stage in turn, and count what held."""
        key = self.system.key()
        with self.system.client(key) as client, ThreadPoolExecutor(len(LINES)) as pool:
            self.ledger.post_many(client, range(N))
            ids = self.ledger.post_many(client, range(N, N + len(CASES)))
            until(lambda: self.ledger.due() == 0, within_seconds=60)
            done = [
                pool.submit(self._turns, stage, ids, client, key) for stage in LINES
            ]
            until(lambda: self._all_done(done), within_seconds=240)
            for one in done:
                one.result()
        until(
            lambda: self._all_done([]) and self.ledger.due() == 0,
            within_seconds=60,
            what="the last work",
        )
        self.line = self.ledger.close(within_seconds=60)

    def happened(self, case: Case) -> Happened:
        entry_id, since = self.pushed[case]
        which = {"entry_id": entry_id, "stage": case.stage, "since": since}
        with psycopg.connect(self.system.database) as conn:
            found = conn.execute(_REVISIONS, which).fetchone()
            assert found is not None
            return Happened(
                conn.execute(_CLAIMS, which).fetchall(),
                [row[0] for row in conn.execute(_ENDINGS, which)],
                *found,
            )

    def _turns(
        self, stage: str, ids: list[str], client: httpx2.Client, key: str
    ) -> None:
        for number, case in enumerate(CASES):
            if case.stage != stage:
                continue
            self._one(case, N + number, ids[number], client, key)
            while self._lacks_heir(case) and self.tries[case] < MOST_TRIES:
                self._one(case, N + number, ids[number], client, key)
            dead = case.does == "kill"
            # Tried again, it would be in the hands of the next to die: before a claim
            # in one batch with its entry, in a threads pool in the thread beside it.
            fresh = dead and case.line == "before_claim"
            if case.does == "expire" or fresh or (dead and stage == "embed"):
                self._wait_for_end(case, ids[number])

    def _one(
        self, case: Case, number: int, entry_id: str, client: httpx2.Client, key: str
    ) -> None:
        waits = (
            case.does == "edit"
            and case.stage in AFTER_METADATA
            and case.line in CLAIMED
        )
        with self._turn:
            if case.does == "kill":
                # Bystanders are F1 and F2; here nobody else is to be in its hands.
                until(lambda: not self._at_work(case.stage), within_seconds=20)
            self._order(case, number, entry_id, key, does="hold" if waits else "")
            self.pushed[case] = (entry_id, time.time())
            self.tries[case] += 1
            assert self.ledger.post(client, number) == entry_id
            if waits or case.does == "kill":
                self._wait_until_taken(case, entry_id)
            if waits:
                # In the same turn: what waits for its own may outlast the holding.
                self.ledger.post(client, number)
                until(
                    lambda: self._has_moved_on(case, entry_id),
                    within_seconds=TAKEN_SECONDS,
                    what=lambda: f"{case} moved on, of {self._told(entry_id)}",
                )
                self.orders.let_go(case.line, entry_id)
        self._wait_until_taken(case, entry_id)

    def _lacks_heir(self, case: Case) -> bool:
        """Tell whether the lease was over and nobody took the work in time.

        On a busy machine the one that waited for it has then ended the work itself:
        what the case is about has not happened.
        """
        if case.does != "expire" or case.line not in CLAIMED:
            return False
        self._wait_for_end(case, self.pushed[case][0])
        return len(self.happened(case).claims) < 2

    def _order(
        self, case: Case, number: int, entry_id: str, key: str, *, does: str
    ) -> None:
        task = TASK_OF[case.stage]
        if case.does != "edit" or does:
            seconds = TAKEN_OVER_SECONDS[case.line in _INSIDE]
            self.orders.give(
                case.line, entry_id, does or case.does, task=task, seconds=seconds
            )
            return
        # What is pushed at the line is pushed once more, newer, by whoever is there.
        newer = self.ledger.entry(number)
        self.orders.edit(
            *(case.line, entry_id), url=self.system.url, key=key, entry=newer, task=task
        )
        self.ledger.edits += 1

    def _wait_until_taken(self, case: Case, entry_id: str) -> None:
        until(
            lambda: self.orders.taken(case.line, entry_id),
            within_seconds=TAKEN_SECONDS,
            what=lambda: f"{case} taken, of {self._told(entry_id)}",
        )

    def _wait_for_end(self, case: Case, entry_id: str) -> None:
        def ended() -> bool:
            values = {"entry_id": entry_id, "stage": case.stage}
            return not fetch_rows(self.system.database, _DUE, values)

        until(
            ended,
            within_seconds=60,
            what=lambda: f"{case} ended, of {self._told(entry_id)}",
        )

    def _told(self, entry_id: str) -> list[str]:
        """Tell what is due of an entry, and when what was claimed and ended of it."""
        found = fetch_rows(self.system.database, _TOLD, {"entry_id": entry_id})
        return [row[0] for row in found]

    def _at_work(self, stage: str) -> bool:
        """Tell whether a worker that lives has something of this stage in hand."""
        return bool(fetch_rows(self.system.database, _AT_WORK, {"stage": stage}))

    def _has_moved_on(self, case: Case, entry_id: str) -> bool:
        since = self.pushed[case][1]
        which = {"entry_id": entry_id, "stage": case.stage, "since": since}
        return not fetch_rows(self.system.database, _STILL_HELD, which)

    def _all_done(self, done: list[Future[None]]) -> bool:
        self._restart()
        return all(one.done() for one in done)

    def _restart(self) -> None:
        """Start again what has ended, as whatever runs the processes does."""
        for name, command in WORKERS.items():
            if self.system.has_ended(name):
                self.system.start(name, command=command, faulty=self.faulty)


@pytest.fixture(scope="module")
def run(make_lasting_system, opensearch, tmp_path_factory) -> Iterator[Run]:
    """The one run that all of these tests look at."""
    folder = tmp_path_factory.mktemp("orders")
    system = make_lasting_system(
        opensearch=opensearch.url, **SHORT_LEASE, **QUICK_VECTORS, **EVERY_STAGE
    )
    run = Run(system, Orders(folder), {"checkpoints": str(folder)})
    run.start()
    run.carry_out()
    yield run
    system.kill_all()


# It measures no time, and mostly waits for leases.
pytestmark = [pytest.mark.patient, pytest.mark.timeout(420)]


@pytest.mark.smoke
@pytest.mark.requirement("F3", "P1", "P2", "P6")
def test_nothing_is_lost_or_doubled_whatever_line_it_happens_at(run):
    assert run.orders.left() == []
    assert (run.line.accepted, run.line.harm) == (N + len(CASES), {})
    # Each death and each lost lease costs a run by itself: of few entries more than P2
    # has of a thousand.
    by_design = sum(case.does in {"kill", "expire"} for case in CASES)
    assert run.line.extra_runs <= max(by_design, run.line.accepted // 10)


@pytest.mark.smoke
@pytest.mark.requirement("F3", "P1", "P2")
@pytest.mark.parametrize("case", cases("kill"))
def test_a_death_costs_one_attempt_more_and_no_effect(run, case):
    happened = run.happened(case)

    # Before the claim nothing had been counted, after the commit all was done.
    lost = case.line in CLAIMED | {"before_commit"}
    # Another nudge may have been taken at the same moment, by one that dies with it.
    beside = case.line == "before_claim"
    assert 1 + lost <= len(happened.claims) <= 1 + lost + beside
    assert len({due for _, due in happened.claims}) == 1
    assert happened.endings == [happened.claims[-1][0]]
    assert happened.digested == happened.analysed == happened.revision == 2


@pytest.mark.smoke
@pytest.mark.requirement("F3", "P1", "P2")
@pytest.mark.parametrize("case", cases("edit"))
def test_an_edit_at_this_line_is_worked_on_too(run, case):
    happened = run.happened(case)

    assert happened.digested == happened.analysed == happened.revision == 3
    if case.line in CLAIMED and (case.stage, case.line) not in COMES_NEXT:
        # What was at work when it came did not end the row.
        first, last = happened.claims[0], happened.claims[-1]
        assert first[1] != last[1]
        assert first[0] not in happened.endings
    assert happened.endings[-1] == happened.claims[-1][0]


@pytest.mark.smoke
@pytest.mark.requirement("F3", "P1", "P2")
@pytest.mark.parametrize("case", cases("expire"))
def test_a_claim_that_was_lost_finishes_nothing(run, case):
    happened = run.happened(case)

    if case.line in CLAIMED:
        assert len(happened.claims) > 1, "nobody took over what was lost"
        # An heir that the machine holds still for a whole lease has an heir itself.
        assert len({due for _, due in happened.claims}) == 1
        assert happened.endings == [happened.claims[-1][0]]
    newest = 1 + run.tries[case]
    assert happened.digested == happened.analysed == happened.revision == newest
