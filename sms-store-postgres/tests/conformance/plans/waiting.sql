-- A million messages of one account wait in a lane, five each of a thousand others, and those of
-- five hundred more are due later. They have no messages: what a claim reads of the queue counts.
INSERT INTO queue (message_id, account_id, claimable_at, expires_at, route, lane)
SELECT gen_random_uuid(), nth(1, CASE WHEN n <= 1000000 THEN 1 ELSE 2 + n % 1500 END),
    CASE WHEN n > 1000000 AND n % 1500 >= 1000 THEN timestamptz '2027-01-01 00:00Z'
        ELSE '2026-11-21 07:00Z' END, '2027-02-01', 'crowded', 'bulk'
FROM generate_series(1, 1007500) n;
