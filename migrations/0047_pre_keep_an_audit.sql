-- Who searched, read, exported, administered and logged in. Rows are added and nothing
-- else: a trigger refuses to change or delete one, in every partition. A partition a day
-- is made ahead and dropped whole (`audit.retention_days`).
CREATE TABLE audit_record (
    -- When it was asked, by the clock of whoever wrote it.
    at timestamptz NOT NULL,
    id uuid NOT NULL,
    tenant text NOT NULL,
    action text COLLATE "C" NOT NULL
        CHECK (action IN ('search', 'read', 'export', 'administer', 'login')),
    -- begun: stored before it was done. The end of the same request has a row of its own.
    outcome text COLLATE "C" NOT NULL
        CHECK (outcome IN ('begun', 'done', 'refused', 'failed')),
    way_in text COLLATE "C" NOT NULL
        CHECK (way_in IN ('key', 'login', 'gateway', 'anonymous', 'command')),
    key_id text COLLATE "C",
    subject text NOT NULL,
    -- A method and a pattern, `POST /v1/keys`, or a command.
    request text NOT NULL,
    -- Which entry, key, source: as it was named, also when it is no more.
    target text,
    status smallint,
    -- A question's keyed hash, or what LOG_QUERIES allows of it.
    query_key text COLLATE "C",
    query text,
    request_id text COLLATE "C",
    -- Serves: storing a row twice as once; the audit of the installation, newest first.
    PRIMARY KEY (at, id)
) PARTITION BY RANGE (at);
CREATE TABLE audit_record_default PARTITION OF audit_record DEFAULT;
-- Serves: the audit of a facility, newest first.
CREATE INDEX audit_record_newest ON audit_record (tenant, at DESC, id DESC);

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is only added to' USING ERRCODE = '42501';
END $$;
CREATE TRIGGER audit_record_stays BEFORE UPDATE OR DELETE ON audit_record
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
-- Of the whole table; retention empties a partition.
CREATE TRIGGER audit_record_is_kept BEFORE TRUNCATE ON audit_record
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
