-- Which older programs may serve a database that a newer one has migrated.

-- One row for each migration that the database has run. Small, and only read at start.
CREATE TABLE schema_compatibility (
    migration  bigint PRIMARY KEY,
    -- The schema of a program is its newest migration. A program without this migration may serve
    -- if its schema is at least this; none may if it is the migration itself.
    lowest     bigint NOT NULL,

    CONSTRAINT lowest_not_above_migration CHECK (lowest <= migration)
);

COMMENT ON TABLE schema_compatibility IS
    'The lowest schema whose programs may serve once a migration has run.';
COMMENT ON INDEX schema_compatibility_pkey IS
    'The row of a migration.';
COMMENT ON CONSTRAINT lowest_not_above_migration ON schema_compatibility IS
    'Programs that have a migration may always serve.';
