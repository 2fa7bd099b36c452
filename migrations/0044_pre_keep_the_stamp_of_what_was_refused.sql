-- How an item stood in its source's listing when it was refused: as long as it stands so,
-- it is not asked for again.
ALTER TABLE quarantine ADD COLUMN stamp text;
