-- Webhook endpoints, and deliveries of events to them.

CREATE TABLE endpoint (
    account_id            uuid NOT NULL REFERENCES account (id),
    id                    uuid NOT NULL,
    url                   text NOT NULL,
    events                text[] NOT NULL CHECK (cardinality(events) > 0),
    description           text,
    -- Why it is off; null while it is on.
    disabled_reason       text CHECK (disabled_reason IN ('disabled_by_owner',
                              'consecutive_failures')),
    secret                text NOT NULL,
    consecutive_failures  integer NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0),
    last_delivered_at     timestamptz,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    PRIMARY KEY (account_id, id)
) WITH (fillfactor = 70);
-- Deliveries know their endpoint by its id.
CREATE UNIQUE INDEX endpoint_by_id ON endpoint (id);

CREATE TABLE delivery (
    account_id        uuid NOT NULL,
    endpoint_id       uuid NOT NULL,
    id                uuid NOT NULL,
    event_id          uuid NOT NULL,
    event_type        text NOT NULL,
    -- The bytes to send, the same in every attempt.
    body              text NOT NULL,
    status            text NOT NULL CHECK (status IN ('pending', 'delivered', 'given_up')),
    attempts          integer NOT NULL DEFAULT 0,
    last_status_code  integer,
    last_error        text,
    last_attempt_at   timestamptz,
    next_attempt_at   timestamptz,
    delivered_at      timestamptz,
    lease             uuid,
    leased_until      timestamptz,
    -- When a worker may take it; null unless it is pending.
    claimable_at      timestamptz,
    created_at        timestamptz NOT NULL,
    -- Pages of an endpoint's deliveries, newest first.
    PRIMARY KEY (account_id, endpoint_id, id),
    CHECK ((status = 'pending') = (claimable_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX delivery_by_id ON delivery (id);
-- What each endpoint has to claim, endpoint by endpoint.
CREATE INDEX delivery_claimable ON delivery (endpoint_id, claimable_at, id)
    WHERE claimable_at IS NOT NULL;
-- Whether anything is due at all.
CREATE INDEX delivery_next ON delivery (claimable_at) WHERE claimable_at IS NOT NULL;
-- Tidies deliveries past their keep.
CREATE INDEX delivery_by_age ON delivery (created_at);
