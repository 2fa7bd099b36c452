"""A search in flight: its plan and absolute deadline, under one id."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

import redis
from psycopg import Connection
from psycopg.types.json import Jsonb

from shared.access.scope import Scope
from shared.errors import InvalidRequestError, NotFoundError
from shared.messaging.broker_errors import translate_broker_errors
from shared.postgres.fetch_rows import fetch_all, fetch_one, fetch_value
from shared.search.jobs import outcome, redis_keys
from shared.search.jobs.compatibility import read_fields
from shared.search.jobs.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Job:
    """One search: its caller, its plan, and its deadline."""

    job_id: UUID
    tenant: str
    subject: str
    key_id: str | None
    plan: str
    branches: int
    created: float
    # Epoch seconds by the broker's clock, for every machine alike.
    deadline: float
    # A submitted job has its row in Postgres from the start; a direct one at its end.
    submitted: bool
    # Whether a chord's body ends it, and not its last branch.
    ends_in_chord: bool = False

    @property
    def created_at(self) -> datetime:
        """When the job was accepted."""
        return datetime.fromtimestamp(self.created, UTC)

    @property
    def deadline_at(self) -> datetime:
        """When the job ends, however many of its branches have answered by then."""
        return datetime.fromtimestamp(self.deadline, UTC)


def open_job(client: redis.Redis, job: Job) -> None:
    """Store the job in Redis, where its branches find it, until past its deadline."""
    values = asdict(job)
    del values["job_id"]
    if not job.ends_in_chord:
        # A worker of the release before knows no such field.
        del values["ends_in_chord"]
    name = redis_keys.job(job.job_id)
    pipe = client.pipeline(transaction=False)
    pipe.hset(name, "job", json.dumps(values, separators=(",", ":")))
    pipe.expireat(name, redis_keys.expires_at(job.deadline))
    with translate_broker_errors():
        pipe.execute()


def load_job(client: redis.Redis, job_id: UUID) -> Job | None:
    """Return a job in flight, or None when Redis no longer knows it."""
    with translate_broker_errors():
        text = client.hget(redis_keys.job(job_id), "job")
    if text is None:
        return None
    return read_fields(Job, {**json.loads(str(text)), "job_id": job_id})


def forget(client: redis.Redis, job_id: UUID) -> None:
    """Let no branch of a job begin any more; stored outcomes stay readable."""
    with translate_broker_errors():
        client.hdel(redis_keys.job(job_id), "job")


def erase_jobs(client: redis.Redis, job_ids: Sequence[UUID]) -> None:
    """Remove the outcomes and events of some jobs from Redis; their rows stay."""
    kept = (redis_keys.job, redis_keys.events)
    with translate_broker_errors():
        client.delete(*(name(one) for one in job_ids for name in kept))


def is_forgotten(client: redis.Redis, job_id: UUID) -> bool:
    """Tell whether Redis has no plan of a job: it was forgotten, or Redis emptied."""
    with translate_broker_errors():
        return not client.hexists(redis_keys.job(job_id), "job")


def outcomes(client: redis.Redis, job_id: UUID) -> dict[int, list[Outcome]]:
    """Return the outcomes that a job's branches stored so far, by branch number."""
    with translate_broker_errors():
        stored: dict[str, str] = client.hgetall(redis_keys.job(job_id))  # type: ignore[assignment]
    return {
        int(name.removeprefix("outcome:")): outcome.from_json(text)
        for name, text in stored.items()
        if name.startswith("outcome:")
    }


def is_in(client: redis.Redis, job_id: UUID, number: int) -> bool:
    """Tell whether the outcome of a branch has arrived."""
    with translate_broker_errors():
        return bool(client.hexists(redis_keys.job(job_id), f"outcome:{number}"))


def mark_told(client: redis.Redis, job: Job, what: str) -> bool:
    """Note that something of a job is told now; False: it was told before."""
    name = redis_keys.job(job.job_id)
    pipe = client.pipeline(transaction=False)
    pipe.hsetnx(name, f"told:{what}", "1")
    pipe.expireat(name, redis_keys.expires_at(job.deadline))
    with translate_broker_errors():
        is_first, _ = pipe.execute()
    return bool(is_first)


# The times are by the database's clock, for by that clock upkeep ends the job, with
# the broker or without.
_SUBMIT: LiteralString = """
    INSERT INTO job (id, tenant, subject, key_id, state, request, plan, created_at,
                     deadline_at)
    VALUES (%(id)s, %(tenant)s, %(subject)s, %(key_id)s, 'queued', %(request)s,
            %(plan)s, clock_timestamp() - make_interval(secs => %(waited)s),
            clock_timestamp() + make_interval(secs => %(lasts)s - %(waited)s))
    ON CONFLICT DO NOTHING"""


def submit_job(conn: Connection, job: Job, waited: float = 0.0) -> None:
    """Store a submitted job before it is dispatched, so that it always ends.

    `waited` is how many seconds ago it was accepted, where it waited for a place.
    """
    lasts = job.deadline - job.created
    conn.execute(_SUBMIT, {**row_of(job), "lasts": lasts, "waited": waited})


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as Postgres knows it: ids, revisions and scores, never text."""

    id: UUID
    tenant: str
    subject: str
    state: str
    request: dict[str, Any]
    plan: dict[str, Any]
    branches: list[dict[str, Any]] | None
    ranked: dict[str, Any] | None
    cancelled: bool
    error: dict[str, Any] | None
    created_at: datetime
    deadline_at: datetime
    ended_at: datetime | None


# Postgres reads the index of jobs that have not ended: a few rows.
_BEFORE: LiteralString = """
    SELECT count(*)
      FROM job
     WHERE ended_at IS NULL AND deadline_at > clock_timestamp()
       AND tenant = %(tenant)s AND id < %(id)s"""
_OWN: LiteralString = """
    SELECT id, tenant, subject, state, request, plan, branches, ranked, cancelled,
           error, created_at, deadline_at, ended_at
      FROM job
     WHERE id = %(id)s AND tenant = %(tenant)s AND subject = %(subject)s"""
# The large columns are left out: a list shows how jobs fare, not what they found.
_NEWEST: LiteralString = """
    SELECT id, tenant, subject, state, request, plan, NULL::jsonb AS branches,
           NULL::jsonb AS ranked, cancelled, error, created_at, deadline_at, ended_at
      FROM job
     WHERE tenant = %(tenant)s AND subject = %(subject)s
       AND (%(after)s::uuid IS NULL OR id < %(after)s)
     ORDER BY id DESC
     LIMIT %(limit)s"""


def find_own_job(conn: Connection, scope: Scope, job_id: UUID) -> StoredJob:
    """Return the caller's job; anybody else's is as absent as none at all.

    So is one that the owner asked with a key that sees entries which this one does not.
    """
    values = {"id": job_id, "tenant": scope.tenant, "subject": scope.subject}
    found = fetch_one(conn, StoredJob, _OWN, values)
    if found is None or not may_read(scope, found):
        raise NotFoundError
    return found


def before(conn: Connection, found: StoredJob) -> int:
    """Return how many earlier jobs of the same tenant have not ended."""
    values = {"id": found.id, "tenant": found.tenant}
    return int(fetch_value(conn, _BEFORE, values) or 0)


def newest(
    conn: Connection, scope: Scope, *, limit: int, after: UUID | None = None
) -> list[StoredJob]:
    """Return the caller's jobs, the newest first, without hits."""
    given = {"after": after, "limit": limit}
    owner = {"tenant": scope.tenant, "subject": scope.subject}
    return fetch_all(conn, StoredJob, _NEWEST, {**owner, **given})


def may_read(scope: Scope, found: StoredJob) -> bool:
    """Tell whether a caller may see every entry that the job's asker could see."""
    return scope.sees_all_of(read_fields(Scope, found.plan["scope"]))


def refuse_expired(job: StoredJob, retention_hours: int, now: datetime) -> None:
    """Raise when the time that a job is kept has passed."""
    age = now - (job.ended_at or job.deadline_at)
    if age.total_seconds() > retention_hours * 3600:
        message = "This job is no longer kept; search again."
        raise InvalidRequestError(message, code="job_expired")


def row_of(job: Job) -> dict[str, Any]:
    """Return the columns that a direct job and a submitted one both store."""
    plan = json.loads(job.plan)
    # A plan that was made without a request, or by the release before, has none.
    request = plan.get("request") or {"query": plan["query"], "mode": plan["asked"]}
    return {
        "request": Jsonb(request),
        "id": job.job_id,
        "tenant": job.tenant,
        "subject": job.subject,
        "key_id": job.key_id,
        # The plan is JSON already: it is not written a second time.
        "plan": Jsonb(plan, dumps=lambda _: job.plan),
        "created_at": job.created_at,
        "deadline_at": job.deadline_at,
    }
