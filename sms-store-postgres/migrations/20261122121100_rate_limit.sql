-- The rate limit that the servers over this database share.

-- One row for each key that was ever used often enough to be counted here, so never more rows than
-- keys. Not logged, so that counting never waits for a disk. A crash of PostgreSQL empties the
-- table; the servers then go on from what each has in memory.
CREATE UNLOGGED TABLE rate_limit (
    api_key  uuid PRIMARY KEY,
    -- When a key that spread its requests evenly would make the next one. Nanoseconds since 1970,
    -- so that a rate of a million requests a second can be counted.
    arrival  bigint NOT NULL
) WITH (fillfactor = 50); -- Updated in place all the time.

COMMENT ON TABLE rate_limit IS
    'How many requests each key made lately, as the servers count them together.';
COMMENT ON INDEX rate_limit_pkey IS
    'The row of a key.';
