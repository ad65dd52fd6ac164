-- Sends of accounts that have conversations are accepted without a lock too. A conversation that
-- begins meanwhile is not found by the statement that writes a send, so it counts as a change, as an
-- opt-out does.

ALTER FUNCTION opt_outs_changed() RENAME TO facts_changed;
CREATE TRIGGER conversations_began AFTER INSERT ON conversation
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION facts_changed();
COMMENT ON COLUMN account.version IS
    'Counts up with everything but the balance that a send depends on.';
