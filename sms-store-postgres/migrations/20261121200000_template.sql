-- Texts kept under a name.

CREATE TABLE template (
    account_id  uuid NOT NULL REFERENCES account (id),
    id          uuid NOT NULL,
    name        text NOT NULL,
    body        text NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    -- One template, and pages of an account's, newest first. A search for words reads the
    -- account's, which are few.
    PRIMARY KEY (account_id, id)
);

COMMENT ON TABLE template IS
    'Texts kept under a name.';
COMMENT ON INDEX template_pkey IS
    'One template; pages of an account''s, newest first.';
COMMENT ON CONSTRAINT template_account_id_fkey ON template IS
    'A template belongs to an account.';
