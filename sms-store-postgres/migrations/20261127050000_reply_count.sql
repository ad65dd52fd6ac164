-- How many automatic replies were sent lately, so that strangers cannot spend an account's credits.

CREATE TABLE reply_count (
    account_id uuid NOT NULL,
    -- 0 for all keywords of the account.
    keyword_id uuid NOT NULL,
    -- Written and read by the program: replies by second and by minute, and a pause of them.
    replies    text NOT NULL,
    CONSTRAINT reply_count_pkey PRIMARY KEY (account_id, keyword_id),
    CONSTRAINT reply_count_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id)
);

COMMENT ON TABLE reply_count IS
    'The automatic replies of the last hour, of an account and of each of its keywords.';
COMMENT ON INDEX reply_count_pkey IS
    'Finds the counts that a match looks at and changes.';
COMMENT ON CONSTRAINT reply_count_account_id_fkey ON reply_count IS
    'Replies are those of an account.';
