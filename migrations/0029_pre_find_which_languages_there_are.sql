-- no transaction
-- Serves: in which languages a tenant's entries are; a search is written for no others.
DROP INDEX CONCURRENTLY IF EXISTS entry_text_language;  -- a failed build leaves an INVALID one
CREATE INDEX CONCURRENTLY entry_text_language ON entry_text (tenant, language);
