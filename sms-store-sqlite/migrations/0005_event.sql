-- The event log. A row holds some events of one commit and one account, in a form that only the
-- core reads.
CREATE TABLE event (
    no      INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    -- The number of the commit, which rises from commit to commit.
    seq     INTEGER NOT NULL,
    -- The place of its first event among those of the account in the commit.
    place   INTEGER NOT NULL,
    -- One bit for each kind that occurs.
    kinds   INTEGER NOT NULL,
    -- The greatest id of its events.
    last_id BLOB NOT NULL CHECK (length(last_id) = 16),
    events  BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_by_account ON event (account, seq, place);
CREATE INDEX event_by_age ON event (last_id, account);

-- The number of the last commit that raised events. It stays when its events are removed.
CREATE TABLE event_count (
    is_only INTEGER PRIMARY KEY CHECK (is_only = 1),
    seq     INTEGER NOT NULL
) STRICT;
INSERT INTO event_count VALUES (1, 0);
