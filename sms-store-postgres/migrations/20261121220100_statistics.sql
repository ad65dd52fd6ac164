-- Statistics: what was counted of each account's texts and credits, by the moment.

-- What commits changed, until it is added to the totals: rows are only inserted, so that no commit
-- waits for another's, and removed when they are added.
CREATE TABLE statistic_change (
    account_id  uuid NOT NULL,
    -- The moment at which the thing counts.
    at          timestamptz NOT NULL,
    counted     text NOT NULL
                CHECK (counted IN ('sent', 'delivered', 'failed', 'received', 'credits')),
    amount      bigint NOT NULL CHECK (amount <> 0)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
-- What of a period is not in the totals yet.
CREATE INDEX statistic_change_by_time ON statistic_change (account_id, at);

-- Totals by the millisecond, the minute and the hour: of a long period the hours are read, and the
-- shorter ones at its rims.
CREATE TABLE statistic (
    account_id  uuid NOT NULL,
    span        text NOT NULL CHECK (span IN ('moment', 'minute', 'hour')),
    -- When it begins.
    at          timestamptz NOT NULL,
    sent        bigint NOT NULL,
    delivered   bigint NOT NULL,
    failed      bigint NOT NULL,
    received    bigint NOT NULL,
    credits     bigint NOT NULL,
    -- A stretch of an account's totals of one span.
    PRIMARY KEY (account_id, span, at)
) WITH (fillfactor = 90);

COMMENT ON TABLE statistic_change IS
    'What commits changed of the statistics, until it is added to the totals.';
COMMENT ON INDEX statistic_change_by_time IS
    'What of a period is not in the totals yet.';
COMMENT ON CONSTRAINT statistic_change_counted_check ON statistic_change IS
    'What is counted.';
COMMENT ON CONSTRAINT statistic_change_amount_check ON statistic_change IS
    'A change changes something.';
COMMENT ON TABLE statistic IS
    'What was counted of each account, by the millisecond, the minute and the hour.';
COMMENT ON INDEX statistic_pkey IS
    'A stretch of an account''s totals of one span.';
COMMENT ON CONSTRAINT statistic_span_check ON statistic IS
    'The spans of totals.';

-- What was there before. The totals follow when these are added to them.
INSERT INTO statistic_change (account_id, at, counted, amount)
SELECT account_id, at, counted, count(*)
FROM message CROSS JOIN LATERAL (VALUES
    ('sent', sent_at), ('delivered', delivered_at), ('failed', failed_at),
    ('received', received_at)) AS thing (counted, at)
WHERE mode = 'live' AND at IS NOT NULL
GROUP BY account_id, at, counted;
INSERT INTO statistic_change (account_id, at, counted, amount)
SELECT account_id, created_at, 'credits', -sum(amount)
FROM ledger_entry WHERE kind IN ('send', 'refund')
GROUP BY account_id, created_at HAVING sum(amount) <> 0;
