-- The lane that a message waits in, and turns among the accounts whose messages wait.

ALTER TABLE account ADD COLUMN share INTEGER NOT NULL DEFAULT 1 CHECK (share BETWEEN 1 AND 100);
ALTER TABLE queue ADD COLUMN lane TEXT NOT NULL DEFAULT 'normal'
    CHECK (lane IN ('normal', 'bulk'));
-- The id of the account: turns go by it.
ALTER TABLE queue ADD COLUMN turn BLOB NOT NULL DEFAULT x'';
UPDATE queue SET turn = (SELECT a.id FROM account a WHERE a.no = queue.account);
ALTER TABLE launching ADD COLUMN lane TEXT NOT NULL DEFAULT 'bulk'
    CHECK (lane IN ('normal', 'bulk'));

DROP INDEX queue_by_time;
CREATE INDEX queue_by_time ON queue (route, lane, claimable_at, id, expires_at);
CREATE INDEX queue_by_turn ON queue (route, lane, turn, claimable_at, id);
