-- The servers that share this database, and how each counts requests against the rate limit. Times
-- of these tables are nanoseconds since 1970, so that a limit of a million a second can be counted.

-- One row for each server that lives: renewed every 400 ms, left to run out by one that died.
CREATE TABLE replica (
    id       uuid PRIMARY KEY,
    -- 'alone' counts by itself and is the only one to; 'shared' counts in rate_limit; 'waiting'
    -- counts nothing yet.
    footing  text NOT NULL CHECK (footing IN ('waiting', 'alone', 'shared')),
    until    bigint NOT NULL,
    -- Of one that is alone: until when others may have counted.
    spent    bigint,
    -- The number of its last check-in: one that comes late changes nothing.
    turn     bigint NOT NULL
) WITH (fillfactor = 50); -- Updated all the time.
-- Two that count alone would admit twice what the limit allows.
CREATE UNIQUE INDEX replica_alone ON replica (footing) WHERE footing = 'alone';

-- When each way of counting last ended: the next begins with the burst spent at that moment. The
-- one row is also the lock that check-ins take in turn.
CREATE TABLE rate_limit_end (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    alone     bigint,
    shared    bigint
) WITH (fillfactor = 50);
INSERT INTO rate_limit_end DEFAULT VALUES;
