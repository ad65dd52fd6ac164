-- Rows of idempotency keys stand in the order of their coming. A new one goes to the last page, and
-- only its entry in the index, a tenth of its size, goes to a page of its own. Their order is that
-- of their age, so that nothing else has to find the old ones.
CREATE TABLE key_in_order (
    account     INTEGER NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    accepted_at INTEGER NOT NULL,
    answer      BLOB,
    batch_id    BLOB,
    rejected    TEXT,
    credits     INTEGER,
    balance     INTEGER,
    gaps        TEXT,
    UNIQUE (account, key),
    CHECK ((answer IS NULL) <> (batch_id IS NULL))
) STRICT;
INSERT INTO key_in_order
    SELECT account, key, fingerprint, accepted_at, answer, batch_id, rejected, credits, balance, gaps
    FROM idempotency_key ORDER BY accepted_at;
DROP TABLE idempotency_key;
ALTER TABLE key_in_order RENAME TO idempotency_key;
