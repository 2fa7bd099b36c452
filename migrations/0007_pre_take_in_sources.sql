-- What a source says of its entries besides their content.
ALTER TABLE entry
    -- The source's own revision, and when it last touched the entry: which of two
    -- deliveries is newer.
    ADD COLUMN version text,
    ADD COLUMN source_modified_at timestamptz,
    -- Only where the source says it; else it is found in the text.
    ADD COLUMN language text,
    ADD COLUMN thread_key text,
    -- What the source's listing said of the entry when it was last read.
    ADD COLUMN stamp text,
    -- Since when the source does not list it: a candidate for a tombstone.
    ADD COLUMN missing_since timestamptz,
    -- The adapter's version that has read it; null: it was pushed.
    ADD COLUMN parsed_by integer,
    -- What last became of it, and in which transaction: the feed of changes.
    ADD COLUMN change text NOT NULL DEFAULT 'created'
        CHECK (change IN ('created', 'edited', 'deleted', 'access')),
    ADD COLUMN changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id();
-- Serves: the feed of changes, in the order in which transactions ended.
CREATE INDEX entry_changed ON entry (tenant, changed_xid, id);
-- Serves: a source's own walk by time: its newest entry, reconcile, retention.
CREATE INDEX entry_of_source ON entry (source, entry_time DESC, id DESC);
-- Serves: the members of a thread, and of one that names no direction.
CREATE INDEX entry_thread ON entry (tenant, thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX entry_thread_key ON entry (tenant, source, thread_key)
    WHERE thread_key IS NOT NULL;

-- The text that is read and searched, where the source's own has markup.
ALTER TABLE revision ADD COLUMN plain text;

-- By external ids, for a reply may come before its parent.
CREATE TABLE entry_link (
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('reply', 'supersedes', 'related')),
    target text NOT NULL,
    tenant text NOT NULL,
    source text NOT NULL,
    PRIMARY KEY (entry_id, kind, target)
);
-- Serves: what points at an entry that has just come.
CREATE INDEX entry_link_target ON entry_link (tenant, source, target);

CREATE TABLE attachment (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    -- The source's name of it within the entry, and its place there.
    external_id text NOT NULL,
    position integer NOT NULL,
    filename text NOT NULL,
    url text,
    declared_type text,
    declared_bytes bigint,
    caption text,
    thumbnail_url text,
    state text NOT NULL DEFAULT 'due'
        CHECK (state IN ('due', 'stored', 'linked', 'failed')),
    error jsonb,
    media_type text,
    bytes bigint,
    sha256 bytea,
    -- What is readable in it; null: not looked at, empty: nothing.
    text text,
    stored_at timestamptz,
    UNIQUE (entry_id, external_id)
);
-- Serves: whether a stored file is still anybody's.
CREATE INDEX attachment_file ON attachment (sha256) WHERE sha256 IS NOT NULL;

-- What was received, compressed, so that a new parser asks nobody again.
CREATE TABLE raw_payload (
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    revision integer NOT NULL,
    tenant text NOT NULL,
    payload bytea NOT NULL,
    media_type text NOT NULL,
    charset text,
    url text,
    fetched_at timestamptz,
    PRIMARY KEY (entry_id, revision)
);

-- What was purged never comes back, whoever sends it.
CREATE TABLE purged (
    tenant text NOT NULL,
    source text NOT NULL,
    external_id text NOT NULL,
    purged_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source, external_id)
);

-- How a source stands; its schedule has rows of its own.
CREATE TABLE source_state (
    source text PRIMARY KEY,
    tenant text NOT NULL,
    adapter text NOT NULL,
    config_hash text NOT NULL,
    -- As it was last loaded; secrets are only named in it.
    config jsonb NOT NULL,
    -- Set while nobody asks it: by an admin, or after too many failures.
    paused jsonb,
    -- What is wrong and what to do, while it is asked all the same.
    degraded jsonb,
    serving text NOT NULL DEFAULT 'live' CHECK (serving IN ('live', 'snapshot')),
    failures integer NOT NULL DEFAULT 0,
    last_error jsonb,
    last_success_at timestamptz,
    -- Everything between these two is here, but for the gaps.
    complete_from timestamptz,
    complete_to timestamptz,
    gaps jsonb NOT NULL DEFAULT '[]',
    parsed_by integer,
    next_request_at timestamptz NOT NULL DEFAULT now()
);

-- Small values that an adapter keeps beside its cursor: validators, places in files.
CREATE TABLE source_memory (
    source text NOT NULL,
    key text NOT NULL,
    value jsonb NOT NULL,
    PRIMARY KEY (source, key)
);

-- Each pull and each push of a file, and what it found.
CREATE TABLE ingestion_run (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    source text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'running', 'done', 'partial', 'failed')),
    -- What was asked for: a limit, a dry run, a confirmed prune.
    asked jsonb NOT NULL DEFAULT '{}',
    window_from timestamptz,
    window_to timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    ended_at timestamptz,
    heartbeat_at timestamptz,
    seen bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    added bigint NOT NULL DEFAULT 0,
    updated bigint NOT NULL DEFAULT 0,
    unchanged bigint NOT NULL DEFAULT 0,
    deleted bigint NOT NULL DEFAULT 0,
    rejected bigint NOT NULL DEFAULT 0,
    quarantined bigint NOT NULL DEFAULT 0,
    expected bigint,
    cursor_before jsonb,
    cursor_after jsonb,
    error jsonb
);
-- Serves: at most one run of a source and kind at a time.
CREATE UNIQUE INDEX ingestion_run_open ON ingestion_run (source, kind)
    WHERE ended_at IS NULL;
-- Serves: the runs of a source, newest first; and forgetting.
CREATE INDEX ingestion_run_of_source ON ingestion_run (source, id DESC);
CREATE INDEX ingestion_run_ended ON ingestion_run (ended_at) WHERE ended_at IS NOT NULL;

-- The ids that a source lists, while a run compares them with what is stored.
CREATE UNLOGGED TABLE source_listing (
    run_id uuid NOT NULL,
    external_id text NOT NULL,
    stamp text,
    PRIMARY KEY (run_id, external_id)
);

-- What could not be read, exactly as received, to be tried again.
ALTER TABLE quarantine
    ADD COLUMN raw bytea,
    ADD COLUMN raw_media_type text,
    ADD COLUMN raw_charset text,
    ADD COLUMN raw_url text;
