-- The operator's numbers, and texts that came in and belong to nobody.

CREATE TABLE number (
    id                 uuid PRIMARY KEY,
    phone              bigint NOT NULL UNIQUE,
    -- Null for a shared number.
    account_id         uuid REFERENCES account (id),
    route              text,
    rental_credits     bigint NOT NULL CHECK (rental_credits >= 0),
    monthly_credits    bigint NOT NULL CHECK (monthly_credits >= 0),
    rental_charged_at  timestamptz,
    assigned_at        timestamptz NOT NULL,
    checked_in_at      timestamptz
);
-- The numbers that an account's texts may come from.
CREATE INDEX number_by_account ON number (account_id);

-- Which account last texted a person from a number: where the person's answer goes.
CREATE TABLE last_texted (
    number      bigint NOT NULL,
    person      bigint NOT NULL,
    account_id  uuid NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (number, person)
);

CREATE TABLE unrouted (
    id           uuid PRIMARY KEY,
    from_number  bigint NOT NULL,
    to_number    bigint NOT NULL,
    body         text NOT NULL,
    encoding     text NOT NULL,
    segments     integer NOT NULL,
    received_at  timestamptz NOT NULL
);
