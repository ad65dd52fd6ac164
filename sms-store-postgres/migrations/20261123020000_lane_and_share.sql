-- The lane that a message waits in, and turns among the accounts whose messages wait.
--
-- What a program without this migration accepts is in the first lane, as is what waits now.

ALTER TABLE account ADD COLUMN share smallint NOT NULL DEFAULT 1
    CONSTRAINT account_share_check CHECK (share BETWEEN 1 AND 100);
COMMENT ON CONSTRAINT account_share_check ON account IS
    'A weight from 1 to 100.';

ALTER TABLE queue ADD COLUMN lane text COLLATE "C" NOT NULL DEFAULT 'normal'
    CONSTRAINT queue_lane_check CHECK (lane IN ('normal', 'bulk'));
COMMENT ON CONSTRAINT queue_lane_check ON queue IS
    'The lanes of the API.';

-- The predicates keep the two apart: in a small table both look as good for either purpose, and a
-- plan that is made then and kept would read all that waits. For the same reason neither serves
-- statements that look messages up by their ids: those say nothing of the expiry or the lane.
DROP INDEX queue_by_route;
CREATE INDEX queue_by_route ON queue (route, lane, claimable_at, message_id)
    WHERE expires_at IS NOT NULL;
-- Without the message: the messages of a campaign fall due together, and share their entries.
CREATE INDEX queue_by_turn ON queue (route, lane, account_id, claimable_at)
    WHERE lane IS NOT NULL AND account_id IS NOT NULL;

COMMENT ON INDEX queue_by_route IS
    'Claims what is due in each lane of each route, oldest first; finds what is due next. For statements that compare the expiry.';
COMMENT ON INDEX queue_by_turn IS
    'Visits the accounts whose messages wait, and claims what is due of each. For statements that compare the lane and the account.';
