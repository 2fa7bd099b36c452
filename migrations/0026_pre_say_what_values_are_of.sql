-- The device that a value is of, what of it, and since when it holds: for values that
-- the text says are one's own. An entry that is read anew has them.
ALTER TABLE entry_quantity
    ADD COLUMN device text,
    ADD COLUMN parameter text,
    ADD COLUMN said_at timestamptz;
