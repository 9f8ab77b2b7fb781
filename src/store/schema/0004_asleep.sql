-- What wakes a task that sleeps, as JSON; null for all others. A start reads this and no journal of them.
ALTER TABLE tasks ADD COLUMN asleep TEXT;
CREATE INDEX tasks_asleep ON tasks (task_id) WHERE asleep IS NOT NULL;
-- Those that a start takes up, found without looking at those that ended or sleep.
DROP INDEX tasks_live;
CREATE INDEX tasks_live ON tasks (created_at_ms) WHERE final = 0 AND asleep IS NULL;
