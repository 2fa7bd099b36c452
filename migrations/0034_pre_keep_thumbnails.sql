-- A small picture of a stored picture, made with its text; null: none was made.
ALTER TABLE attachment ADD COLUMN thumbnail bytea;
-- It is compressed as it is.
ALTER TABLE attachment ALTER COLUMN thumbnail SET STORAGE EXTERNAL;
