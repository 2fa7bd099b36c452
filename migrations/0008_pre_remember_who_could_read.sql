-- Whoever could read an entry once and cannot any more is told that it is gone; whoever
-- never could is told nothing. `*` among the readers is everybody.
ALTER TABLE entry
    ADD COLUMN past_readers text[] NOT NULL DEFAULT '{}',
    ADD COLUMN past_logbooks text[] NOT NULL DEFAULT '{}';
-- Serves: the feed of changes, what may be seen since it was last asked.
CREATE INDEX entry_visible_from ON entry (tenant, visible_from)
    WHERE visible_from IS NOT NULL;
