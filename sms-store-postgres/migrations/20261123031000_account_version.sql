-- Sends that are accepted without locking their account first. They are settled on what a server
-- remembers of the account, and written only if that still holds.

-- Counts up with everything but the balance that the verdict on a send depends on: the status,
-- whether the account may have conversations, and its opt-outs.
ALTER TABLE account ADD COLUMN version bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN account.version IS
    'Counts up with everything but the balance that the verdict on a send depends on.';

-- By triggers, so that no program can forget it, and older ones do it too. This one is not called
-- for changes of the balance, which name none of these columns.
CREATE FUNCTION account_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.version := OLD.version + 1;
    RETURN NEW;
END $$;
CREATE TRIGGER account_changed BEFORE UPDATE OF status, has_conversations ON account
    FOR EACH ROW EXECUTE FUNCTION account_changed();

-- An opt-out that is deleted is no concern: nobody is refused for what a server remembers.
CREATE FUNCTION opt_outs_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account a SET version = a.version + 1
    FROM (SELECT DISTINCT account_id FROM changed ORDER BY account_id) AS of
    WHERE a.id = of.account_id;
    RETURN NULL;
END $$;
CREATE TRIGGER opt_outs_added AFTER INSERT ON opt_out
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION opt_outs_changed();
CREATE TRIGGER opt_outs_changed AFTER UPDATE ON opt_out
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION opt_outs_changed();
