-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS entry_of_thread;  -- a failed build leaves an INVALID one
-- Serves: the first entries of a thread that somebody sees, without reading all of it.
CREATE INDEX CONCURRENTLY entry_of_thread ON entry (tenant, thread_id, id)
    WHERE thread_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS entry_thread;
