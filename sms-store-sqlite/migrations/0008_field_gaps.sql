-- What the merge fields of a send could not show, for its replay: [[name, ...], [[field, messages],
-- ...]]. Null if they showed everything.
ALTER TABLE idempotency_key ADD COLUMN gaps TEXT;
