-- Accounts, their keys, and the ledger of their credits.
-- Every key that requests use leads with account_id, so that tables can be spread by account.

CREATE TABLE account (
    id                   uuid PRIMARY KEY,
    name                 text NOT NULL,
    status               text NOT NULL CHECK (status IN ('active', 'pending', 'suspended')),
    -- Always the sum of the account's ledger; no commit may take it below zero.
    balance              bigint NOT NULL CHECK (balance >= 0),
    -- The seq of the newest ledger entry.
    ledger_seq           bigint NOT NULL DEFAULT 0,
    quiet_start          smallint NOT NULL CHECK (quiet_start BETWEEN 0 AND 1439),
    quiet_end            smallint NOT NULL CHECK (quiet_end BETWEEN 0 AND 1439),
    track_links_default  boolean NOT NULL,
    opt_out_line         text NOT NULL,
    opt_out_line_sender  text NOT NULL,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL
) WITH (fillfactor = 70); -- Every send updates the balance in place.

CREATE TABLE api_key (
    -- SHA-256 of the key: how a request's key is found, in one step.
    hash          bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    account_id    uuid NOT NULL REFERENCES account (id),
    id            uuid NOT NULL,
    mode          text NOT NULL CHECK (mode IN ('live', 'test')),
    name          text,
    last_four     text NOT NULL,
    created_at    timestamptz NOT NULL,
    last_used_at  timestamptz,
    revoked_at    timestamptz
);
-- Lists an account's keys; revokes one.
CREATE UNIQUE INDEX api_key_by_account ON api_key (account_id, id);

CREATE TABLE ledger_entry (
    account_id     uuid NOT NULL REFERENCES account (id),
    -- Gapless within the account, in the order booked.
    seq            bigint NOT NULL CHECK (seq > 0),
    id             uuid NOT NULL,
    kind           text NOT NULL
                   CHECK (kind IN ('send', 'refund', 'rent', 'top_up', 'adjustment')),
    amount         bigint NOT NULL CHECK (amount <> 0),
    balance_after  bigint NOT NULL CHECK (balance_after >= 0),
    batch_id       uuid,
    message_id     uuid,
    campaign_id    uuid,
    number_id      uuid,
    note           text,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (account_id, seq),
    -- An entry without a cause must not be.
    CHECK (kind <> 'send' OR batch_id IS NOT NULL),
    CHECK (kind <> 'refund' OR message_id IS NOT NULL),
    CHECK (kind <> 'rent' OR number_id IS NOT NULL)
);
-- A send is charged once and a text refunded once, whatever the programs do.
CREATE UNIQUE INDEX ledger_one_charge_per_send ON ledger_entry (account_id, batch_id)
    WHERE kind = 'send';
CREATE UNIQUE INDEX ledger_one_refund_per_message ON ledger_entry (account_id, message_id)
    WHERE kind = 'refund';
