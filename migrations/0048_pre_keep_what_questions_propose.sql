-- What questions propose is told to admins alone until it is approved: they are the words
-- of people who asked, and the answers may have come from entries that few may see.
ALTER TABLE glossary_form ADD COLUMN of_questions boolean NOT NULL DEFAULT false;
