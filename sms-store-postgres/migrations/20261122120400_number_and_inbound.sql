-- The operator's numbers, and what inbound messages need before their account is known.

CREATE TABLE number (
    id                 uuid PRIMARY KEY,
    phone              bigint NOT NULL,
    rental_credits     bigint NOT NULL,
    monthly_credits    bigint NOT NULL,
    assigned_at        timestamptz NOT NULL,
    -- Null for a number that all accounts share.
    account_id         uuid,
    rental_charged_at  timestamptz,
    -- When rent is next to be charged, or tried again. Null where none is owed.
    next_rent_at       timestamptz,
    checked_in_at      timestamptz,
    route              text,
    CONSTRAINT number_phone_key UNIQUE (phone),
    CONSTRAINT number_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id),
    CONSTRAINT number_rental_credits_check CHECK (rental_credits >= 0),
    CONSTRAINT number_monthly_credits_check CHECK (monthly_credits >= 0)
);

CREATE INDEX number_by_account ON number (account_id);
CREATE INDEX number_by_next_rent ON number (next_rent_at, id) WHERE next_rent_at IS NOT NULL;

COMMENT ON TABLE number IS
    'The operator''s numbers: rented by an account, or shared by all.';
COMMENT ON INDEX number_pkey IS
    'One number.';
COMMENT ON INDEX number_phone_key IS
    'A number has one row; finds the account of an inbound message.';
COMMENT ON INDEX number_by_account IS
    'The numbers that an account can send from.';
COMMENT ON INDEX number_by_next_rent IS
    'Workers charge the rent that is due, the longest due first.';
COMMENT ON CONSTRAINT number_account_id_fkey ON number IS
    'A number is rented by an account, or by none.';
COMMENT ON CONSTRAINT number_rental_credits_check ON number IS
    'Rent is charged, never paid out.';
COMMENT ON CONSTRAINT number_monthly_credits_check ON number IS
    'Rent is charged, never paid out.';

CREATE TABLE last_contacted (
    number      bigint NOT NULL,
    person      bigint NOT NULL,
    account_id  uuid NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (number, person)
);

CREATE INDEX last_contacted_by_age ON last_contacted (at);

COMMENT ON TABLE last_contacted IS
    'Which account last sent to a person from a shared number: it receives the answer.';
COMMENT ON INDEX last_contacted_pkey IS
    'Finds the account that receives a person''s answer.';
COMMENT ON INDEX last_contacted_by_age IS
    'Deletes rows too old to lead to an account.';

CREATE TABLE unrouted (
    id           uuid PRIMARY KEY,
    from_number  bigint NOT NULL,
    to_number    bigint NOT NULL,
    received_at  timestamptz NOT NULL,
    segments     integer NOT NULL,
    encoding     text NOT NULL,
    body         text NOT NULL
);

COMMENT ON TABLE unrouted IS
    'Inbound messages that belong to no account, for the operator.';
COMMENT ON INDEX unrouted_pkey IS
    'Pages of them, newest first.';

-- A row stays until its message is complete, and then for the rest of the day, so that a repeated
-- segment is recognised.
CREATE TABLE inbound_segment (
    to_number    bigint NOT NULL,
    from_number  bigint NOT NULL,
    first_at     timestamptz NOT NULL,
    reference    integer NOT NULL,
    total        smallint NOT NULL,
    is_joined    boolean NOT NULL,
    -- The numbers of the segments that arrived, and the body of each.
    numbers      smallint[] NOT NULL,
    bodies       text[] NOT NULL,
    route        text NOT NULL,
    PRIMARY KEY (to_number, from_number, reference, total),
    CONSTRAINT inbound_part_total_check CHECK (total > 0),
    CONSTRAINT inbound_part_check CHECK (cardinality(bodies) = cardinality(numbers))
);

CREATE INDEX inbound_segment_by_age ON inbound_segment (first_at);

COMMENT ON TABLE inbound_segment IS
    'Inbound messages of several segments, while segments arrive.';
COMMENT ON INDEX inbound_segment_pkey IS
    'Finds and locks the segments of a message.';
COMMENT ON INDEX inbound_segment_by_age IS
    'Gives up messages that are a day old.';
COMMENT ON CONSTRAINT inbound_part_total_check ON inbound_segment IS
    'A message has segments.';
COMMENT ON CONSTRAINT inbound_part_check ON inbound_segment IS
    'Each segment has its body.';
