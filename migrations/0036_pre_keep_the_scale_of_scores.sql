-- What the raw score of a word is that is worth a half, as measured on the entries.
CREATE TABLE score_scale (
    unit text PRIMARY KEY,
    half double precision NOT NULL CHECK (half > 0),
    -- The index, or the table, that it was measured in.
    measured_in text NOT NULL,
    measured_at timestamptz NOT NULL DEFAULT now()
);
