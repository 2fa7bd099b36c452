-- no transaction
-- Serves: the field `id:` of a question, and whatever else names entries as their sources do.
DROP INDEX CONCURRENTLY IF EXISTS entry_external_id;  -- a failed build leaves an INVALID one
CREATE INDEX CONCURRENTLY entry_external_id ON entry (tenant, external_id);
