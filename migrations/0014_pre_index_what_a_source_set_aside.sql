-- no transaction
-- Serves: whether a page's entries may have been put aside before, and how many of a
-- source are.
DROP INDEX CONCURRENTLY IF EXISTS quarantine_of_source;
CREATE INDEX CONCURRENTLY quarantine_of_source ON quarantine (tenant, source)
    WHERE stage = 'ingest';
