-- Whoever could read an entry once and cannot any more is told that it is gone; whoever
-- never could is told nothing. `*` among the readers is everybody.
ALTER TABLE entry
    ADD COLUMN past_readers text[] NOT NULL DEFAULT '{}',
    ADD COLUMN past_logbooks text[] NOT NULL DEFAULT '{}';
-- Serves: the feed of changes, what may be seen since it was last asked.
CREATE INDEX entry_visible_from ON entry (tenant, visible_from)
    WHERE visible_from IS NOT NULL;

-- A purge is told as a deletion to whoever could read the entry; nothing that it said
-- is kept. Null where there was no entry.
ALTER TABLE purged
    ADD COLUMN entry_id uuid,
    ADD COLUMN revision integer,
    ADD COLUMN readers text[] NOT NULL DEFAULT '{}',
    ADD COLUMN logbooks text[] NOT NULL DEFAULT '{}',
    ADD COLUMN changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id();
-- Serves: the feed of changes.
CREATE INDEX purged_changed ON purged (tenant, changed_xid, entry_id);
