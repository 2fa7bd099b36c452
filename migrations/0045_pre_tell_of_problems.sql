-- A problem that operators are told of: one message when it has lasted a little, one when
-- it is over; whoever of upkeep dies in between goes on from here.
CREATE TABLE operations_problem (
    id uuid PRIMARY KEY,
    -- What it is about; its sentence may change meanwhile.
    about text NOT NULL,
    message text NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Since when it is not seen; it may come back.
    gone_at timestamptz,
    ended_at timestamptz,
    -- That it began was delivered.
    is_told boolean NOT NULL DEFAULT false,
    -- When its next message is to be sent; null: there is none just now.
    due_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    last_error text
);
-- Serves: a problem is there once, asked at every turn.
CREATE UNIQUE INDEX operations_problem_open ON operations_problem (about)
 WHERE ended_at IS NULL;
