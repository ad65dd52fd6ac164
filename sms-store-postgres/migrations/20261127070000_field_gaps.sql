-- What the merge fields of a send could not show, for its replay.

ALTER TABLE idempotency_key ADD COLUMN gaps jsonb;
COMMENT ON COLUMN idempotency_key.gaps IS
    'Unknown names and blank fields: [[name, ...], [[field, messages], ...]]. Null if there are none.';
