-- One turn of an agent: what the model said, and what became of its calls. Committed
-- before its calls are sent, so that whoever dies, the next one goes on from here. Ids
-- and scores of entries, never their text.
CREATE TABLE agent_turn (
    job_id uuid NOT NULL,
    turn_no integer NOT NULL CHECK (turn_no > 0),
    tenant text NOT NULL,
    state text NOT NULL CHECK (state IN ('asked', 'calling', 'done', 'ended')),
    -- Who holds it, and until when; a holder that is gone does not renew it.
    holder uuid,
    lease_until timestamptz,
    -- Of the messages that the model was given.
    request_hash text,
    -- What it said; null: it was not asked, or did not get to answer.
    model_out jsonb,
    calls jsonb NOT NULL DEFAULT '[]',
    -- By number of the call.
    outcomes jsonb NOT NULL DEFAULT '{}',
    tokens_in integer NOT NULL DEFAULT 0,
    tokens_out integer NOT NULL DEFAULT 0,
    -- How often it was taken up again after its holder had died.
    repeated integer NOT NULL DEFAULT 0,
    took_ms double precision,
    exit_reason text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (job_id, turn_no)
);
-- Serves: the sweeper.
CREATE INDEX agent_turn_held ON agent_turn (lease_until)
    WHERE state IN ('asked', 'calling');
