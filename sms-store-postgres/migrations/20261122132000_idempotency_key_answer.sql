-- One table remembers what every idempotency key was used for: sends as before, and the other
-- commands by their answer. A row of another command has the defaults below in the columns of
-- sends. A program that does not know such rows takes them for sends with another fingerprint,
-- which is a conflict, as it should be.

ALTER TABLE idempotency_key
    ADD COLUMN answer bytea,
    ALTER COLUMN batch_id SET DEFAULT '00000000-0000-0000-0000-000000000000',
    ALTER COLUMN credits SET DEFAULT 0,
    ALTER COLUMN balance SET DEFAULT 0,
    ALTER COLUMN rejected SET DEFAULT '[]';

COMMENT ON TABLE idempotency_key IS
    'Accepted requests that a retry repeats. The operator''s have the account_id of zeros.';
COMMENT ON COLUMN idempotency_key.answer IS
    'What the first answer of a command is rebuilt from, as JSON; null for a send.';
COMMENT ON INDEX idempotency_key_pkey IS
    'Recognises a retry; one key, one request.';
