-- What a stage found, in words of its own, each as the stage itself describes it.
ALTER TABLE entry_finding ADD COLUMN found jsonb NOT NULL DEFAULT '[]';
