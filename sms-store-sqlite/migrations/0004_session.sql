-- Sessions of the console, by the hash of what the browser holds.

CREATE TABLE session (
    hash          BLOB PRIMARY KEY CHECK (length(hash) = 32),
    -- The key that opened it; null for the operator's.
    key_hash      BLOB CHECK (length(key_hash) = 32),
    -- Proof of the operator's token; null for a key's.
    operator_seal BLOB CHECK (length(operator_seal) = 32),
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    CHECK ((key_hash IS NULL) <> (operator_seal IS NULL))
) STRICT, WITHOUT ROWID;
-- The operator's sessions have the key null.
CREATE INDEX session_by_key ON session (key_hash, created_at, hash);
CREATE INDEX session_by_end ON session (expires_at);
