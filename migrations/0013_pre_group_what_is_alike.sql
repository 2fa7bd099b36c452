-- What entries say, as a set of runs of terms; entries that say the same share a row.
-- Alike shapes are linked, and what links join is a group of near-duplicates.
CREATE TABLE shape (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    digest bytea NOT NULL,
    bands bigint[] NOT NULL,
    runs integer[] NOT NULL,
    -- Names, numbers and times.
    marks integer[] NOT NULL,
    group_id uuid NOT NULL,
    UNIQUE (tenant, digest)
);
-- Serves: which shapes may be alike. Read with every entry, so nothing waits in a list.
CREATE INDEX shape_bands ON shape USING gin (bands) WITH (fastupdate = off);
-- Serves: the members of a group.
CREATE INDEX shape_group ON shape (group_id);

CREATE TABLE shape_link (
    one uuid NOT NULL REFERENCES shape (id) ON DELETE CASCADE,
    other uuid NOT NULL REFERENCES shape (id) ON DELETE CASCADE,
    tenant text NOT NULL,
    PRIMARY KEY (one, other)
);
-- Serves: the links of a shape from their other end.
CREATE INDEX shape_link_other ON shape_link (other);

CREATE TABLE likeness (
    entry_id uuid PRIMARY KEY REFERENCES entry (id) ON DELETE CASCADE,
    tenant text NOT NULL,
    -- None where the text is too short to have copies.
    shape_id uuid REFERENCES shape (id),
    source text NOT NULL,
    -- None where a person wrote it: only what machines write makes series.
    pattern bytea,
    at timestamptz NOT NULL,
    series_id uuid
);
-- Serves: who else has this shape.
CREATE INDEX likeness_shape ON likeness (shape_id) WHERE shape_id IS NOT NULL;
-- Serves: the neighbours in a series.
CREATE INDEX likeness_series_place ON likeness (tenant, source, pattern, at, entry_id)
    WHERE pattern IS NOT NULL;
-- Serves: the members of a series.
CREATE INDEX likeness_series ON likeness (series_id, at) WHERE series_id IS NOT NULL;

-- Entries whose group or series another entry has changed: the index is to show it.
CREATE TABLE regrouped (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL,
    entry_id uuid NOT NULL
);
