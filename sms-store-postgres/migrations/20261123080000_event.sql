-- The event log.
--
-- A row holds some events of one commit and one account. Its number is that of the transaction that
-- wrote it, so that readers can tell which transactions may still add smaller ones.

CREATE TABLE event (
    account_id  uuid NOT NULL,
    -- The number of the transaction, plus event_base.
    seq         bigint NOT NULL,
    -- The place of its first event among those of the account in the transaction.
    place       integer NOT NULL,
    -- One bit for each kind that occurs.
    kinds       smallint NOT NULL,
    -- The greatest id of its events.
    last_id     uuid NOT NULL,
    -- Written and read by the program. What is about a message is read from the message.
    events      bytea NOT NULL,

    PRIMARY KEY (account_id, seq, place)
);
CREATE INDEX event_by_age ON event (last_id, account_id);

COMMENT ON TABLE event IS
    'The events of each account, in the order of the commits that raised them. Rows are inserted and, once they are old, deleted.';
COMMENT ON INDEX event_pkey IS
    'Pages of an account''s events, in both directions.';
COMMENT ON INDEX event_by_age IS
    'Finds an event by its id, and the oldest rows.';

-- Transactions are numbered by the server on which the database lives. A database that was restored
-- on another server goes on above all numbers that it has ever had.
CREATE TABLE event_base (
    is_only  boolean PRIMARY KEY DEFAULT true,
    base     bigint NOT NULL,
    -- The server and the database whose transactions are counted.
    origin   text NOT NULL,

    CONSTRAINT event_base_is_only_check CHECK (is_only)
);
COMMENT ON TABLE event_base IS
    'What is added to the number of a transaction. One row, read by each commit that raises events.';
COMMENT ON INDEX event_base_pkey IS
    'There is one row.';
COMMENT ON CONSTRAINT event_base_is_only_check ON event_base IS
    'There is one row.';
INSERT INTO event_base (base, origin) VALUES (0, '');

-- Every row that a transaction which is under way has written or may write has at least this number.
-- Rows below it are there for every later statement. VOLATILE, so that each look takes a snapshot.
CREATE FUNCTION event_horizon() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    seen pg_snapshot;
    writer bigint;
    ended boolean;
BEGIN
    FOR look IN 1..20 LOOP
        seen := pg_current_snapshot();
        PERFORM pg_stat_clear_snapshot();
        -- Some transactions raise no events: those that say so with a lock, those of other
        -- databases, and autovacuum. Of one that ended meanwhile it is unknown, so look again.
        SELECT min(open::text::bigint) FILTER (WHERE own.found IS NULL OR NOT own.raises_none),
               bool_or(own.found IS NULL)
        INTO writer, ended
        FROM pg_snapshot_xip(seen) AS open
        LEFT JOIN LATERAL (
            SELECT true AS found,
                EXISTS (
                    SELECT FROM pg_locks quiet
                    WHERE quiet.virtualtransaction = held.virtualtransaction
                        AND quiet.locktype = 'advisory' AND quiet.granted
                        AND quiet.classid = 1936552293 AND quiet.objid = 1
                        AND quiet.objsubid = 2)
                OR EXISTS (
                    SELECT FROM pg_stat_activity other
                    WHERE other.pid = held.pid
                        AND (other.datname <> current_database()
                            OR other.backend_type = 'autovacuum worker')) AS raises_none
            FROM pg_locks held
            WHERE held.locktype = 'transactionid' AND held.transactionid = open::xid
                AND held.mode = 'ExclusiveLock' AND held.granted
            LIMIT 1) AS own ON true;
        EXIT WHEN ended IS NOT TRUE;
    END LOOP;
    RETURN (SELECT base FROM event_base)
        + COALESCE(writer, pg_snapshot_xmax(seen)::text::bigint);
END $$;
COMMENT ON FUNCTION event_horizon() IS
    'Readers of event show rows below it: no commit can add one there any more.';
