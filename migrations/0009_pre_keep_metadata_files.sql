-- What a `metadata.json` beside the entry said, packed as the payload is: read again
-- with it, for the source is not asked.
ALTER TABLE raw_payload ADD COLUMN beside bytea;
