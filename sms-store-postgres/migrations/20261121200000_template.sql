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
