-- What a send is checked against: earlier sends with the same key, the limit of test messages,
-- opt-outs, sender names, templates.

CREATE TABLE idempotency_key (
    account_id   uuid NOT NULL,
    batch_id     uuid NOT NULL,
    credits      bigint NOT NULL,
    balance      bigint NOT NULL,
    accepted_at  timestamptz NOT NULL,
    key          text NOT NULL,
    fingerprint  bytea NOT NULL,
    -- [[to, reason], ...]
    rejected     jsonb NOT NULL,
    PRIMARY KEY (account_id, key),
    CONSTRAINT idempotency_key_fingerprint_check CHECK (octet_length(fingerprint) = 32)
);

CREATE INDEX idempotency_key_by_age ON idempotency_key (accepted_at);

COMMENT ON TABLE idempotency_key IS
    'Accepted sends that a retry of the request repeats.';
COMMENT ON INDEX idempotency_key_pkey IS
    'Recognises a retry; one key, one send.';
COMMENT ON INDEX idempotency_key_by_age IS
    'Deletes keys that are old.';
COMMENT ON CONSTRAINT idempotency_key_fingerprint_check ON idempotency_key IS
    'SHA-256.';

-- Rows older than an hour no longer count. The next test send deletes them.
CREATE TABLE test_send (
    account_id  uuid NOT NULL,
    batch_id    uuid NOT NULL,
    made_at     timestamptz NOT NULL,
    messages       integer NOT NULL,
    PRIMARY KEY (account_id, batch_id),
    CONSTRAINT test_send_texts_check CHECK (messages > 0)
);

CREATE INDEX test_send_by_age ON test_send (made_at);

COMMENT ON TABLE test_send IS
    'How many test messages an account sent, and when, for the hourly limit.';
COMMENT ON INDEX test_send_pkey IS
    'Counts an account''s test messages.';
COMMENT ON INDEX test_send_by_age IS
    'Deletes those that no longer count.';
COMMENT ON CONSTRAINT test_send_texts_check ON test_send IS
    'A send of no messages is not kept.';

CREATE TABLE opt_out (
    account_id  uuid NOT NULL,
    phone       bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    source      text NOT NULL,
    note        text,
    PRIMARY KEY (account_id, phone),
    CONSTRAINT opt_out_source_check CHECK (source IN ('sms', 'api', 'dashboard'))
);

CREATE INDEX opt_out_by_age ON opt_out (account_id, created_at, phone);

COMMENT ON TABLE opt_out IS
    'Numbers that an account must not send to.';
COMMENT ON INDEX opt_out_pkey IS
    'Read before a send is accepted, and again before a message is submitted.';
COMMENT ON INDEX opt_out_by_age IS
    'Pages of an account''s opt-outs, newest first.';
COMMENT ON CONSTRAINT opt_out_source_check ON opt_out IS
    'Where opt-outs come from.';

CREATE TABLE sender_name (
    account_id   uuid NOT NULL,
    id           uuid NOT NULL,
    created_at   timestamptz NOT NULL,
    reviewed_at  timestamptz,
    value        text NOT NULL,
    -- The value in the form in which values are compared: without case.
    folded       text NOT NULL,
    purpose      text,
    status       text NOT NULL,
    reason       text,
    PRIMARY KEY (account_id, id),
    CONSTRAINT sender_name_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id),
    CONSTRAINT sender_name_status_check CHECK (status IN ('pending', 'approved', 'rejected')),
    CONSTRAINT sender_name_check CHECK ((status = 'pending') = (reviewed_at IS NULL))
);

CREATE UNIQUE INDEX sender_name_live ON sender_name (account_id, folded)
    WHERE status <> 'rejected';
CREATE UNIQUE INDEX sender_name_by_id ON sender_name (id);
CREATE INDEX sender_name_by_status ON sender_name (status, id);

COMMENT ON TABLE sender_name IS
    'Sender names that accounts asked for, and the operator''s decisions.';
COMMENT ON INDEX sender_name_pkey IS
    'An account''s names, newest first.';
COMMENT ON INDEX sender_name_live IS
    'An account has a name, or waits for it, once.';
COMMENT ON INDEX sender_name_by_id IS
    'The operator decides about one; pages of the names of all accounts, newest first.';
COMMENT ON INDEX sender_name_by_status IS
    'Pages of the names of one status, newest first, for the operator.';
COMMENT ON CONSTRAINT sender_name_account_id_fkey ON sender_name IS
    'A name belongs to an account.';
COMMENT ON CONSTRAINT sender_name_status_check ON sender_name IS
    'The states of a review.';
COMMENT ON CONSTRAINT sender_name_check ON sender_name IS
    'Every decision has its time.';

CREATE TABLE template (
    account_id  uuid NOT NULL,
    id          uuid NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    name        text NOT NULL,
    body        text NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT template_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id)
);

COMMENT ON TABLE template IS
    'Bodies kept under a name.';
COMMENT ON INDEX template_pkey IS
    'One template; pages of an account''s, newest first. Searches read all of an account''s.';
COMMENT ON CONSTRAINT template_account_id_fkey ON template IS
    'A template belongs to an account.';
