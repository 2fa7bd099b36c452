-- Why an entry has no vector of a model though it has a text; one that has vectors, or
-- waits for them, has no row.
CREATE TABLE embedding_skipped (
    tenant text NOT NULL,
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    model text NOT NULL,
    revision integer NOT NULL,
    reason text NOT NULL CHECK (reason IN ('language', 'machine')),
    PRIMARY KEY (entry_id, model)
);

-- Serves: how many of a facility, by model and reason.
CREATE INDEX embedding_skipped_tenant ON embedding_skipped (tenant, model, reason);
