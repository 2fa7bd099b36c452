"""What the work table should hold, in as few words as possible."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from shared.work import stage_pauses
from shared.work.due_work import Claim
from shared.work.leases import MAX_STRIKES
from shared.work.quarantine_budget import Budget

BUDGET = Budget(percent=100, in_row=2)


@dataclass
class Row:
    """One row of due work; its fields are the columns, in the order of the test."""

    work_class: int
    want: int = 1
    attempts: int = 0
    strikes: int = 0
    alone: bool = False
    claim: UUID | None = None
    claimed_want: int | None = None
    leased: bool = False
    waits: bool = False

    def free(self) -> bool:
        return not self.leased and not self.waits and self.strikes < MAX_STRIKES

    def unclaim(self) -> None:
        self.claim, self.claimed_want, self.leased = None, None, False


@dataclass
class Model:
    """What the table should hold, and what became of each version of an entry."""

    rows: dict[UUID, Row] = field(default_factory=dict)
    aside: set[UUID] = field(default_factory=set)
    in_row: int = 0
    # The code, the failed probes, and whether it is in force.
    pause: tuple[str, int, bool] | None = None

    def add(self, entry: UUID, work_class: int) -> None:
        row = self.rows.get(entry)
        if row is None:
            self.rows[entry] = Row(work_class)
            return
        row.want += 1
        row.attempts = row.strikes = 0
        row.waits = False
        row.work_class = min(row.work_class, work_class)

    def ours(self, one: Claim) -> Row | None:
        row = self.rows.get(one.entry_id)
        return row if row is not None and row.claim == one.claim else None

    def of_claim(self, claim: UUID) -> list[Row]:
        return [row for row in self.rows.values() if row.claim == claim]

    def claimable(self, named: set[UUID] | None) -> set[UUID]:
        if self.pause and self.pause[2]:
            return set()
        free = {entry for entry, row in self.rows.items() if row.free()}
        return free if named is None else free & named

    def finish(self, claims: Sequence[Claim]) -> list[UUID]:
        ended = []
        for one in claims:
            row = self.ours(one)
            if row and row.want == row.claimed_want:
                del self.rows[one.entry_id]
                self.aside.discard(one.entry_id)
                ended.append(one.entry_id)
            elif row:
                row.unclaim()
        self.in_row = 0 if ended else self.in_row
        return ended

    def retry(self, one: Claim, *, backend: bool, strike: bool) -> None:
        row = self.ours(one)
        if row is None:
            return
        edited = row.want != row.claimed_want
        row.waits = not edited
        row.attempts = max(row.attempts - backend, 0)
        row.strikes = 0 if edited else max(row.strikes - row.alone + strike, 0)
        row.unclaim()

    def pause_stage(self, code: str) -> None:
        if self.pause is None:
            self.pause = (code, 1, True)
        elif not self.pause[2]:
            self.pause = (code, self.pause[1] + 1, True)

    def put_aside(self, one: Claim) -> bool | None:
        row = self.ours(one)
        if self.in_row + 1 > BUDGET.in_row:
            self.pause = (
                stage_pauses.BUDGET_SPENT,
                self.pause[1] if self.pause else 1,
                True,
            )
            self.retry(one, backend=one.alone, strike=False)
            return False if row else None
        if row is None:
            return None
        if row.want != row.claimed_want:
            row.unclaim()
            return False
        del self.rows[one.entry_id]
        self.aside.add(one.entry_id)
        self.in_row += 1
        return True

    def release(self, entries: set[UUID], work_class: int) -> None:
        for entry in entries:
            self.add(entry, work_class)
        self.aside -= entries
        self.in_row, self.pause = 0, None
