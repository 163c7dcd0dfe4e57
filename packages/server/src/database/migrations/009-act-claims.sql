-- Which process has claimed an act, so that it can take up what it could not finish: an answer of the database that was
-- lost says neither that an act was claimed, nor that the claim was given up.
ALTER TABLE keyed_acts ADD COLUMN claimed_by TEXT;
