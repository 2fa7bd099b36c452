-- How people fare with their searches: no text of theirs, no name, nothing of entries.
-- A partition a day is made ahead and dropped whole (`telemetry.retention_days`).
CREATE TABLE search_event (
    tenant text NOT NULL,
    at timestamptz NOT NULL,
    type text COLLATE "C" NOT NULL,
    -- Keyed hashes, with the tenant in them: of the question, and of the session.
    query_key text COLLATE "C",
    session_key text COLLATE "C",
    job_id uuid,
    details jsonb NOT NULL DEFAULT '{}' CHECK (octet_length(details::text) <= 1024)
) PARTITION BY RANGE (at);
CREATE TABLE search_event_default PARTITION OF search_event DEFAULT;
-- Serves: signals and alerts of a facility over a window.
CREATE INDEX search_event_window ON search_event (tenant, at);

-- What people say of an answer; their own words, which nobody but an admin reads.
CREATE TABLE search_feedback (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    job_id uuid NOT NULL,
    entry_id uuid,
    verdict text COLLATE "C" NOT NULL
        CHECK (verdict IN ('good', 'bad', 'wrong_citation', 'missing')),
    comment text CHECK (char_length(comment) <= 1000)
);
-- Serves: what is said of a facility's answers, newest first; what is too old.
CREATE INDEX search_feedback_at ON search_feedback (tenant, at);

-- Words that people asked for and no entry has, by the device that they asked about; and
-- what they said instead when that was answered.
CREATE TABLE unwritten_word (
    tenant text NOT NULL,
    word text COLLATE "C" NOT NULL,
    device text NOT NULL DEFAULT '',
    instead text NOT NULL DEFAULT '',
    asked integer NOT NULL DEFAULT 1,
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, word, device, instead)
);
