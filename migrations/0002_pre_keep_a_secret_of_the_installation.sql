-- Signs cursors: every API process of an installation must open what another made.
ALTER TABLE installation
    ADD COLUMN cursor_secret bytea NOT NULL
    DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
