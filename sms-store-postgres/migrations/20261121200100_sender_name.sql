-- Sender names and their review by the operator.

CREATE TABLE sender_name (
    account_id   uuid NOT NULL REFERENCES account (id),
    id           uuid NOT NULL,
    value        text NOT NULL,
    -- The value as it is compared: without case.
    folded       text NOT NULL,
    purpose      text,
    status       text NOT NULL CHECK (status IN ('pending', 'approved', 'rejected')),
    reason       text,
    created_at   timestamptz NOT NULL,
    reviewed_at  timestamptz,
    -- An account's names, newest first.
    PRIMARY KEY (account_id, id),
    CHECK ((status = 'pending') = (reviewed_at IS NULL))
);
-- An account has a name once, or waits for it once.
CREATE UNIQUE INDEX sender_name_live ON sender_name (account_id, folded)
    WHERE status <> 'rejected';
-- The operator decides about a name by its id, and reads the names of all accounts, newest first.
CREATE UNIQUE INDEX sender_name_by_id ON sender_name (id);
-- The same, for the names of one status.
CREATE INDEX sender_name_by_status ON sender_name (status, id);

COMMENT ON TABLE sender_name IS
    'Names that accounts ask to send under, and what the operator said.';
COMMENT ON INDEX sender_name_pkey IS
    'An account''s names, newest first.';
COMMENT ON INDEX sender_name_live IS
    'An account has a name once, or waits for it once.';
COMMENT ON INDEX sender_name_by_id IS
    'The operator decides about one; reads those of all accounts, newest first.';
COMMENT ON INDEX sender_name_by_status IS
    'The operator reads those of one status, newest first.';
COMMENT ON CONSTRAINT sender_name_account_id_fkey ON sender_name IS
    'A name belongs to an account.';
COMMENT ON CONSTRAINT sender_name_status_check ON sender_name IS
    'The states of a review.';
COMMENT ON CONSTRAINT sender_name_check ON sender_name IS
    'What was decided was decided at some time.';
