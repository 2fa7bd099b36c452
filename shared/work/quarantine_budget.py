"""What became of the latest work: the rate of a stage, and its quarantine budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from psycopg import Connection

_WINDOW = 100
# How many outcomes of each stage are kept at any age, and for how long all of them.
_KEPT = 200
_KEPT_SECONDS = 120

_NOTE_QUARANTINED: LiteralString = """
    INSERT INTO stage_outcome (stage, aside) VALUES (%(stage)s, 1)"""
_LATEST: LiteralString = """
    SELECT done, aside FROM stage_outcome
     WHERE stage = %(stage)s ORDER BY id DESC LIMIT %(limit)s"""
_PER_MINUTE: LiteralString = """
    SELECT stage, sum(done + aside)::bigint FROM stage_outcome
     WHERE at > clock_timestamp() - interval '1 minute'
     GROUP BY stage ORDER BY stage LIMIT 1000"""
_FORGIVE: LiteralString = """
    DELETE FROM stage_outcome WHERE stage = %(stage)s AND aside > 0"""
# Where little happens the latest hundred may be of last week, and still tell.
_FORGET: LiteralString = """
    WITH latest AS (
        SELECT known.stage,
               (SELECT o.id FROM stage_outcome o WHERE o.stage = known.stage
                 ORDER BY o.id DESC OFFSET %(kept)s LIMIT 1) AS until
          FROM (SELECT DISTINCT stage FROM stage_outcome) AS known)
    DELETE FROM stage_outcome o USING latest
     WHERE o.stage = latest.stage AND o.id <= latest.until
       AND o.at < clock_timestamp() - make_interval(secs => %(seconds)s)"""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be quarantined before the release is blamed, not the data."""

    # Among the last 100.
    percent: float = 20
    in_row: int = 25

    def is_spent(self, latest: Sequence[tuple[int, int]]) -> bool:
        """Tell whether one more is too many; `latest` is (done, quarantined) in time.

        A share of fewer than a hundred says nothing yet: there the row alone counts.
        """
        in_row = 0
        for done, aside in latest:
            if done:
                break
            in_row += aside
        if in_row + 1 > self.in_row:
            return True
        known = aside_of_them = 0
        for done, aside in latest:
            taken = min(aside, _WINDOW - 1 - known)
            aside_of_them += taken
            known += taken + min(done, _WINDOW - 1 - known - taken)
            if known >= _WINDOW - 1:
                return aside_of_them + 1 > self.percent * _WINDOW / 100
        return False


BUDGET = Budget()


def note_quarantined(conn: Connection, stage: str) -> None:
    """Count a quarantined entry; `due_work.finish` counts what is done."""
    conn.execute(_NOTE_QUARANTINED, {"stage": stage})


def budget_is_spent(conn: Connection, stage: str, budget: Budget) -> bool:
    """Tell whether the stage has quarantined as many of late as it may."""
    found = conn.execute(_LATEST, {"stage": stage, "limit": _WINDOW}).fetchall()
    return budget.is_spent([(int(done), int(aside)) for done, aside in found])


def forgive(conn: Connection, stage: str) -> None:
    """Begin the stage's budget anew."""
    conn.execute(_FORGIVE, {"stage": stage})


def per_minute(conn: Connection) -> dict[str, int]:
    """Return how many entries each stage ended within the last minute."""
    return {str(stage): int(count) for stage, count in conn.execute(_PER_MINUTE)}


def forget(conn: Connection) -> None:
    """Delete outcomes too old for the budget and for the rate."""
    conn.execute(_FORGET, {"kept": _KEPT, "seconds": _KEPT_SECONDS})
