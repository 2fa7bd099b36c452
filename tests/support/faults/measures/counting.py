"""What held, counted in the database and the index, never in the workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import httpx2
import psycopg

from shared.opensearch import documents, mapping

# Every claim and every end is kept with its time: an entry claimed twice for one due
# time ran twice. A row that is due anew has a `created_at` or a `want` of its own.
WATCH: LiteralString = """
    CREATE TABLE claim_log (
        entry_id uuid, stage text, created_at timestamptz, want bigint, claim uuid,
        at timestamptz DEFAULT clock_timestamp());
    CREATE TABLE end_log (
        entry_id uuid, stage text, at timestamptz DEFAULT clock_timestamp());
    CREATE INDEX ON claim_log (entry_id, stage);
    CREATE INDEX ON end_log (entry_id);
    CREATE FUNCTION log_claim() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO claim_log (entry_id, stage, created_at, want, claim)
        VALUES (NEW.entry_id, NEW.stage, NEW.created_at, NEW.claimed_want, NEW.claim);
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch_claims AFTER UPDATE ON work FOR EACH ROW
      WHEN (NEW.claim IS DISTINCT FROM OLD.claim AND NEW.claim IS NOT NULL)
      EXECUTE FUNCTION log_claim();
    -- What a batch had no time for went back as it was: nothing ran.
    CREATE FUNCTION forget_claim() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM claim_log
         WHERE claim = OLD.claim AND entry_id = OLD.entry_id AND stage = OLD.stage;
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch_releases AFTER UPDATE ON work FOR EACH ROW
      WHEN (NEW.claim IS NULL AND NEW.attempts < OLD.attempts
            AND NEW.due_at = OLD.due_at)
      EXECUTE FUNCTION forget_claim();
    CREATE FUNCTION log_end() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO end_log (entry_id, stage) VALUES (OLD.entry_id, OLD.stage);
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch_ends AFTER DELETE ON work FOR EACH ROW
      EXECUTE FUNCTION log_end();"""
STILL_DUE: LiteralString = """
    SELECT count(*) FROM work
     WHERE %(vectors)s OR stage NOT LIKE 'embed:%%'"""
IDLE: LiteralString = """
    SELECT DISTINCT entry_id FROM work
     WHERE (%(vectors)s OR stage NOT LIKE 'embed:%%')
       AND (leased_until IS NULL OR leased_until <= clock_timestamp())"""
# What is told where it takes too long: who has it, or how long it still waits.
OPEN_WORK: LiteralString = """
    SELECT stage, attempts, strikes, leased_until > clock_timestamp() AS in_hand,
           last_error ->> 'code', count(*),
           round(extract(epoch FROM max(due_at) - clock_timestamp()))::int
      FROM work GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2 LIMIT 20"""
IN_HAND: LiteralString = """
    SELECT entry_id, stage, claim FROM work
     WHERE claim IS NOT NULL AND leased_until > clock_timestamp()"""
_EXTRA_RUNS: LiteralString = """
    SELECT count(*) - count(DISTINCT (entry_id, stage, created_at, want))
      FROM claim_log"""
# How often how many were claimed again, and how soon at the earliest.
EXTRA_BY_STAGE: LiteralString = """
    SELECT stage, runs, count(*), round(min(apart)::numeric, 1) FROM (
        SELECT stage, count(*) AS runs,
               extract(epoch FROM max(at) - min(at)) AS apart
          FROM claim_log GROUP BY entry_id, stage, created_at, want
        HAVING count(*) > 1) AS again
     GROUP BY 1, 2 ORDER BY 1, 2"""
# Its end is: analysed and embedded as it is now, deleted, or quarantined with a reason.
_LOST: LiteralString = """
    SELECT count(*)
      FROM unnest(%(ids)s::uuid[]) AS accepted (id)
      LEFT JOIN entry e ON e.id = accepted.id
      LEFT JOIN entry_text t ON t.entry_id = e.id AND t.revision = e.revision
     WHERE e.id IS NULL
        OR EXISTS (SELECT FROM work w
                    WHERE w.entry_id = e.id
                      AND (%(vectors)s OR w.stage NOT LIKE 'embed:%%'))
        OR (e.deleted_at IS NULL
            AND NOT EXISTS (SELECT FROM quarantine q WHERE q.entry_id = e.id)
            AND (t.entry_id IS NULL OR (%(vectors)s AND NOT EXISTS (
                SELECT FROM {vectors} v
                 WHERE v.entry_id = e.id AND v.revision = e.revision))))"""
_DOUBLED: LiteralString = """
    SELECT (SELECT count(*) - count(DISTINCT (tenant, source, external_id)) FROM entry)
         + (SELECT count(*) - count(DISTINCT (entry_id, number)) FROM revision)
         + greatest(0, (SELECT count(*) FROM revision WHERE number > 1) - %(edits)s)
         + (SELECT count(*) - count(DISTINCT entry_id) FROM entry_text)
         + (SELECT count(*) - count(DISTINCT (entry_id, chunk)) FROM {vectors})"""
_QUARANTINED: LiteralString = "SELECT count(*) FROM quarantine"
_STAGES: LiteralString = """
    SELECT count(*) FROM (SELECT DISTINCT entry_id, stage FROM claim_log) AS known"""
# How long until somebody else had each of them in hand, or it was done after all.
_TAKEN_UP: LiteralString = """
    SELECT max(extract(epoch FROM again.at - to_timestamp(%(at)s)))
      FROM unnest(%(entry_ids)s::uuid[], %(stages)s::text[], %(claims)s::uuid[])
           AS held (entry_id, stage, claim)
      JOIN LATERAL (
        SELECT min(l.at) AS at FROM claim_log l
         WHERE l.entry_id = held.entry_id AND l.stage = held.stage
           AND l.claim <> held.claim AND l.at > to_timestamp(%(at)s)) AS again
        ON true"""
_WENT_ON: LiteralString = """
    SELECT extract(epoch FROM min(at) - to_timestamp(%(at)s)) FROM claim_log
     WHERE at > to_timestamp(%(at)s) AND starts_with(stage, %(stage)s)"""
_SLOWEST: LiteralString = """
    SELECT max(extract(epoch FROM ended.at - to_timestamp(accepted.at)))
      FROM unnest(%(ids)s::uuid[], %(times)s::float[]) AS accepted (id, at)
      JOIN LATERAL (SELECT max(l.at) AS at FROM end_log l
                     WHERE l.entry_id = accepted.id) AS ended ON true"""
# What was deleted longer ago than a tombstone is kept should not be there any more.
_VERSIONS: LiteralString = """
    SELECT id::text, doc_version, deleted_at IS NOT NULL FROM entry
     WHERE id NOT IN (SELECT entry_id FROM quarantine WHERE entry_id IS NOT NULL)
       AND (deleted_at IS NULL OR modified_at >= now() - interval '7 days')"""
# Of what is not embedded as it is now: of an older text, or of what is gone.
_OLD_VECTORS: LiteralString = """
    SELECT count(*) FROM {vectors} v
      JOIN entry e ON e.id = v.entry_id
     WHERE v.revision <> e.revision OR e.deleted_at IS NOT NULL"""
_SET_ASIDE: LiteralString = """
    SELECT entry_id::text FROM quarantine WHERE entry_id IS NOT NULL"""
REASONS: LiteralString = """
    SELECT stage, error ->> 'code', error -> 'details' ->> 'technical', attempts,
           count(*)
      FROM quarantine GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC LIMIT 20"""
_VECTOR_TABLE: LiteralString = "SELECT table_name FROM embedding_model LIMIT 1"

_NO_VECTORS = "(SELECT NULL::uuid AS entry_id, 0 AS revision, 0 AS chunk WHERE false)"

_PAGE = 5000

Conn = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True)
class Fault:
    """When a fault was, or was over, and what was in hand just then."""

    at: float
    rows: Sequence[tuple[object, str, object]] | None
    # Without rows: the work whose first claim ends it, by the beginning of its stage.
    stage: str = ""


def number(conn: Conn, statement: LiteralString, **values: object) -> float:
    """Return the one number that a statement finds, 0 for none."""
    table = conn.execute(_VECTOR_TABLE).fetchone()
    # With nothing embedded yet, any table that is empty stands for that of vectors.
    name = str(table[0]) if table else _NO_VECTORS
    row = conn.execute(statement.replace("{vectors}", name), values).fetchone()
    return float(row[0]) if row and row[0] is not None else 0.0


def counts(
    conn: Conn, accepted: Mapping[str, float], *, edits: int, vectors: bool
) -> dict[str, Any]:
    """Return what held of the entries accepted, by their ids and times."""
    ids, times = list(accepted), list(accepted.values())
    return {
        "lost": int(number(conn, _LOST, ids=ids, vectors=vectors)),
        "duplicate_effects": int(number(conn, _DOUBLED, edits=edits)),
        "extra_runs": int(number(conn, _EXTRA_RUNS)),
        "stage_runs": int(number(conn, _STAGES)),
        "quarantined": int(number(conn, _QUARANTINED)),
        "slowest_s": round(number(conn, _SLOWEST, ids=ids, times=times), 2),
    }


def recovery_s(conn: Conn, fault: Fault) -> float:
    """Return the seconds until what was in hand, or anything, was taken up again."""
    if fault.rows is None:
        return number(conn, _WENT_ON, at=fault.at, stage=fault.stage)
    return number(
        conn,
        _TAKEN_UP,
        at=fault.at,
        entry_ids=[row[0] for row in fault.rows],
        stages=[row[1] for row in fault.rows],
        claims=[row[2] for row in fault.rows],
    )


def drift(conn: Conn, url: str, base: str) -> int:
    """Return how much is not as Postgres has it: documents by version, and vectors."""
    epoch = documents.current_epoch(conn)
    wanted = {
        entry_id: (documents.version_of(epoch, version), deleted)
        for entry_id, version, deleted in conn.execute(_VERSIONS).fetchall()
    }
    found = indexed(url, mapping.read_alias(base))
    for (entry_id,) in conn.execute(_SET_ASIDE).fetchall():
        # What was quarantined may be there or not.
        found.pop(entry_id, None)
    apart = sum(
        wanted.get(entry_id) != found.get(entry_id) for entry_id in wanted | found
    )
    return apart + int(number(conn, _OLD_VECTORS))


def indexed(url: str, alias: str) -> dict[str, tuple[int, bool]]:
    """Return version and tombstone of every document, read page by page."""
    found: dict[str, tuple[int, bool]] = {}
    with httpx2.Client(base_url=url, timeout=30) as client:
        client.post(f"/{alias}/_refresh").raise_for_status()
        page = client.post(
            f"/{alias}/_search",
            params={"scroll": "1m"},
            json={"size": _PAGE, "version": True, "_source": ["deleted"]},
        )
        while hits := page.raise_for_status().json()["hits"]["hits"]:
            for hit in hits:
                deleted = bool(hit["_source"].get("deleted"))
                found[hit["_id"]] = (hit["_version"], deleted)
            page = client.post(
                "/_search/scroll",
                json={"scroll": "1m", "scroll_id": page.json()["_scroll_id"]},
            )
        scroll = page.json()["_scroll_id"]
        client.request("DELETE", "/_search/scroll", json={"scroll_id": scroll})
    return found
