-- A thousand messages with the same fault are one row that says how many. The key names
-- queue, fault and task; rows of entries have none.
ALTER TABLE quarantine
    ADD COLUMN times bigint NOT NULL DEFAULT 1,
    ADD COLUMN message_key text;
-- Serves: counting the next one into the row of the first.
CREATE UNIQUE INDEX quarantine_message ON quarantine (message_key)
    WHERE message_key IS NOT NULL;
