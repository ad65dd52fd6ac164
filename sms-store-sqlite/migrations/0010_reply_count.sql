-- How many automatic replies were sent lately, so that strangers cannot spend an account's credits.

CREATE TABLE reply_count (
    account INTEGER NOT NULL REFERENCES account (no),
    -- 0 for all keywords of the account.
    keyword BLOB NOT NULL CHECK (length(keyword) = 16),
    -- Written and read by the program: replies by second and by minute, and a pause of them.
    replies TEXT NOT NULL,
    PRIMARY KEY (account, keyword)
) STRICT, WITHOUT ROWID;
