-- A source that ends whoever reads it would else be read again and again, and never fail.
ALTER TABLE source_schedule ADD COLUMN deaths integer NOT NULL DEFAULT 0;
