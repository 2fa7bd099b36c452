"""Every run that sources are read by: when it was due, and when it was taken."""

from dataclasses import dataclass
from typing import LiteralString

import psycopg
from psycopg.rows import class_row

from tests.support.fixtures.system import System
from tests.support.statements import fetch_rows, fetch_value, run_statement

_WATCH: LiteralString = """
    CREATE TABLE source_poll_log (
        source text, kind text, begun boolean, due timestamptz, at_once boolean,
        failures integer, wait float8, at timestamptz DEFAULT clock_timestamp());
    CREATE FUNCTION log_source_poll() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO source_poll_log (source, kind, begun, due, at_once, failures, wait)
        VALUES (NEW.source, NEW.kind, NEW.claim IS NOT NULL, OLD.next_run_at,
                NEW.claim IS NOT NULL AND OLD.claim IS NOT NULL
                AND OLD.leased_until > clock_timestamp(),
                NEW.failures, extract(epoch FROM NEW.next_run_at - clock_timestamp()));
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch_source_polls AFTER UPDATE ON source_schedule FOR EACH ROW
      WHEN (NEW.source <> '*' AND NEW.claim IS DISTINCT FROM OLD.claim)
      EXECUTE FUNCTION log_source_poll();"""
# A run is taken once for each time that it is due; its row overlaps no other's.
_FOUND: LiteralString = """
    WITH begun AS (
        SELECT source, kind, due, at_once, at - lag(at) OVER (
                   PARTITION BY source, kind ORDER BY at) AS gap
          FROM source_poll_log WHERE begun),
    runs AS (
        SELECT started_at, ended_at, lag(ended_at) OVER whose AS before,
               row_number() OVER whose AS place, state
          FROM ingestion_run WHERE started_at IS NOT NULL
        WINDOW whose AS (PARTITION BY source, kind ORDER BY started_at))
    SELECT (SELECT count(*) FROM begun)::int AS begun,
           (SELECT count(*) - count(DISTINCT (source, kind, due)) FROM begun)::int
               AS twice_due,
           (SELECT count(*) FROM begun WHERE at_once)::int AS at_once,
           (SELECT count(*) FROM runs)::int AS runs,
           (SELECT count(*) FROM runs WHERE state <> 'done')::int AS not_done,
           (SELECT count(*) FROM runs
             WHERE place > 1 AND (before IS NULL OR started_at < before))::int
               AS overlapping,
           (SELECT coalesce(extract(epoch FROM max(gap)), 0)::float8 FROM begun)
               AS longest_gap_s"""
_QUIET: LiteralString = """
    SELECT coalesce(extract(epoch FROM clock_timestamp() - max(at)), 0)::float8
      FROM source_poll_log"""
_BEGUN: LiteralString = "SELECT count(*) FROM source_poll_log WHERE begun"
_WAITS: LiteralString = """
    SELECT wait FROM source_poll_log
     WHERE NOT begun AND failures >= %(failures)s AND source = ANY(%(sources)s)"""


@dataclass(frozen=True)
class Found:
    """How often runs were begun, and how often wrongly."""

    begun: int
    twice_due: int
    at_once: int
    runs: int
    not_done: int
    overlapping: int
    longest_gap_s: float


class SourcePolls:
    """The schedule of a system's sources, watched from now on."""

    def __init__(self, system: System) -> None:
        self._database = system.database
        run_statement(self._database, _WATCH)

    def found(self) -> Found:
        """Return what has run since, and the rows of all runs there are."""
        with (
            psycopg.connect(self._database) as conn,
            conn.cursor(row_factory=class_row(Found)) as cur,
        ):
            row = cur.execute(_FOUND).fetchone()
        assert row is not None
        return row

    def begun(self) -> int:
        """Return how many runs were begun."""
        return fetch_value(self._database, _BEGUN)

    def quiet_seconds(self) -> float:
        """Return how long ago a run was begun or ended."""
        return fetch_value(self._database, _QUIET)

    def waits(self, sources: list[str], *, failures: int) -> list[float]:
        """Return how long sources were left alone after so many failures or more."""
        values = {"sources": sources, "failures": failures}
        return [float(wait) for (wait,) in fetch_rows(self._database, _WAITS, values)]
