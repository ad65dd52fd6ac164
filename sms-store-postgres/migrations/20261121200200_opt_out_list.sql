-- An account's opt-outs, newest first.
CREATE INDEX opt_out_by_age ON opt_out (account_id, created_at, phone);
COMMENT ON INDEX opt_out_by_age IS
    'An account''s opt-outs, newest first.';
