-- Searches that people want to be told of, and how. Owned by a subject; what may be told
-- is what the key may see that wrote it last.
CREATE TABLE saved_search (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    subject text NOT NULL,
    -- Null: nobody's key, a caller on this machine.
    key_id text,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
    -- A question and its filters, as given.
    request jsonb NOT NULL CHECK (octet_length(request::text) <= 65536),
    semantic boolean NOT NULL,
    similarity_threshold double precision,
    -- Where to, how often, and when not.
    alert jsonb NOT NULL,
    -- Entries written since then are matched; null: alerts are off.
    alerts_since timestamptz,
    -- Of the question, by the model that was live when a worker made it.
    vector_model text,
    vector text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
-- Serves: the list of one's own.
CREATE INDEX saved_search_own ON saved_search (tenant, subject, id);
-- Serves: whether anybody waits for an entry, asked at every commit of a stage.
CREATE INDEX saved_search_watching ON saved_search (tenant, alerts_since)
 WHERE alerts_since IS NOT NULL;

-- An entry that a saved search has found as it came: once, whoever dies. Kept as long as
-- both, or an entry that is read anew would be told again.
CREATE TABLE alert (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    saved_search_id uuid NOT NULL REFERENCES saved_search (id) ON DELETE CASCADE,
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    matched_by text[] NOT NULL,
    -- When it is to be sent; null: it was, was given up, or goes nowhere.
    due_at timestamptz,
    leased_until timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    last_error text,
    UNIQUE (saved_search_id, entry_id)
);
-- Serves: what is to be sent, asked every second.
CREATE INDEX alert_due ON alert (due_at) WHERE due_at IS NOT NULL;
-- Serves: the alerts of a saved search, newest first.
CREATE INDEX alert_newest ON alert (saved_search_id, id);
-- Serves: a purge.
CREATE INDEX alert_entry ON alert (entry_id);
