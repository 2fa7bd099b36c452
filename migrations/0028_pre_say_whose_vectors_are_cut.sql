-- Whose vectors of a model cover the beginning of its text alone: it is too long for more.
CREATE TABLE embedding_cut (
    tenant text NOT NULL,
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    model text NOT NULL,
    revision integer NOT NULL,
    PRIMARY KEY (entry_id, model)
);
