-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS attachment_filename;
-- Serves: the attachment_name branch.
CREATE INDEX CONCURRENTLY attachment_filename
    ON attachment USING gin (lower(filename) gin_trgm_ops);
