-- What an event's row was when it was written; null in rows of earlier versions. A row that is no longer what it was
-- keeps its task from running.
ALTER TABLE events ADD COLUMN checksum INTEGER;
-- Why the task is not run; null if nothing is wrong with it.
ALTER TABLE tasks ADD COLUMN quarantine TEXT;
