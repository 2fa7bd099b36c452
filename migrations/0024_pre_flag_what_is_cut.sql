-- What the reading of a text is to be told with the entry: that not all of it is found.
ALTER TABLE entry_metadata ADD COLUMN flags text[] NOT NULL DEFAULT '{}';
