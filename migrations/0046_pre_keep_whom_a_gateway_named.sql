-- The groups of the person who saved it, as a gateway last told them, and when that was;
-- null: a key alone, or nobody's. Nobody tells who has left.
ALTER TABLE saved_search ADD COLUMN person_groups text[];
ALTER TABLE saved_search ADD COLUMN person_seen_at timestamptz;
