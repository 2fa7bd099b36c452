-- no transaction
-- Serves: whether a tenant has entries that the index could not take, asked for each search.
DROP INDEX CONCURRENTLY IF EXISTS quarantine_of_index;  -- a failed build leaves an INVALID one
CREATE INDEX CONCURRENTLY quarantine_of_index ON quarantine (tenant) WHERE stage = 'index';
