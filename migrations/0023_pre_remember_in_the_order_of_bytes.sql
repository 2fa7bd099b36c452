-- What a source remembers is read in the order of keys, from one on. That order is the
-- adapters' own, by code points, whichever way the database sorts texts.
ALTER TABLE source_memory ALTER COLUMN key TYPE text COLLATE "C";
