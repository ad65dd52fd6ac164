-- The horizon never goes back. Before, a look that always met transactions which had just ended,
-- of other databases say, counted one of those as a writer after all, and so hid events for a
-- moment that readers had already been shown.

CREATE OR REPLACE FUNCTION event_horizon() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    -- Every later transaction is at or above its end.
    first CONSTANT pg_snapshot := pg_current_snapshot();
    -- Those under way at first of which it is unknown whether they may raise events.
    open xid8[] := ARRAY(SELECT pg_snapshot_xip(first));
    writers xid8[];
    unknown xid8[];
    still xid8[];
    writer bigint;
BEGIN
    FOR look IN 1..200 LOOP
        EXIT WHEN open = '{}';
        PERFORM pg_stat_clear_snapshot();
        -- Some transactions raise no events: those that say so with a lock, those of other
        -- databases, and autovacuum.
        SELECT array_agg(number) FILTER (WHERE own.found IS NULL),
               array_agg(number) FILTER (WHERE NOT own.raises_none)
        INTO unknown, writers
        FROM unnest(open) AS number
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
            WHERE held.locktype = 'transactionid' AND held.transactionid = number::xid
                AND held.mode = 'ExclusiveLock' AND held.granted
            LIMIT 1) AS own ON true;
        -- A transaction gives its locks back one by one as it ends. So what the look says is true of
        -- those alone that are under way after it; later statements see all that the others wrote.
        still := ARRAY(SELECT pg_snapshot_xip(pg_current_snapshot()));
        SELECT LEAST(writer, min(number::text::bigint)) INTO writer
        FROM unnest(writers) AS number WHERE number = ANY (still);
        open := ARRAY(SELECT number FROM unnest(unknown) AS number WHERE number = ANY (still));
        -- One that has its number, but not yet the lock on it, will have it in a moment.
        PERFORM pg_sleep(0.001) WHERE look > 5 AND open <> '{}';
    END LOOP;
    SELECT LEAST(writer, min(number::text::bigint)) INTO writer FROM unnest(open) AS number;
    RETURN (SELECT base FROM event_base)
        + COALESCE(writer, pg_snapshot_xmax(first)::text::bigint);
END $$;
