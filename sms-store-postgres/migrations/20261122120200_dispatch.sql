-- From the queue to the network and back: what waits to be submitted, what a simulated network
-- still has to answer, and the networks' ids of submitted segments.

-- A row is deleted once no worker may claim its message any more, so that the table stays as small
-- as what waits.
CREATE TABLE queue (
    message_id    uuid PRIMARY KEY,
    account_id    uuid NOT NULL,
    -- When the message is due, when the next try is, or when the lease runs out.
    claimable_at  timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    attempt       integer NOT NULL DEFAULT 0,
    -- How many submissions brought no answer. From the first on the message may have been sent, and
    -- is not refunded.
    unanswered    integer NOT NULL DEFAULT 0,
    -- The claim that holds it. Every later write must carry the same token.
    lease         uuid,
    -- As in message. Compared byte by byte.
    route         text NOT NULL COLLATE "C"
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- What waits for a route that accepts nothing, a million messages perhaps, does not slow the claims
-- of other routes. What is scheduled for later stands behind what is due.
CREATE INDEX queue_by_route ON queue (route, claimable_at, message_id);
CREATE INDEX queue_by_lease ON queue (lease) WHERE lease IS NOT NULL;

COMMENT ON TABLE queue IS
    'Messages that a worker may claim, now or later.';
COMMENT ON INDEX queue_pkey IS
    'Outcomes, delivery receipts and cancels find the entry of a message.';
COMMENT ON INDEX queue_by_route IS
    'Claims what is due for each route, oldest first; finds what is due next.';
COMMENT ON INDEX queue_by_lease IS
    'Renews the leases of a claim.';

CREATE TABLE follow_up (
    id          uuid PRIMARY KEY,
    message_id  uuid NOT NULL,
    number      bigint NOT NULL,
    person      bigint NOT NULL,
    due_at      timestamptz NOT NULL,
    route       text NOT NULL,
    what        text NOT NULL,
    -- The error code of 'undelivered', the body of 'reply'.
    detail      text,
    CONSTRAINT follow_up_what_check CHECK (what IN ('delivered', 'undelivered', 'reply'))
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0); -- As of delivery.

CREATE INDEX follow_up_by_time ON follow_up (due_at, id);

COMMENT ON TABLE follow_up IS
    'Delivery receipts and replies that a simulated network still has to send.';
COMMENT ON INDEX follow_up_pkey IS
    'Takes one, once.';
COMMENT ON INDEX follow_up_by_time IS
    'Finds what is due, oldest first; finds what is due next.';
COMMENT ON CONSTRAINT follow_up_what_check ON follow_up IS
    'What a network can send.';

-- A row without a message is a delivery receipt that arrived before the submission was recorded.
-- Writers hold the lock of the message, with two exceptions: early receipts, and ids that a network
-- uses again, which move to the later message.
CREATE TABLE sent_segment (
    -- When the segment was submitted, or when an early receipt arrived.
    at          timestamptz NOT NULL,
    message_id  uuid,
    -- When an early receipt of this segment arrived; otherwise null. One that is older than the
    -- submission belongs to a segment that had the same id before.
    early_at    timestamptz,
    -- How many segments the message has.
    total       integer,
    -- Compared byte by byte, so that all programs lock rows in the same order.
    route       text NOT NULL COLLATE "C",
    network_id  text NOT NULL COLLATE "C",
    -- The newest receipt: 'delivered', or the error code of a segment that was not.
    report      text,
    PRIMARY KEY (route, network_id),
    CONSTRAINT sent_part_check
        CHECK (CASE WHEN message_id IS NULL THEN total IS NULL AND report IS NOT NULL
                    ELSE total IS NOT NULL AND total > 0 END)
) WITH (fillfactor = 50); -- No index has the receipt. A page has room for the new versions of all
                         -- its rows, should one commit bring all their receipts.

CREATE INDEX sent_segment_by_message ON sent_segment (message_id) WHERE total > 1;
CREATE INDEX sent_segment_by_age ON sent_segment (at);

COMMENT ON TABLE sent_segment IS
    'Submitted segments by the networks'' ids, with the newest receipt of each.';
COMMENT ON COLUMN sent_segment.message_id IS
    'The message; null while only a receipt of the segment is known.';
COMMENT ON COLUMN sent_segment.total IS
    'How many segments the message has.';
COMMENT ON COLUMN sent_segment.report IS
    'The newest receipt: delivered, or the error code of a segment that was not.';
COMMENT ON COLUMN sent_segment.at IS
    'When the segment was submitted, or when an early receipt arrived.';
COMMENT ON COLUMN sent_segment.early_at IS
    'When an early receipt of this segment arrived; otherwise null.';
COMMENT ON INDEX sent_segment_pkey IS
    'Finds the message of a receipt; one id, one segment.';
COMMENT ON INDEX sent_segment_by_message IS
    'Finds the other segments of a message.';
COMMENT ON INDEX sent_segment_by_age IS
    'Deletes segments and early receipts that are old.';
COMMENT ON CONSTRAINT sent_part_check ON sent_segment IS
    'A segment has a message; an early receipt has its content.';
