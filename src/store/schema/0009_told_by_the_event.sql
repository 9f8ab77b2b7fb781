-- A one-call task is one event, which says all that its short form says: the row of the task has an empty one. It was a third of
-- what such a call wrote.
--
-- The index of the newest tasks grows at its end now. In descending order each new task was the first of all: pages were split that
-- never filled up again.
DROP INDEX tasks_newest;
CREATE INDEX tasks_by_age ON tasks (created_at_ms, task_id);
