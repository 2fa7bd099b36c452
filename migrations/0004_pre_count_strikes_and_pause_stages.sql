-- An entry travels in a batch once and then alone; only what befell it alone, or was
-- its own fault, is a strike. Defaults serve workers of the previous release.
ALTER TABLE work
    ADD COLUMN strikes smallint NOT NULL DEFAULT 0,
    ADD COLUMN alone boolean NOT NULL DEFAULT false;
-- Serves: putting aside what has no strike left, without a look at the rest.
CREATE INDEX work_spent ON work (stage) WHERE strikes >= 3;
-- Serves: the watermark, and the age of the oldest row, over a backlog of any size.
CREATE INDEX work_oldest ON work (stage, created_at);
-- Every row is written three times and deleted: what is dead must go before it is
-- walked over again and again.
ALTER TABLE work SET (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- A stage that must not be worked on just now: a backend is away (`until` is when it is
-- tried again), or the quarantine budget is spent (no `until`: until it is released).
CREATE TABLE stage_pause (
    stage text PRIMARY KEY,
    code text NOT NULL,
    failures integer NOT NULL DEFAULT 1,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    until timestamptz,
    error jsonb
);

-- What became of the latest work of each stage: the rate, and the quarantine budget.
-- Nothing worth a log record: after a crash it begins anew.
CREATE UNLOGGED TABLE stage_outcome (
    stage text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    done integer NOT NULL DEFAULT 0,
    aside integer NOT NULL DEFAULT 0,
    PRIMARY KEY (stage, id)
);
-- Serves: the rate of the last minute, and forgetting.
CREATE INDEX stage_outcome_age ON stage_outcome USING brin (at);
