-- Messages, sent and received.

CREATE TABLE message (
    account_id      uuid NOT NULL,
    id              uuid NOT NULL,
    to_number       bigint NOT NULL,
    from_number     bigint NOT NULL,
    -- The other party: the recipient, or the sender of an inbound message.
    contact_number  bigint NOT NULL,
    credits         bigint NOT NULL,
    segments        integer NOT NULL,
    direction       text NOT NULL,
    status          text NOT NULL,
    encoding        text NOT NULL,
    route           text NOT NULL,
    mode            text NOT NULL,
    body            text NOT NULL,
    sender          text,
    client_ref      text,
    batch_id        uuid,
    campaign_id     uuid,
    contact_id      uuid,
    error_code      text,
    scheduled_at    timestamptz,
    sent_at         timestamptz,
    delivered_at    timestamptz,
    failed_at       timestamptz,
    cancelled_at    timestamptz,
    received_at     timestamptz,
    read_at         timestamptz,
    -- The history, oldest first: an array of {status, detail, at in milliseconds}. It is part of
    -- the row because each change of status writes the row anyway.
    timeline        jsonb NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT message_credits_check CHECK (credits >= 0),
    CONSTRAINT message_segments_check CHECK (segments > 0),
    CONSTRAINT message_direction_check CHECK (direction IN ('outbound', 'inbound')),
    CONSTRAINT message_status_check CHECK (status IN ('scheduled', 'queued', 'sending', 'sent',
        'delivered', 'undelivered', 'failed', 'cancelled', 'received')),
    CONSTRAINT message_encoding_check CHECK (encoding IN ('gsm7', 'ucs2')),
    CONSTRAINT message_mode_check CHECK (mode IN ('live', 'test')),
    CONSTRAINT message_check CHECK ((direction = 'inbound') = (status = 'received')),
    CONSTRAINT message_check1
        CHECK ((status IN ('failed', 'undelivered')) = (error_code IS NOT NULL))
) WITH (fillfactor = 85); -- The status of a message changes a few times.

CREATE INDEX message_by_status ON message (account_id, status, id);
CREATE INDEX message_by_contact ON message (account_id, contact_number, id);
CREATE INDEX message_by_batch ON message (account_id, batch_id, id) WHERE batch_id IS NOT NULL;
CREATE INDEX message_by_campaign ON message (account_id, campaign_id, id)
    WHERE campaign_id IS NOT NULL;
CREATE INDEX message_by_client_ref ON message (account_id, client_ref, id)
    WHERE client_ref IS NOT NULL;
CREATE UNIQUE INDEX message_by_id ON message (id);
CREATE INDEX message_unread ON message (account_id, contact_number)
    WHERE direction = 'inbound' AND read_at IS NULL;

COMMENT ON TABLE message IS
    'Messages, sent and received, with their history.';
COMMENT ON INDEX message_pkey IS
    'Pages of an account''s messages, newest first; one message.';
COMMENT ON INDEX message_by_status IS
    'Pages by status.';
COMMENT ON INDEX message_by_contact IS
    'Pages by the other party''s number.';
COMMENT ON INDEX message_by_batch IS
    'Pages by send request; the messages that a replay answers with.';
COMMENT ON INDEX message_by_campaign IS
    'Pages by campaign.';
COMMENT ON INDEX message_by_client_ref IS
    'Pages by the client''s reference.';
COMMENT ON INDEX message_by_id IS
    'Delivery receipts know a message by its id alone.';
COMMENT ON INDEX message_unread IS
    'The inbound messages from a number that are not marked as read.';
COMMENT ON CONSTRAINT message_credits_check ON message IS
    'A message costs credits or nothing.';
COMMENT ON CONSTRAINT message_segments_check ON message IS
    'A message has at least one segment.';
COMMENT ON CONSTRAINT message_direction_check ON message IS
    'Sent or received.';
COMMENT ON CONSTRAINT message_status_check ON message IS
    'The states of a message.';
COMMENT ON CONSTRAINT message_encoding_check ON message IS
    'The encodings of GSM 03.38.';
COMMENT ON CONSTRAINT message_mode_check ON message IS
    'The kinds of key.';
COMMENT ON CONSTRAINT message_check ON message IS
    'Inbound messages, and only they, are received.';
COMMENT ON CONSTRAINT message_check1 ON message IS
    'Messages that failed, and only they, have an error code.';
