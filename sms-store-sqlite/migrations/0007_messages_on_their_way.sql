-- The index by status leaves out `sending`: most messages would leave it within moments. Pages of
-- these messages read the queue.

DROP INDEX message_by_status;
CREATE INDEX message_by_status ON message (account, status, id) WHERE status <> 2;

-- Whether it was claimed or given back. Says nothing while there is a lease.
ALTER TABLE queue ADD COLUMN was_held INTEGER NOT NULL DEFAULT 1;
UPDATE queue SET was_held = 0
    WHERE NOT EXISTS (SELECT 1 FROM message m WHERE m.id = queue.id AND m.status = 2);
CREATE INDEX queue_was_held ON queue (account, id) WHERE lease IS NULL AND was_held = 1;
