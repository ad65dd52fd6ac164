-- Statements that write what was settled before anything was locked. Each undoes itself where what
-- it was settled against no longer holds.

-- Older programs do not call it.
CREATE OR REPLACE FUNCTION overtaken() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'another commit changed what was read' USING ERRCODE = 'serialization_failure';
END $$;
COMMENT ON FUNCTION overtaken() IS
    'Undoes the statement that calls it; its program starts again.';
