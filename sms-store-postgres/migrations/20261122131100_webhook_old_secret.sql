-- The secret before an endpoint's last rotation, which stays valid for a day.

ALTER TABLE endpoint
    -- Null if there was no rotation, or the old secret was ended at once.
    ADD COLUMN old_secret text,
    -- Deliveries are signed with the old secret too until then.
    ADD COLUMN old_secret_until timestamptz,
    ADD CONSTRAINT endpoint_old_secret_check
        CHECK ((old_secret IS NULL) = (old_secret_until IS NULL));

COMMENT ON CONSTRAINT endpoint_old_secret_check ON endpoint IS
    'An old secret has an end.';
