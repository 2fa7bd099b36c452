"""Who had the runs of a source when, and what of their steps was done twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString

import psycopg

from tests.support.statements import fetch_row, fetch_rows, fetch_value, run_statement

# A step ends in a commit that moves the cursor; a claim that follows another one
# without a word between was taken from somebody dead.
_WATCH: LiteralString = """
    CREATE TABLE step_log (kind text, cursor jsonb);
    CREATE TABLE claim_change (
        kind text, was uuid, claim uuid, at timestamptz DEFAULT clock_timestamp());
    CREATE FUNCTION log_step() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO step_log (kind, cursor) VALUES (NEW.kind, NEW.cursor);
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch_steps AFTER UPDATE ON source_schedule FOR EACH ROW
      WHEN (NEW.cursor IS DISTINCT FROM OLD.cursor AND NEW.source <> '*')
      EXECUTE FUNCTION log_step();
    CREATE FUNCTION log_claim_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO claim_change (kind, was, claim)
        VALUES (NEW.kind, OLD.claim, NEW.claim);
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch_claim_changes AFTER UPDATE ON source_schedule FOR EACH ROW
      WHEN (NEW.claim IS DISTINCT FROM OLD.claim AND NEW.source <> '*')
      EXECUTE FUNCTION log_claim_change();"""
# What the workers of the queue `ingest` have; comparisons are chores.
_HELD: LiteralString = """
    SELECT claim FROM source_schedule
     WHERE source <> '*' AND kind IN ('tail', 'backfill')
       AND claim IS NOT NULL AND leased_until > clock_timestamp()"""
# Where nothing is under way the cursor says so in the same words each time.
_STEPS: LiteralString = """
    SELECT count(*), count(*) - count(DISTINCT (kind, cursor)) FROM step_log
     WHERE kind = 'backfill' OR cursor ? 'at'"""
_TAKEN_OVER: LiteralString = """
    SELECT count(*) FROM claim_change WHERE was IS NOT NULL AND claim IS NOT NULL"""
_TAKEN_UP: LiteralString = """
    SELECT extract(epoch FROM min(at) - %(killed_at)s::timestamptz)::float
      FROM claim_change WHERE was = %(claim)s"""
_BEGUN: LiteralString = "SELECT count(*) FROM claim_change WHERE claim IS NOT NULL"
_NOW: LiteralString = "SELECT clock_timestamp()"
_OPEN: LiteralString = """
    SELECT kind, state, started_at::text, heartbeat_at::text FROM ingestion_run
     WHERE ended_at IS NULL AND created_at <= %(until)s"""
_ERRORS: LiteralString = """
    SELECT kind, error::text FROM ingestion_run WHERE error IS NOT NULL LIMIT 10"""
_COUNTED: LiteralString = """
    SELECT sum(added)::int, sum(updated)::int, sum(deleted)::int, count(*)::int
      FROM ingestion_run"""
_WRITTEN: LiteralString = """
    SELECT (SELECT count(*) FROM entry)::int,
           (SELECT count(*) FROM revision)::int - (SELECT count(*) FROM entry)::int,
           (SELECT count(*) FROM entry WHERE deleted_at IS NOT NULL)::int"""
_LIVE: LiteralString = """
    SELECT e.external_id, r.title || '|' || r.text FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
     WHERE e.source = %(source)s AND e.deleted_at IS NULL"""
_REVISIONS: LiteralString = """
    SELECT e.external_id, array_agg(r.title || '|' || r.text ORDER BY r.number)
      FROM entry e JOIN revision r ON r.entry_id = e.id
     WHERE e.source = %(source)s
     GROUP BY e.external_id"""
_ASIDE: LiteralString = "SELECT count(*) FROM quarantine"


@dataclass(frozen=True)
class Counted:
    """What the runs say that they have done, or what is there of it."""

    added: int
    updated: int
    deleted: int


class SourceLog:
    """Reads what one source of a system has come to, straight from its tables."""

    def __init__(self, database: str, source: str) -> None:
        self._database = database
        self._source = source
        run_statement(database, _WATCH)
        self._killed: list[tuple[object, Sequence[object]]] = []

    def note_kill_of_all(self) -> None:
        """Remember who had what when every reader died."""
        with psycopg.connect(self._database) as conn:
            held = [row[0] for row in conn.execute(_HELD).fetchall()]
            now = conn.execute(_NOW).fetchone()
        assert now is not None
        self._killed.append((now[0], held))

    def recoveries_s(self) -> list[float]:
        """Return how long it took until each run of the dead was in other hands."""
        waits: list[float] = []
        with psycopg.connect(self._database) as conn:
            for killed_at, claims in self._killed:
                for claim in claims:
                    values = {"killed_at": killed_at, "claim": claim}
                    row = conn.execute(_TAKEN_UP, values).fetchone()
                    assert row is not None
                    assert row[0] is not None, "a run of the dead was never taken up"
                    waits.append(row[0])
        return sorted(waits)

    def steps(self) -> tuple[int, int]:
        """Return how many steps were committed, and how many of them twice."""
        done, twice = fetch_row(self._database, _STEPS)
        return done, twice

    def taken_over(self) -> int:
        """Return how often a run was taken from somebody dead."""
        return fetch_value(self._database, _TAKEN_OVER)

    def begun(self) -> int:
        """Return how often somebody has begun to read."""
        return fetch_value(self._database, _BEGUN)

    def now(self) -> object:
        """Return the time, by the database's clock."""
        return fetch_value(self._database, _NOW)

    def still_open(self, until: object) -> list[tuple[object, ...]]:
        """Return the runs of before that have not ended."""
        return fetch_rows(self._database, _OPEN, {"until": until})

    def errors(self) -> list[tuple[object, ...]]:
        """Return what runs have failed of."""
        return fetch_rows(self._database, _ERRORS)

    def counted(self) -> tuple[Counted, int]:
        """Return what the runs have counted together, and how many there were."""
        row = fetch_row(self._database, _COUNTED)
        return Counted(*row[:3]), row[3]

    def written(self) -> Counted:
        """Return how many entries, later revisions and tombstones there are."""
        return Counted(*fetch_row(self._database, _WRITTEN))

    def difference(self, wanted: Mapping[str, str]) -> dict[str, tuple[object, object]]:
        """Return by id what is not here as it is there, deletions included."""
        rows = fetch_rows(self._database, _LIVE, {"source": self._source})
        found: dict[str, str] = dict(rows)
        if found == wanted:
            return {}
        return {
            one: (wanted.get(one), found.get(one))
            for one in wanted.keys() | found.keys()
            if wanted.get(one) != found.get(one)
        }

    def out_of_turn(self, said: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return the entries whose revisions are not what was said, each once."""
        rows = fetch_rows(self._database, _REVISIONS, {"source": self._source})
        return {
            external_id: revisions
            for external_id, revisions in rows
            if not _comes_in_order(revisions, said[external_id])
        }

    def put_aside(self) -> int:
        """Return how much could not be read."""
        return fetch_value(self._database, _ASIDE)


def _comes_in_order(some: Sequence[str], every: Sequence[str]) -> bool:
    """Tell whether these come among those, in their order and none of them twice."""
    rest = iter(every)
    return all(one in rest for one in some)
