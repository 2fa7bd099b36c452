-- Whoever asked may end a job before its deadline; it says so for as long as it is kept.
ALTER TABLE job ADD COLUMN cancelled boolean NOT NULL DEFAULT false;
-- Serves: the list of one's own jobs. Only of partitions to come, which are empty: to
-- index those that there are would hold up every search, and they are gone in a day.
CREATE INDEX job_of_owner ON ONLY job (tenant, subject, id);
