-- Endpoints with a million deliveries go off, or away, as fast as any other: what they leave behind
-- is told by its run, or by its endpoint's absence, and cleared away later in small portions.

-- How often an endpoint was switched off. A pending delivery of an earlier run, which no worker
-- has, is given up: every reading says so, and tidying writes it.
ALTER TABLE endpoint ADD COLUMN run integer NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN run integer NOT NULL DEFAULT 0;

-- What each endpoint has to claim in its run, endpoint by endpoint.
DROP INDEX delivery_claimable;
CREATE INDEX delivery_claimable ON delivery (endpoint_id, run, claimable_at, id)
    WHERE claimable_at IS NOT NULL;
-- Whose deliveries are due first, read from the index alone.
DROP INDEX delivery_next;
CREATE INDEX delivery_next ON delivery (claimable_at) INCLUDE (endpoint_id, run)
    WHERE claimable_at IS NOT NULL;
-- What workers have of an endpoint that goes off.
CREATE INDEX delivery_held ON delivery (endpoint_id) WHERE lease IS NOT NULL;

-- Endpoints that were removed and may have left deliveries behind, which tidying removes.
CREATE TABLE endpoint_removed (
    account_id   uuid NOT NULL,
    endpoint_id  uuid NOT NULL,
    -- By the database's clock.
    removed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, endpoint_id)
);
