-- No word of anybody's questions is kept any more, nor proposed for the glossary.
DELETE FROM glossary_form WHERE of_questions AND state <> 'approved';
ALTER TABLE glossary_form DROP COLUMN of_questions;
DROP TABLE unwritten_word;
