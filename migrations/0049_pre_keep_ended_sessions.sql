-- A session's cookie is signed and kept nowhere. Whoever logs out ends it for copies, too.
CREATE TABLE ended_session (
    session bytea PRIMARY KEY CHECK (octet_length(session) = 32),
    ends_at timestamptz NOT NULL
);
