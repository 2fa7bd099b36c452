-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS entry_gone;  -- a failed build leaves an INVALID one
-- Serves: what a search of the index leaves out, deleted or closed since its watermark.
CREATE INDEX CONCURRENTLY entry_gone ON entry (tenant, modified_at)
    WHERE deleted_at IS NOT NULL OR past_readers <> '{}';
