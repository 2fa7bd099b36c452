-- What a chore that has ended came to, in numbers of its own.
ALTER TABLE maintenance ADD COLUMN result jsonb;
-- Serves: what the last comparison of the index found, shown with every status.
CREATE INDEX maintenance_last ON maintenance (kind, ended_at DESC)
    WHERE state = 'done';

-- What the last turns of a loop failed for, and since when; null once it went well.
ALTER TABLE upkeep_loop
    ADD COLUMN trouble jsonb,
    ADD COLUMN trouble_since timestamptz;
