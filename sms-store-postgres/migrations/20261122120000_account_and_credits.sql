-- Accounts, their API keys, and the ledger of their credits.
--
-- These migrations define each table once. In all of them:
-- - Keys that requests use begin with account_id, so that the tables can be split by account.
-- - Columns of a fixed width that are never null come first, the widest first. PostgreSQL then
--   adds no padding between them and finds them without reading the columns before.
-- - A COMMENT says what each table, index and constraint is for. psql shows it (\d+).
-- - Phone numbers are the digits of E.164 as a bigint. Ids are UUIDs that begin with their time.

CREATE TABLE account (
    id                   uuid PRIMARY KEY,
    -- The sum of the account's ledger entries.
    balance              bigint NOT NULL,
    -- The seq of the newest ledger entry.
    ledger_seq           bigint NOT NULL DEFAULT 0,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    -- Minutes after midnight.
    quiet_start          smallint NOT NULL,
    quiet_end            smallint NOT NULL,
    track_links_default  boolean NOT NULL,
    -- Whether anybody has ever sent a message to the account. A send reads it with the row that it
    -- locks anyway; where it is false, no conversation needs an update. Never reset.
    has_conversations    boolean NOT NULL DEFAULT false,
    name                 text NOT NULL,
    status               text NOT NULL,
    opt_out_line         text NOT NULL,
    opt_out_line_sender  text NOT NULL,
    CONSTRAINT account_balance_check CHECK (balance >= 0),
    CONSTRAINT account_quiet_start_check CHECK (quiet_start BETWEEN 0 AND 1439),
    CONSTRAINT account_quiet_end_check CHECK (quiet_end BETWEEN 0 AND 1439),
    CONSTRAINT account_status_check CHECK (status IN ('active', 'pending', 'suspended'))
) WITH (fillfactor = 70); -- Every send updates the balance in place.

COMMENT ON TABLE account IS
    'Who sends. Whatever books credits locks the row.';
COMMENT ON INDEX account_pkey IS
    'Locks or reads one account; pages of all accounts.';
COMMENT ON CONSTRAINT account_balance_check ON account IS
    'No commit takes a balance below zero.';
COMMENT ON CONSTRAINT account_quiet_start_check ON account IS
    'Minutes of the day.';
COMMENT ON CONSTRAINT account_quiet_end_check ON account IS
    'Minutes of the day.';
COMMENT ON CONSTRAINT account_status_check ON account IS
    'The states of an account.';

CREATE TABLE api_key (
    account_id    uuid NOT NULL,
    id            uuid NOT NULL,
    created_at    timestamptz NOT NULL,
    last_used_at  timestamptz,
    revoked_at    timestamptz,
    -- SHA-256 of the key that the client sends.
    hash          bytea PRIMARY KEY,
    mode          text NOT NULL,
    name          text,
    last_four     text NOT NULL,
    CONSTRAINT api_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id),
    CONSTRAINT api_key_hash_check CHECK (octet_length(hash) = 32),
    CONSTRAINT api_key_mode_check CHECK (mode IN ('live', 'test'))
);

CREATE UNIQUE INDEX api_key_by_account ON api_key (account_id, id);

COMMENT ON TABLE api_key IS
    'API keys by their hash.';
COMMENT ON INDEX api_key_pkey IS
    'Finds the key of a request in one step.';
COMMENT ON INDEX api_key_by_account IS
    'Lists the keys of an account; revokes one.';
COMMENT ON CONSTRAINT api_key_account_id_fkey ON api_key IS
    'A key belongs to an account.';
COMMENT ON CONSTRAINT api_key_hash_check ON api_key IS
    'SHA-256.';
COMMENT ON CONSTRAINT api_key_mode_check ON api_key IS
    'The kinds of key.';

-- No foreign key to account: the statement that writes entries also updates the account's row,
-- which is locked, and accounts are never deleted. The check would cost as much as the entry.
CREATE TABLE ledger_entry (
    account_id     uuid NOT NULL,
    id             uuid NOT NULL,
    -- Counts the entries of the account without gaps.
    seq            bigint NOT NULL,
    amount         bigint NOT NULL,
    balance_after  bigint NOT NULL,
    created_at     timestamptz NOT NULL,
    -- Of rent: when the period began that the entry pays for.
    rent_due_at    timestamptz,
    batch_id       uuid,
    message_id     uuid,
    campaign_id    uuid,
    number_id      uuid,
    kind           text NOT NULL,
    note           text,
    PRIMARY KEY (account_id, seq),
    CONSTRAINT ledger_entry_seq_check CHECK (seq > 0),
    CONSTRAINT ledger_entry_amount_check CHECK (amount <> 0),
    CONSTRAINT ledger_entry_balance_after_check CHECK (balance_after >= 0),
    CONSTRAINT ledger_entry_kind_check
        CHECK (kind IN ('send', 'refund', 'rent', 'top_up', 'adjustment')),
    CONSTRAINT ledger_entry_check CHECK (kind <> 'send' OR batch_id IS NOT NULL),
    CONSTRAINT ledger_entry_check1 CHECK (kind <> 'refund' OR message_id IS NOT NULL),
    CONSTRAINT ledger_entry_check2 CHECK (kind <> 'rent' OR number_id IS NOT NULL),
    CONSTRAINT ledger_entry_rent_due_at_check CHECK ((kind = 'rent') = (rent_due_at IS NOT NULL))
);

CREATE UNIQUE INDEX ledger_one_charge_per_send ON ledger_entry (account_id, batch_id)
    WHERE kind = 'send';
CREATE UNIQUE INDEX ledger_one_refund_per_message ON ledger_entry (account_id, message_id)
    WHERE kind = 'refund';
CREATE UNIQUE INDEX ledger_one_rent_per_period ON ledger_entry (account_id, number_id, rent_due_at)
    WHERE kind = 'rent';

COMMENT ON TABLE ledger_entry IS
    'Every change of a balance. Rows are only inserted.';
COMMENT ON INDEX ledger_entry_pkey IS
    'Pages of an account''s ledger, newest first; no seq twice.';
COMMENT ON INDEX ledger_one_charge_per_send IS
    'A send is charged once, whatever the programs do.';
COMMENT ON INDEX ledger_one_refund_per_message IS
    'A message is refunded once, whatever the programs do.';
COMMENT ON INDEX ledger_one_rent_per_period IS
    'A period of a number is paid once, whatever the programs do.';
COMMENT ON CONSTRAINT ledger_entry_seq_check ON ledger_entry IS
    'Counts from 1.';
COMMENT ON CONSTRAINT ledger_entry_amount_check ON ledger_entry IS
    'An entry changes the balance.';
COMMENT ON CONSTRAINT ledger_entry_balance_after_check ON ledger_entry IS
    'No balance is ever below zero.';
COMMENT ON CONSTRAINT ledger_entry_kind_check ON ledger_entry IS
    'The kinds of entry.';
COMMENT ON CONSTRAINT ledger_entry_check ON ledger_entry IS
    'A charge names its send.';
COMMENT ON CONSTRAINT ledger_entry_check1 ON ledger_entry IS
    'A refund names its message.';
COMMENT ON CONSTRAINT ledger_entry_check2 ON ledger_entry IS
    'Rent names its number.';
COMMENT ON CONSTRAINT ledger_entry_rent_due_at_check ON ledger_entry IS
    'Rent, and only rent, names the period that it pays for.';
