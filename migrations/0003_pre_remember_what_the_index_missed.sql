-- Set while a worker without OpenSearch ends index work that writes no document; once
-- there is one again, everything is written anew, and it is cleared.
ALTER TABLE installation ADD COLUMN index_missed_at timestamptz;
