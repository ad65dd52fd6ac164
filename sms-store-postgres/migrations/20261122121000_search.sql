-- Finding words in bodies without reading all of them, and without a cost to sends: signatures of
-- spans of neighbouring messages.

-- All messages of an account up to the last_id of its newest span are in spans. Searches read the
-- messages after it one by one.
CREATE TABLE message_span (
    account_id  uuid NOT NULL,
    -- The oldest and the newest message of the span, both included.
    first_id    uuid NOT NULL,
    last_id     uuid NOT NULL,
    -- A Bloom filter of the runs of characters in the bodies. With this length four rows share a
    -- page.
    signature   bytea NOT NULL,
    PRIMARY KEY (account_id, last_id),
    CONSTRAINT message_span_check CHECK (first_id <= last_id),
    CONSTRAINT message_span_signature_check CHECK (octet_length(signature) = 1920)
) WITH (fillfactor = 100);

-- Neither compressed nor moved out of the row: a search reads the signatures one after another.
ALTER TABLE message_span ALTER COLUMN signature SET STORAGE PLAIN;

COMMENT ON TABLE message_span IS
    'Signatures of neighbouring messages, for searches.';
COMMENT ON INDEX message_span_pkey IS
    'The spans before a message, newest first.';
COMMENT ON CONSTRAINT message_span_check ON message_span IS
    'Oldest first.';
COMMENT ON CONSTRAINT message_span_signature_check ON message_span IS
    'Four rows share a page.';

CREATE TABLE message_span_round (
    -- The account that was looked at last; all zeros at the start of a round.
    last_account  uuid NOT NULL,
    -- Counts the steps. Of two programs that take the same step only one commits it.
    step          bigint NOT NULL,
    is_only       boolean PRIMARY KEY DEFAULT true,
    CONSTRAINT message_span_round_is_only_check CHECK (is_only)
);

INSERT INTO message_span_round (last_account, step)
VALUES ('00000000-0000-0000-0000-000000000000', 0);

COMMENT ON TABLE message_span_round IS
    'How far the worker that makes spans has come in its round through the accounts.';
COMMENT ON INDEX message_span_round_pkey IS
    'One row.';
COMMENT ON CONSTRAINT message_span_round_is_only_check ON message_span_round IS
    'One row.';
