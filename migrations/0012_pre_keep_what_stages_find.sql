-- What a stage has found in an entry: facts that filters compare, quantities that they
-- bound. A row for each stage, so that one that is run anew replaces its own alone.
CREATE TABLE entry_finding (
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    stage text NOT NULL,
    tenant text NOT NULL,
    revision integer NOT NULL,
    -- Of the stage and of its settings: another one has the entry looked at anew.
    version bigint NOT NULL,
    -- Of what the stage reads of an entry: a revision that left it alone is not its own.
    inputs bytea NOT NULL,
    -- Each with how it was found, and where.
    facts jsonb NOT NULL,
    -- The facts as both engines compare them.
    terms text[] NOT NULL,
    -- Every form of the authors' names, a line each.
    people text NOT NULL DEFAULT '',
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (entry_id, stage)
);
-- Serves: the filter by a part of an author's name.
CREATE INDEX entry_finding_people ON entry_finding USING gin (people gin_trgm_ops)
    WHERE stage = 'metadata';

CREATE TABLE entry_quantity (
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    place integer NOT NULL,
    tenant text NOT NULL,
    -- In the unit of its dimension: 300 mA is 0.3 of `current`.
    dimension text NOT NULL,
    value double precision NOT NULL,
    -- The words before it, by which it is told from others of its dimension.
    name text NOT NULL,
    PRIMARY KEY (entry_id, place)
);
-- Serves: the filter `quantity`.
CREATE INDEX entry_quantity_value ON entry_quantity (tenant, dimension, value);
