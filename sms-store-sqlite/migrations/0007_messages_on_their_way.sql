-- Messages that a worker holds leave the index by status alone: most are held from the start, and
-- would move in it within moments. They are listed by the queue.

DROP INDEX message_by_status;
CREATE INDEX message_by_status ON message (account, status, id) WHERE status <> 2;

-- Whether a worker held it and gave it back. Rows from before this migration may say so wrongly,
-- which does no harm.
ALTER TABLE queue ADD COLUMN was_held INTEGER NOT NULL DEFAULT 1;
CREATE INDEX queue_was_held ON queue (account, id) WHERE lease IS NULL AND was_held = 1;
