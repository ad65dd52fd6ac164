-- Statistics of messages and credits.

-- Commits only insert here, so none waits for another. A worker adds the rows to the totals and
-- deletes them.
CREATE TABLE statistic_change (
    account_id  uuid NOT NULL,
    -- When the event happened that is counted.
    at          timestamptz NOT NULL,
    amount      bigint NOT NULL,
    counted     text NOT NULL,
    CONSTRAINT statistic_change_counted_check
        CHECK (counted IN ('sent', 'delivered', 'failed', 'received', 'credits')),
    CONSTRAINT statistic_change_amount_check CHECK (amount <> 0)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX statistic_change_by_time ON statistic_change (account_id, at);

COMMENT ON TABLE statistic_change IS
    'What commits changed of the statistics, until it is added to the totals.';
COMMENT ON INDEX statistic_change_by_time IS
    'What of a period is not in the totals yet.';
COMMENT ON CONSTRAINT statistic_change_counted_check ON statistic_change IS
    'What is counted.';
COMMENT ON CONSTRAINT statistic_change_amount_check ON statistic_change IS
    'A change changes something.';

-- A long period is read from hours, and its edges from minutes and milliseconds.
CREATE TABLE statistic (
    account_id  uuid NOT NULL,
    -- When the span begins.
    at          timestamptz NOT NULL,
    sent        bigint NOT NULL,
    delivered   bigint NOT NULL,
    failed      bigint NOT NULL,
    received    bigint NOT NULL,
    credits     bigint NOT NULL,
    -- A millisecond, a minute or an hour.
    span        text NOT NULL,
    PRIMARY KEY (account_id, span, at),
    CONSTRAINT statistic_span_check CHECK (span IN ('moment', 'minute', 'hour'))
) WITH (fillfactor = 90);

COMMENT ON TABLE statistic IS
    'Totals of each account by the millisecond, the minute and the hour.';
COMMENT ON INDEX statistic_pkey IS
    'Reads a stretch of an account''s totals of one span.';
COMMENT ON CONSTRAINT statistic_span_check ON statistic IS
    'The spans of totals.';
