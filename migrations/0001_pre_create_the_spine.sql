-- Entries and their revisions are the truth; everything else here is derived from
-- them, is work to be done on them, or says who may see them.

CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- One row. A restore raises the epoch, so that every restored document is newer than
-- what the search index kept.
CREATE TABLE installation (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO installation DEFAULT VALUES;

CREATE TABLE api_key (
    key_id text PRIMARY KEY,
    tenant text NOT NULL,
    subject text NOT NULL,
    groups text[] NOT NULL DEFAULT '{}',
    name text NOT NULL,
    hash bytea NOT NULL,
    scopes text[] NOT NULL,
    logbooks text[],
    rate_per_minute integer,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);

CREATE TABLE entry (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    source text NOT NULL,
    external_id text NOT NULL,
    revision integer NOT NULL,
    -- Grows with every change that the search document shows.
    doc_version bigint NOT NULL,
    content_hash bytea NOT NULL,
    access_hash bytea NOT NULL,
    kind text NOT NULL,
    origin text NOT NULL,
    logbooks text[] NOT NULL,
    authors text[] NOT NULL,
    tags text[] NOT NULL,
    shift text,
    level text,
    category text,
    metadata jsonb NOT NULL,
    entry_time timestamptz NOT NULL,
    event_time timestamptz,
    reply_to text,
    thread_id uuid,
    url text,
    flags text[] NOT NULL DEFAULT '{}',
    text_flags text[] NOT NULL DEFAULT '{}',
    readers text[],
    visible_from timestamptz,
    received_at timestamptz NOT NULL DEFAULT now(),
    modified_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    delete_reason text,
    UNIQUE (tenant, source, external_id)
);
-- Serves: the listing, newest first.
CREATE INDEX entry_newest ON entry (tenant, entry_time DESC, id DESC)
    WHERE deleted_at IS NULL;
-- Serves: the listing by arrival.
CREATE INDEX entry_received ON entry (tenant, received_at DESC, id DESC);

CREATE TABLE revision (
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    number integer NOT NULL,
    tenant text NOT NULL,
    title text NOT NULL,
    text text NOT NULL,
    text_format text NOT NULL,
    -- Everything else that the revision's content hash covers.
    fields jsonb NOT NULL,
    content_hash bytea NOT NULL,
    editor text NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (entry_id, number)
);

-- What the analyser made of the current revision; both engines are filled from it.
CREATE TABLE entry_text (
    entry_id uuid PRIMARY KEY REFERENCES entry (id) ON DELETE CASCADE,
    tenant text NOT NULL,
    revision integer NOT NULL,
    language text NOT NULL,
    analyser_version integer NOT NULL,
    stream text NOT NULL,
    idents text[] NOT NULL,
    tsv tsvector NOT NULL,
    plain boolean NOT NULL DEFAULT false
);
-- Serves: the pg_fts branch.
CREATE INDEX entry_text_tsv ON entry_text USING gin (tsv);

CREATE TABLE entry_metadata (
    entry_id uuid PRIMARY KEY REFERENCES entry (id) ON DELETE CASCADE,
    tenant text NOT NULL,
    revision integer NOT NULL,
    language text NOT NULL,
    entities jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE embedding_model (
    model text PRIMARY KEY,
    table_name text NOT NULL UNIQUE,
    dimension integer NOT NULL,
    active boolean NOT NULL DEFAULT true,
    similarity_floor real NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Due work: a message is only a nudge, the lease on the row the only redelivery.
CREATE TABLE work (
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    stage text NOT NULL,
    tenant text NOT NULL,
    want bigint NOT NULL DEFAULT 1,
    class smallint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claim uuid,
    claimed_want bigint,
    claimed_at timestamptz,
    leased_until timestamptz,
    last_error jsonb,
    PRIMARY KEY (entry_id, stage)
) WITH (fillfactor = 70);
-- Serves: claim, live before bulk; and the sweeper.
CREATE INDEX work_due ON work (stage, class, due_at);
-- Serves: renew and finish of a batch.
CREATE INDEX work_claim ON work (claim) WHERE claim IS NOT NULL;

CREATE TABLE quarantine (
    id uuid PRIMARY KEY,
    tenant text,
    entry_id uuid REFERENCES entry (id) ON DELETE CASCADE,
    source text,
    external_id text,
    stage text NOT NULL,
    revision integer,
    attempts integer NOT NULL DEFAULT 0,
    error jsonb NOT NULL,
    excerpt text,
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (entry_id, stage)
);

-- What an Idempotency-Key was answered with: ids and statuses, never text.
CREATE TABLE idempotency (
    tenant text NOT NULL,
    caller text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    answer jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, caller, route, key)
);
-- Serves: forgetting old keys.
CREATE INDEX idempotency_age ON idempotency (created_at);

-- Each process says every five seconds that it is alive.
CREATE TABLE worker_process (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    queues text[] NOT NULL,
    pid integer NOT NULL,
    host text NOT NULL,
    version text NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE upkeep_loop (
    name text PRIMARY KEY,
    last_turn_at timestamptz NOT NULL,
    holder text NOT NULL
);

-- A finished or submitted search: ids, revisions and scores, never an entry's text.
-- Ids are UUIDv7, so a partition by id is a partition by hour and drops at once.
CREATE TABLE job (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    subject text NOT NULL,
    key_id text,
    state text NOT NULL,
    request jsonb NOT NULL,
    plan jsonb NOT NULL,
    branches jsonb,
    ranked jsonb,
    error jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    deadline_at timestamptz NOT NULL,
    ended_at timestamptz
) PARTITION BY RANGE (id);
CREATE TABLE job_default PARTITION OF job DEFAULT;
-- Serves: the finisher.
CREATE INDEX job_unfinished ON job (deadline_at) WHERE ended_at IS NULL;
