-- Texts, the queue of those that wait to leave, and what makes sends safe to repeat.

CREATE TABLE message (
    account_id      uuid NOT NULL,
    id              uuid NOT NULL,
    direction       text NOT NULL CHECK (direction IN ('outbound', 'inbound')),
    status          text NOT NULL CHECK (status IN ('scheduled', 'queued', 'sending', 'sent',
                        'delivered', 'undelivered', 'failed', 'cancelled', 'received')),
    -- Numbers are the digits of E.164.
    to_number       bigint NOT NULL,
    from_number     bigint NOT NULL,
    contact_number  bigint NOT NULL,
    body            text NOT NULL,
    encoding        text NOT NULL CHECK (encoding IN ('gsm7', 'ucs2')),
    segments        integer NOT NULL CHECK (segments > 0),
    credits         bigint NOT NULL CHECK (credits >= 0),
    route           text NOT NULL,
    mode            text NOT NULL CHECK (mode IN ('live', 'test')),
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
    -- Its history, oldest first: an array of {status, detail, at in milliseconds}. In the row,
    -- because each change of status writes the row anyway.
    timeline        jsonb NOT NULL,
    -- Pages of all of an account's texts, newest first.
    PRIMARY KEY (account_id, id),
    CHECK ((direction = 'inbound') = (status = 'received')),
    CHECK ((status IN ('failed', 'undelivered')) = (error_code IS NOT NULL))
) WITH (fillfactor = 85); -- Each text's status changes a few times.

-- Pages by status, by the other party's number, by send request, by campaign, by reference.
CREATE INDEX message_by_status ON message (account_id, status, id);
CREATE INDEX message_by_contact ON message (account_id, contact_number, id);
CREATE INDEX message_by_batch ON message (account_id, batch_id, id) WHERE batch_id IS NOT NULL;
CREATE INDEX message_by_campaign ON message (account_id, campaign_id, id)
    WHERE campaign_id IS NOT NULL;
CREATE INDEX message_by_client_ref ON message (account_id, client_ref, id)
    WHERE client_ref IS NOT NULL;
-- Receipts and comebacks know a text by its id alone.
CREATE UNIQUE INDEX message_by_id ON message (id);

-- Texts that a worker may take, now or later. A row is deleted when its text is past being taken,
-- so that the table stays as small as what waits.
CREATE TABLE queue (
    message_id    uuid PRIMARY KEY,
    account_id    uuid NOT NULL,
    -- When due, when to be tried again, or when the lease runs out.
    claimable_at  timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    attempt       integer NOT NULL DEFAULT 0,
    -- The worker that has it; every later write must carry it.
    lease         uuid
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
-- The due scan. What is scheduled for later lies behind what is due and is never read by it.
CREATE INDEX queue_by_time ON queue (claimable_at, message_id);
-- Renews what a worker holds.
CREATE INDEX queue_by_lease ON queue (lease) WHERE lease IS NOT NULL;

-- What a simulated network is still to bring back.
CREATE TABLE follow_up (
    id          uuid PRIMARY KEY,
    message_id  uuid NOT NULL,
    number      bigint NOT NULL,
    person      bigint NOT NULL,
    route       text NOT NULL,
    due_at      timestamptz NOT NULL,
    -- 'delivered', 'undelivered' with its error code, or 'reply' with its words.
    what        text NOT NULL CHECK (what IN ('delivered', 'undelivered', 'reply')),
    detail      text
);
CREATE INDEX follow_up_by_time ON follow_up (due_at, id);

-- Accepted sends that a retry of the request would repeat.
CREATE TABLE idempotency_key (
    account_id   uuid NOT NULL,
    key          text NOT NULL,
    fingerprint  bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    batch_id     uuid NOT NULL,
    -- [[to, reason], …]
    rejected     jsonb NOT NULL,
    credits      bigint NOT NULL,
    balance      bigint NOT NULL,
    accepted_at  timestamptz NOT NULL,
    PRIMARY KEY (account_id, key)
);
-- Tidies keys past their keep.
CREATE INDEX idempotency_key_by_age ON idempotency_key (accepted_at);

-- When an account made test texts, for the hourly limit. Rows older than an hour count for nothing
-- and are deleted by the next test send.
CREATE TABLE test_send (
    account_id  uuid NOT NULL,
    batch_id    uuid NOT NULL,
    made_at     timestamptz NOT NULL,
    texts       integer NOT NULL CHECK (texts > 0),
    PRIMARY KEY (account_id, batch_id)
);

CREATE TABLE opt_out (
    account_id  uuid NOT NULL,
    phone       bigint NOT NULL,
    source      text NOT NULL CHECK (source IN ('sms', 'api', 'dashboard')),
    note        text,
    created_at  timestamptz NOT NULL,
    -- Asked before a send is accepted, and again before a text leaves.
    PRIMARY KEY (account_id, phone)
);
