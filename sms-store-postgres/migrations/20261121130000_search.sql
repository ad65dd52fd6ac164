-- Finding words in texts without reading all of them, and without a cost to sends.

-- What the bodies of an account's texts hold, a span of neighbouring texts at a time. The texts of
-- an account up to the newest span's last_id are all in a span; those after it are read one by one.
CREATE TABLE message_span (
    account_id  uuid NOT NULL,
    -- The oldest and the newest text of the span, both included.
    first_id    uuid NOT NULL,
    last_id     uuid NOT NULL,
    -- A Bloom filter of the runs of characters in the bodies. As long as lets four rows share a
    -- page.
    signature   bytea NOT NULL CHECK (octet_length(signature) = 1920),
    CHECK (first_id <= last_id),
    -- The spans before a text, newest first.
    PRIMARY KEY (account_id, last_id)
) WITH (fillfactor = 100);
-- Neither compressed nor moved out of the row: a search reads it in passing.
ALTER TABLE message_span ALTER COLUMN signature SET STORAGE PLAIN;

-- How far the present round through the accounts has come: one row.
CREATE TABLE message_span_round (
    is_only       boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- The account that was looked at last; all zeros at the start of a round.
    last_account  uuid NOT NULL,
    -- Counts up with each step, so that of two programs that took the same one only one is counted.
    step          bigint NOT NULL
);
INSERT INTO message_span_round (last_account, step)
VALUES ('00000000-0000-0000-0000-000000000000', 0);
