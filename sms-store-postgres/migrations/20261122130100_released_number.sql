-- Numbers that their holder no longer has.

-- One row for each number that was ever released, so never more than the operator had numbers.
CREATE TABLE released_number (
    phone        bigint PRIMARY KEY,
    released_at  timestamptz NOT NULL,
    -- Who had it last; null for a number that all accounts shared.
    account_id   uuid
);

COMMENT ON TABLE released_number IS
    'The last release of each number: another holder does not get it for 30 days.';
COMMENT ON INDEX released_number_pkey IS
    'Says whether a number is kept from other holders, and where its late answers lead.';
