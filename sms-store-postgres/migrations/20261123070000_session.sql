-- Sessions of the console, by the hash of what the browser holds.

CREATE TABLE session (
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    -- SHA-256 of the token in the cookie.
    hash           bytea PRIMARY KEY,
    -- The key that opened it; null for the operator's.
    key_hash       bytea,
    -- Proof of the operator's token; null for a key's.
    operator_seal  bytea,
    CONSTRAINT session_hash_check CHECK (octet_length(hash) = 32),
    CONSTRAINT session_key_hash_check CHECK (octet_length(key_hash) = 32),
    CONSTRAINT session_operator_seal_check CHECK (octet_length(operator_seal) = 32),
    CONSTRAINT session_holder_check CHECK ((key_hash IS NULL) <> (operator_seal IS NULL))
);

CREATE INDEX session_by_key ON session (key_hash, created_at, hash);
CREATE INDEX session_by_end ON session (expires_at);

COMMENT ON TABLE session IS
    'Who is signed in to the console.';
COMMENT ON INDEX session_pkey IS
    'Finds the session of a request; ends one.';
COMMENT ON INDEX session_by_key IS
    'The sessions of one key, or of the operator: ends the oldest when there are too many.';
COMMENT ON INDEX session_by_end IS
    'Removes sessions whose time is over.';
COMMENT ON CONSTRAINT session_hash_check ON session IS
    'SHA-256.';
COMMENT ON CONSTRAINT session_key_hash_check ON session IS
    'SHA-256.';
COMMENT ON CONSTRAINT session_operator_seal_check ON session IS
    'SHA-256.';
COMMENT ON CONSTRAINT session_holder_check ON session IS
    'A key or the operator opened it.';
