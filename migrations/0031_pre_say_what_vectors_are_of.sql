-- What the vectors of an entry were made of: where that is the same they are not made again.
CREATE TABLE embedding_input (
    tenant text NOT NULL,
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    model text NOT NULL,
    revision integer NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (entry_id, model)
);
