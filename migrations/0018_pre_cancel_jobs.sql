-- Whoever asked may end a job before its deadline; it says so for as long as it is kept.
ALTER TABLE job ADD COLUMN cancelled boolean NOT NULL DEFAULT false;
-- Serves: the list of one's own jobs.
CREATE INDEX job_of_owner ON job (tenant, subject, id);
