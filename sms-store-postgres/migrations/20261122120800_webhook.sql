-- Webhook endpoints, and deliveries of events to them.

CREATE TABLE endpoint (
    account_id            uuid NOT NULL,
    id                    uuid NOT NULL,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    consecutive_failures  integer NOT NULL DEFAULT 0,
    -- How often the endpoint was switched off. A pending delivery of an earlier run that no worker
    -- holds is given up: readers show it so at once, and tidying writes it in small portions.
    -- Switching off therefore takes the same time however many deliveries wait.
    run                   integer NOT NULL DEFAULT 0,
    last_delivered_at     timestamptz,
    url                   text NOT NULL,
    events                text[] NOT NULL,
    description           text,
    -- Null while the endpoint is on.
    disabled_reason       text,
    secret                text NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT endpoint_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id),
    CONSTRAINT endpoint_consecutive_failures_check CHECK (consecutive_failures >= 0),
    CONSTRAINT endpoint_disabled_reason_check
        CHECK (disabled_reason IN ('disabled_by_owner', 'consecutive_failures')),
    CONSTRAINT endpoint_events_check CHECK (cardinality(events) > 0)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX endpoint_by_id ON endpoint (id);

COMMENT ON TABLE endpoint IS
    'Where an account wants its events.';
COMMENT ON INDEX endpoint_pkey IS
    'An account''s endpoints; those that an event goes to.';
COMMENT ON INDEX endpoint_by_id IS
    'Deliveries know their endpoint by its id.';
COMMENT ON CONSTRAINT endpoint_account_id_fkey ON endpoint IS
    'An endpoint belongs to an account.';
COMMENT ON CONSTRAINT endpoint_consecutive_failures_check ON endpoint IS
    'A count.';
COMMENT ON CONSTRAINT endpoint_disabled_reason_check ON endpoint IS
    'The reasons for being off.';
COMMENT ON CONSTRAINT endpoint_events_check ON endpoint IS
    'An endpoint wants at least one event.';

CREATE TABLE delivery (
    account_id        uuid NOT NULL,
    endpoint_id       uuid NOT NULL,
    id                uuid NOT NULL,
    event_id          uuid NOT NULL,
    created_at        timestamptz NOT NULL,
    attempts          integer NOT NULL DEFAULT 0,
    -- The endpoint's run to which the delivery belongs.
    run               integer NOT NULL DEFAULT 0,
    -- When a worker may claim it; null unless it is pending.
    claimable_at      timestamptz,
    last_attempt_at   timestamptz,
    next_attempt_at   timestamptz,
    delivered_at      timestamptz,
    leased_until      timestamptz,
    lease             uuid,
    last_status_code  integer,
    event_type        text NOT NULL,
    status            text NOT NULL,
    last_error        text,
    -- The bytes to send, the same in every attempt.
    body              text NOT NULL,
    PRIMARY KEY (account_id, endpoint_id, id),
    CONSTRAINT delivery_status_check CHECK (status IN ('pending', 'delivered', 'given_up')),
    CONSTRAINT delivery_check CHECK ((status = 'pending') = (claimable_at IS NOT NULL))
) WITH (
    fillfactor = 80,
    -- Claims read the head of an index: the entries of finished deliveries must go soon, or every
    -- claim reads past all of them.
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0
);

CREATE UNIQUE INDEX delivery_by_id ON delivery (id);
CREATE INDEX delivery_claimable ON delivery (endpoint_id, run, claimable_at, id)
    WHERE claimable_at IS NOT NULL;
CREATE INDEX delivery_next ON delivery (claimable_at) INCLUDE (endpoint_id, run)
    WHERE claimable_at IS NOT NULL;
CREATE INDEX delivery_held ON delivery (endpoint_id) WHERE lease IS NOT NULL;
CREATE INDEX delivery_by_age ON delivery (created_at);

COMMENT ON TABLE delivery IS
    'One event for one endpoint, with its attempts.';
COMMENT ON INDEX delivery_pkey IS
    'Pages of an endpoint''s deliveries, newest first.';
COMMENT ON INDEX delivery_by_id IS
    'Attempts know their delivery by its id.';
COMMENT ON INDEX delivery_claimable IS
    'What each endpoint has to claim in its run.';
COMMENT ON INDEX delivery_next IS
    'The endpoints of the deliveries that are due first, read from the index alone.';
COMMENT ON INDEX delivery_held IS
    'What workers hold of an endpoint that is switched off.';
COMMENT ON INDEX delivery_by_age IS
    'Deletes deliveries that are old.';
COMMENT ON CONSTRAINT delivery_status_check ON delivery IS
    'The states of a delivery.';
COMMENT ON CONSTRAINT delivery_check ON delivery IS
    'Pending deliveries, and only they, can be claimed.';

CREATE TABLE endpoint_removed (
    account_id   uuid NOT NULL,
    endpoint_id  uuid NOT NULL,
    -- By the database's clock.
    removed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, endpoint_id)
);

COMMENT ON TABLE endpoint_removed IS
    'Removed endpoints whose deliveries are still to be deleted.';
COMMENT ON INDEX endpoint_removed_pkey IS
    'Deletes deliveries endpoint by endpoint.';
