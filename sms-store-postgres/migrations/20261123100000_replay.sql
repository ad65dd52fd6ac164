-- Replays: events that an endpoint missed are sent to it again from the event log.

ALTER TABLE endpoint
    -- When the next portion of the replay that is under way is due; null if there is none.
    ADD COLUMN replay_at timestamptz,
    -- Written and read by the program: what is replayed, and how far it has come.
    ADD COLUMN replay text,
    ADD CONSTRAINT endpoint_replay_check CHECK ((replay_at IS NULL) = (replay IS NULL));
CREATE INDEX endpoint_by_replay ON endpoint (replay_at) WHERE replay_at IS NOT NULL;

COMMENT ON CONSTRAINT endpoint_replay_check ON endpoint IS
    'A replay that is under way goes on at a time.';
COMMENT ON INDEX endpoint_by_replay IS
    'The endpoints with a replay under way, in the order in which they go on.';

-- A delivery that the commit of its event wrote is found by its id, which is the next after the
-- event's. One that a replay wrote has a later id.
ALTER TABLE delivery ADD COLUMN replayed boolean NOT NULL DEFAULT false;
CREATE INDEX delivery_replayed ON delivery (endpoint_id, event_id)
    WHERE replayed AND claimable_at IS NOT NULL;

COMMENT ON INDEX delivery_replayed IS
    'Which events wait for an endpoint because of a replay, so that another does not add them.';
