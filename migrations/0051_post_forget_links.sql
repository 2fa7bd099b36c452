-- no transaction
-- Nothing looks for links in texts any more.
DELETE FROM work WHERE stage = 'links';
DELETE FROM quarantine WHERE stage = 'links';
DELETE FROM stage_pause WHERE stage = 'links';
DELETE FROM entry_finding WHERE stage = 'links';
