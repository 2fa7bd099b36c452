-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS attachment_unfetched;  -- a failed build leaves an INVALID one
-- Serves: how many files of each source did not come, and why.
CREATE INDEX CONCURRENTLY attachment_unfetched ON attachment (tenant, entry_id)
    WHERE state <> 'stored' AND error IS NOT NULL;
