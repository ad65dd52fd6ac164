-- Endpoints that asked for a pause (429, or 503 with Retry-After).

ALTER TABLE endpoint
    -- The last pause, running or over; null if the endpoint asked for none since it was enabled.
    ADD COLUMN paused_since timestamptz,
    -- Until then, none of its deliveries is claimed.
    ADD COLUMN paused_until timestamptz,
    ADD CONSTRAINT endpoint_pause_check CHECK ((paused_since IS NULL) = (paused_until IS NULL));

COMMENT ON CONSTRAINT endpoint_pause_check ON endpoint IS
    'A pause has a beginning and an end.';
