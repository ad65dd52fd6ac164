-- Claims read the head of each route's queue: what waits for a route that takes nothing, a million
-- texts of a campaign perhaps, is not stepped over by each claim.

ALTER TABLE queue ALTER COLUMN route TYPE text COLLATE "C";
CREATE INDEX queue_by_route ON queue (route, claimable_at, message_id);
DROP INDEX queue_by_time;

COMMENT ON INDEX queue_by_route IS
    'The due scan of each route, oldest first; what is due next.';
