"""The work table beside a small model of it, in every order that can be thought of.

Whatever workers, edits, outages and deaths do in turn, the table holds what the model
says; and at the end of each run, once leases and pauses are over, everything drains.
"""

import functools
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from psycopg import Connection

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.errors import InternalError, OpenSearchError
from shared.work import due_work, quarantine, stage_pauses
from shared.work.due_work import Claim
from shared.work.leases import MAX_STRIKES
from shared.work.quarantine import Which
from tests.support.faults.measures.size import times
from tests.support.work_model import BUDGET, Model, Row

TENANT, STAGE = "default", "metadata"
ENTRIES = 5
LONG_SECONDS = 3600

SOME = st.sets(st.integers(0, ENTRIES - 1), min_size=1)
CLASSES = st.sampled_from([due_work.LIVE, due_work.BULK])

_CLEAN = (
    "DELETE FROM work; DELETE FROM quarantine; DELETE FROM stage_pause;"
    " DELETE FROM stage_outcome"
)
_TABLE = """
    SELECT entry_id, class, want, attempts, strikes, alone, claim, claimed_want,
           coalesce(leased_until > clock_timestamp(), false),
           due_at > clock_timestamp()
      FROM work"""
_FAR_AWAY = """
    UPDATE work SET due_at = clock_timestamp() + interval '1 hour'
     WHERE due_at > clock_timestamp()"""
_NOW_DUE = "UPDATE work SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()"
_EXPIRE = """
    UPDATE work SET leased_until = clock_timestamp() - interval '1 s'
     WHERE claim = %s"""
_PAUSE_FAR_AWAY = """
    UPDATE stage_pause SET until = clock_timestamp() + interval '1 hour'
     WHERE until > clock_timestamp()"""
_PAUSE_OVER = """
    UPDATE stage_pause SET until = clock_timestamp() WHERE until > clock_timestamp()"""
_PAUSES = (
    "SELECT code, failures, until IS NULL OR until > clock_timestamp() FROM stage_pause"
)


class Workers(RuleBasedStateMachine):
    """Several workers on one stage; a batch that is never ended is a death."""

    batches: Bundle[tuple[Claim, ...]] = Bundle("batches")
    conn: Connection
    ids: Sequence[UUID]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        # Which edit is the newest, which one a claim saw, and which were worked.
        self.version = dict.fromkeys(self.ids, 0)
        self.seen: dict[tuple[UUID, UUID], int] = {}
        self.worked: set[tuple[UUID, int]] = set()

    @initialize()
    def clean(self) -> None:
        self.conn.execute(_CLEAN)

    @rule(which=SOME, work_class=CLASSES)
    def add(self, which: set[int], work_class: int) -> None:
        entries = [self.ids[number] for number in which]
        due_work.add(self.conn, TENANT, entries, [STAGE], work_class=work_class)
        for entry in entries:
            self.model.add(entry, work_class)
            self.version[entry] += 1

    @rule(target=batches, limit=st.integers(1, ENTRIES))
    def claim(self, limit: int) -> Any:
        return self._taken(limit, None)

    @rule(target=batches, limit=st.integers(1, ENTRIES), which=SOME)
    def claim_named(self, limit: int, which: set[int]) -> Any:
        return self._taken(limit, {self.ids[number] for number in which})

    def _taken(self, limit: int, named: set[UUID] | None) -> Any:
        free = self.model.claimable(named)
        found = due_work.claim(
            self.conn,
            STAGE,
            limit=limit,
            entry_ids=None if named is None else sorted(named),
            lease_seconds=LONG_SECONDS,
        )
        if not free:
            assert found == []
            return multiple()
        taken = {one.entry_id: self.model.rows[one.entry_id] for one in found}
        self._check_choice(free, taken, limit)
        (claim_id,) = {one.claim for one in found}
        for one in found:
            row = taken[one.entry_id]
            row.alone = row.attempts > 0
            row.strikes += row.alone
            row.attempts += 1
            row.claim, row.claimed_want = claim_id, row.want
            row.leased, row.waits = True, False
            assert (one.attempts, one.strikes) == (row.attempts, row.strikes)
            assert one.alone == row.alone
            assert one.is_probe == (self.model.pause is not None)
            self.seen[one.entry_id, claim_id] = self.version[one.entry_id]
        return tuple(found)

    def _check_choice(
        self, free: set[UUID], taken: dict[UUID, Row], limit: int
    ) -> None:
        """What was tried before, and a probe, goes alone; live goes before bulk."""
        assert taken.keys() <= free
        assert 0 < len(taken) <= limit
        if self.model.pause or any(row.attempts for row in taken.values()):
            assert len(taken) == 1
        left = [self.model.rows[entry] for entry in free - taken.keys()]
        classes = {row.work_class for row in taken.values()}
        if due_work.BULK in classes:
            assert all(row.work_class == due_work.BULK or row.attempts for row in left)

    @rule(batch=batches, some=st.none() | SOME)
    def finish(self, batch: tuple[Claim, ...], some: set[int] | None) -> None:
        """A worker ends its batch or a part of it, perhaps long after it lost it."""
        part = [one for n, one in enumerate(batch) if some is None or n in some]
        assume(part)
        ended = self.model.finish(part)
        with self.conn.transaction():
            assert due_work.finish(self.conn, *part) == len(ended)
        for entry in ended:
            effect = (entry, self.seen[entry, batch[0].claim])
            assert effect not in self.worked, "one edit was worked twice"
            self.worked.add(effect)
        if batch[0].is_probe:
            stage_pauses.probe_succeeded(self.conn, STAGE)
            if self.model.pause and not self.model.pause[2]:
                self.model.pause = None

    @rule(batch=batches, number=st.integers(0, ENTRIES - 1))
    def fail(self, batch: tuple[Claim, ...], number: int) -> None:
        """The entry's own failure; its third strike quarantines it."""
        one = batch[number % len(batch)]
        if one.strikes + (not one.alone) >= MAX_STRIKES:
            self._put_aside(one)
        else:
            due_work.retry_later(self.conn, one, InternalError(), backend=False)
            self._retried(one, backend=False, strike=True)

    @rule(batch=batches, number=st.integers(0, ENTRIES - 1))
    def time_out(self, batch: tuple[Claim, ...], number: int) -> None:
        one = batch[number % len(batch)]
        assume(one.strikes < MAX_STRIKES)
        due_work.retry_later(
            self.conn, one, InternalError(), backend=False, strike=one.alone
        )
        self._retried(one, backend=False, strike=one.alone)

    @rule(batch=batches, number=st.integers(0, ENTRIES - 1), pause=st.booleans())
    def miss_the_backend(
        self, batch: tuple[Claim, ...], number: int, *, pause: bool
    ) -> None:
        one = batch[number % len(batch)]
        due_work.retry_later(self.conn, one, OpenSearchError(), backend=True)
        self._retried(one, backend=True, strike=False)
        if pause:
            stage_pauses.pause(self.conn, STAGE, OpenSearchError())
            self.conn.execute(_PAUSE_FAR_AWAY)
            self.model.pause_stage(OpenSearchError.code)

    def _retried(self, one: Claim, *, backend: bool, strike: bool) -> None:
        self.model.retry(one, backend=backend, strike=strike)
        # However slow this machine is, it does not become due by itself.
        self.conn.execute(_FAR_AWAY)

    @rule(batch=batches, number=st.integers(0, ENTRIES - 1))
    def give_up(self, batch: tuple[Claim, ...], number: int) -> None:
        self._put_aside(batch[number % len(batch)])

    def _put_aside(self, one: Claim) -> None:
        kept = self.model.put_aside(one)
        with self.conn.transaction():
            assert quarantine.add(self.conn, one, InternalError(), BUDGET) == kept
        self.conn.execute(_FAR_AWAY)

    @rule(batch=batches)
    def give_back(self, batch: tuple[Claim, ...]) -> None:
        due_work.release(self.conn, batch[0].claim)
        for row in self.model.of_claim(batch[0].claim):
            row.attempts = max(row.attempts - 1, 0)
            row.strikes = max(row.strikes - row.alone, 0)
            row.unclaim()

    @rule(batch=batches)
    def renew(self, batch: tuple[Claim, ...]) -> None:
        held = self.model.of_claim(batch[0].claim)
        count = due_work.renew(self.conn, batch[0].claim, lease_seconds=LONG_SECONDS)
        assert count == len(held)
        for row in held:
            row.leased = True

    @rule(batch=batches)
    def lose_the_lease(self, batch: tuple[Claim, ...]) -> None:
        self.conn.execute(_EXPIRE, (batch[0].claim,))
        for row in self.model.of_claim(batch[0].claim):
            row.leased = False

    @rule()
    def quarantine_spent(self) -> None:
        spent = sorted(
            entry
            for entry, row in self.model.rows.items()
            if row.strikes >= MAX_STRIKES and row.claim and not row.leased
        )
        with self.conn.transaction():
            put = functools.partial(quarantine.add, budget=BUDGET)
            found = quarantine.add_spent(self.conn, put=put)
        self.conn.execute(_FAR_AWAY)
        claims = [self._claim_of(entry) for entry in spent]
        gone = [one.entry_id for one in claims if self.model.put_aside(one)]
        assert [one.entry_id for one in found] == gone

    def _claim_of(self, entry: UUID) -> Claim:
        row = self.model.rows[entry]
        assert row.claim is not None
        key = (entry, STAGE, TENANT, row.claim)
        counts = (row.attempts, row.strikes, row.alone, row.work_class)
        return Claim(*key, *counts, is_probe=False, was_due_at=due_work.EVER)

    @rule()
    def time_passes(self) -> None:
        self.conn.execute(_NOW_DUE)
        for row in self.model.rows.values():
            row.waits = False

    @precondition(lambda self: self.model.pause is not None)
    @rule()
    def the_pause_ends(self) -> None:
        self.conn.execute(_PAUSE_OVER)
        code, failures, _ = self.model.pause or ("", 0, False)
        self.model.pause = (code, failures, code == stage_pauses.BUDGET_SPENT)

    @precondition(lambda self: self.model.aside or self.model.pause)
    @rule()
    def release_all(self) -> None:
        quarantine.release(self.conn, Which(TENANT, stage=STAGE), limit=100)
        for entry in self.model.aside:
            self.version[entry] += 1
        self.model.release(set(self.model.aside), due_work.BULK)

    @precondition(lambda self: self.model.aside)
    @rule()
    def release_one(self) -> None:
        which = Which(TENANT, stage=STAGE)
        (one,) = quarantine.list_quarantined(self.conn, which, limit=1)
        assert one.entry_id is not None
        quarantine.release(self.conn, Which(TENANT, id=one.id), limit=100)
        self.version[one.entry_id] += 1
        self.model.release({one.entry_id}, due_work.LIVE)

    @invariant()
    def the_table_is_what_the_model_says(self) -> None:
        found = {row[0]: Row(*row[1:]) for row in self.conn.execute(_TABLE)}
        assert found == self.model.rows
        listed = quarantine.list_quarantined(self.conn, Which(TENANT), limit=100)
        assert {one.entry_id for one in listed} == self.model.aside
        assert self.conn.execute(_PAUSES).fetchone() == self.model.pause

    @invariant()
    def the_sweeper_finds_what_can_be_claimed(self) -> None:
        late = due_work.list_overdue_stages(self.conn, grace_seconds=0)
        assert late == ([STAGE] if self.model.claimable(None) else [])

    @invariant()
    def nothing_exceeds_its_bounds(self) -> None:
        assert all(row.strikes <= MAX_STRIKES for row in self.model.rows.values())
        assert self.model.in_row <= BUDGET.in_row

    @invariant()
    def the_newest_edit_is_due_or_worked_or_aside(self) -> None:
        for entry, version in self.version.items():
            if entry not in self.model.rows and entry not in self.model.aside:
                assert version == 0 or (entry, version) in self.worked

    def teardown(self) -> None:
        """Let every lease and pause end: nothing is stuck, nothing was lost."""
        if self.model.pause:
            self.release_all()
        for _ in range(ENTRIES * (MAX_STRIKES + 1)):
            for claim_id in {row.claim for row in self.model.rows.values()} - {None}:
                self.conn.execute(_EXPIRE, (claim_id,))
            for row in self.model.rows.values():
                row.leased = False
            self.time_passes()
            self.quarantine_spent()
            if self.model.pause:
                self.release_all()
            found = self._taken(ENTRIES, None)
            if isinstance(found, tuple):
                self.finish(found, None)
            self.the_newest_edit_is_due_or_worked_or_aside()
        assert not self.model.rows
        self.the_table_is_what_the_model_says()


# A failure takes its time to become a short story.
@pytest.mark.timeout(420)
@pytest.mark.requirement("P1", "P2", "P7")
def test_no_order_of_claims_edits_outages_and_deaths_loses_or_doubles_work(database):
    drafts = [EntryDraft("api", str(number), "x") for number in range(ENTRIES)]
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("SET synchronous_commit = off")
        saved = save_page(conn, TENANT, drafts, stages=[], editor="test")

        class OnThisDatabase(Workers):
            """The machine with this test's connection."""

        OnThisDatabase.conn = conn
        OnThisDatabase.ids = sorted(one.entry_id for one in saved)
        run_state_machine_as_test(
            OnThisDatabase,
            settings=settings(
                max_examples=times(20, 60),
                stateful_step_count=40,
                deadline=None,
                suppress_health_check=[
                    HealthCheck.too_slow,
                    HealthCheck.filter_too_much,
                ],
            ),
        )
