"""A schedule that is due every second: which of its runs were, and when."""

from dataclasses import dataclass
from typing import LiteralString

import psycopg

from tests.support.fixtures.system import System
from tests.support.statements import fetch_row, run_statement
from tests.support.waiting import until

# What a release arranges anew at each start of upkeep stays as fast as it is here.
_WATCH: LiteralString = """
    CREATE TABLE poll_log (
        begun boolean, at_once boolean, at timestamptz DEFAULT clock_timestamp());
    CREATE FUNCTION hurry_poll() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.every_seconds := 1;
        RETURN NEW;
    END $$;
    CREATE TRIGGER hurry_polls BEFORE UPDATE ON source_schedule FOR EACH ROW
      WHEN (NEW.kind = 'expire') EXECUTE FUNCTION hurry_poll();
    CREATE FUNCTION log_poll() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO poll_log (begun, at_once)
        VALUES (NEW.claim IS NOT NULL,
                NEW.claim IS NOT NULL AND OLD.claim IS NOT NULL
                AND OLD.leased_until > clock_timestamp());
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch_polls AFTER UPDATE ON source_schedule FOR EACH ROW
      WHEN (NEW.kind = 'expire' AND NEW.claim IS DISTINCT FROM OLD.claim)
      EXECUTE FUNCTION log_poll();"""
_HURRY: LiteralString = """
    UPDATE source_schedule SET next_run_at = clock_timestamp() WHERE kind = 'expire'"""
_RUNS: LiteralString = """
    WITH ends AS (
        SELECT at, at - lag(at) OVER (ORDER BY at) AS gap
          FROM poll_log WHERE NOT begun)
    SELECT (SELECT count(*) FROM poll_log WHERE begun),
           (SELECT count(*) FROM ends),
           (SELECT count(*) FROM poll_log WHERE at_once),
           coalesce((SELECT extract(epoch FROM greatest(
               max(gap), clock_timestamp() - max(at))) FROM ends), 'infinity')"""


@dataclass(frozen=True)
class Runs:
    """How often the schedule ran: twice at once never, and without a long gap."""

    begun: int
    ended: int
    at_once: int
    longest_gap_s: float

    def __str__(self) -> str:
        """Return what is printed beside the ledger's line."""
        return f"polls={self.ended} longest_gap_s={self.longest_gap_s:.1f}"


class Polls:
    """The schedule of one system, due every second from now on."""

    def __init__(self, system: System) -> None:
        self._database = system.database
        run_statement(self._database, _WATCH)

        def arranged() -> bool:
            with psycopg.connect(self._database) as conn:
                return conn.execute(_HURRY).rowcount > 0

        until(arranged, within_seconds=15, what="a schedule arranged by upkeep")

    def runs(self) -> Runs:
        """Return what has run since."""
        row = fetch_row(self._database, _RUNS)
        return Runs(int(row[0]), int(row[1]), int(row[2]), float(row[3]))
