-- Changes of a message that stay in place.
--
-- A change that leaves all indexed columns as they are adds no entry to any index, if its page has
-- room for the new version of the row (PostgreSQL calls it HOT). So no index of message may have a
-- column, not even in its predicate, that changes while a message is sent, reported and delivered.

DROP INDEX message_by_status;

-- A page has room for the new versions of all its rows, which grow by a time at each step.
ALTER TABLE message SET (fillfactor = 45);
ALTER TABLE message
    -- Programs from before this migration append all lines to it.
    ALTER COLUMN timeline SET DEFAULT '[]',
    ADD COLUMN sending_at timestamptz,
    ADD COLUMN resting text GENERATED ALWAYS AS (
        CASE WHEN status IN ('undelivered', 'failed', 'cancelled') THEN status END) STORED;

CREATE INDEX message_resting ON message (account_id, resting, id) WHERE resting IS NOT NULL;
CREATE INDEX message_inbound ON message (account_id, id) WHERE direction = 'inbound';

COMMENT ON COLUMN message.timeline IS
    'The lines of the history that the other columns do not tell: those with words.';
COMMENT ON COLUMN message.sending_at IS
    'When a worker first claimed it, unless the timeline has that line.';
COMMENT ON COLUMN message.resting IS
    'The status, if it is one in which few messages end; otherwise null.';
COMMENT ON INDEX message_resting IS
    'Pages by a status in which few messages end. For statements that compare it.';
COMMENT ON INDEX message_inbound IS
    'Pages of received messages. For statements that state its predicate.';

-- The status of a message that waits is listed here, in a row that claims write anyway.
-- Programs from before this migration insert rows without it.
ALTER TABLE queue ADD COLUMN status text NOT NULL DEFAULT 'unknown';
UPDATE queue q SET status = m.status
FROM message m WHERE m.account_id = q.account_id AND m.id = q.message_id;
CREATE INDEX queue_by_account ON queue (account_id, status, message_id) WHERE status IS NOT NULL;

COMMENT ON COLUMN queue.status IS
    'As in message. Where that differs, message counts.';
COMMENT ON INDEX queue_by_account IS
    'Pages of an account''s waiting messages by status. For statements that compare the status.';
