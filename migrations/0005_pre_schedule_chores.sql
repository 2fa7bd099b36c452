-- When what is next: of a source, or, as `*`, of the installation itself. One lease and
-- one cursor each, by the database's clock.
CREATE TABLE source_schedule (
    source text NOT NULL,
    kind text NOT NULL,
    every_seconds double precision NOT NULL CHECK (every_seconds > 0),
    next_run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claim uuid,
    leased_until timestamptz,
    cursor jsonb,
    last_run_at timestamptz,
    last_error jsonb,
    -- In a row: each moves the next run further away.
    failures integer NOT NULL DEFAULT 0,
    PRIMARY KEY (source, kind)
);
-- Serves: what is due, asked every second.
CREATE INDEX source_schedule_due ON source_schedule (next_run_at);

-- A chore: a chain of short steps, its progress and its lease.
CREATE TABLE maintenance (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    state text NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    cursor jsonb,
    done bigint NOT NULL DEFAULT 0,
    total bigint,
    claim uuid,
    leased_until timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    -- Attempts in a row without a step done.
    strikes smallint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    error jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    ended_at timestamptz,
    heartbeat timestamptz
);
-- Serves: at most one unfinished chore of a kind; and the scheduler, every second.
CREATE UNIQUE INDEX maintenance_unfinished ON maintenance (kind) WHERE ended_at IS NULL;
-- Serves: forgetting those that ended long ago.
CREATE INDEX maintenance_ended ON maintenance (ended_at) WHERE ended_at IS NOT NULL;
