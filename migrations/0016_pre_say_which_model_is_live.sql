-- Entries are embedded for every model that is `active`; searches read the one that is
-- `live`, and its workers load one that is to be `warm` before it is.
ALTER TABLE embedding_model
    ADD COLUMN live boolean NOT NULL DEFAULT false,
    ADD COLUMN warm boolean NOT NULL DEFAULT false,
    ADD COLUMN retired_at timestamptz;

-- The model of the settings was the last to be registered; one before it was not filled
-- any more.
UPDATE embedding_model
   SET live = true
 WHERE model = (SELECT model FROM embedding_model WHERE active
                 ORDER BY created_at DESC, model LIMIT 1);
UPDATE embedding_model SET active = false WHERE NOT live;

-- Serves: of two switches at once one fails.
CREATE UNIQUE INDEX embedding_model_live ON embedding_model (live) WHERE live;

-- The models that a process has loaded; null: it is of a release that does not say.
ALTER TABLE worker_process ADD COLUMN models text[];
