-- The requests of each key, while several servers share the database. Not logged: what a request
-- counts is not worth a disk's time. A crash of PostgreSQL empties both tables together, and every
-- key then begins with its burst spent: too little is admitted for some seconds, never too much.

CREATE UNLOGGED TABLE rate_limit (
    api_key  uuid PRIMARY KEY,
    -- When a key that spread its requests evenly would make the next: nanoseconds since 1970.
    arrival  bigint NOT NULL
) WITH (fillfactor = 50); -- Updated all the time.

-- Since when the counters above are kept: the first check-in that finds no row writes it.
CREATE UNLOGGED TABLE rate_limit_start (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    at        bigint NOT NULL
);
