-- What of a stage's findings is searched with the entry, a line each.
ALTER TABLE entry_finding ADD COLUMN words text NOT NULL DEFAULT '';
