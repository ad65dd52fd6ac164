-- Replays: events that an endpoint missed are sent to it again from the event log.

-- When the next portion of the replay that is under way is due; null if there is none.
ALTER TABLE endpoint ADD COLUMN replay_at INTEGER;
-- Written and read by the program: what is replayed, and how far it has come.
ALTER TABLE endpoint ADD COLUMN replay TEXT;
CREATE INDEX endpoint_by_replay ON endpoint (replay_at) WHERE replay_at IS NOT NULL;

-- Whether a replay wrote it, and not the commit of its event. The latter is found by its id, which
-- is the next after the event's.
ALTER TABLE delivery ADD COLUMN replayed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX delivery_replayed ON delivery (endpoint_id, event_id)
    WHERE replayed = 1 AND claimable_at IS NOT NULL;
