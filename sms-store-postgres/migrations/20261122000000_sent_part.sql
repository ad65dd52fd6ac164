-- Parts of texts that networks took, by the networks' own ids.

-- A row without a text is a report that came before its part was recorded. Written with its text
-- locked, but for early reports, and for ids that a network uses again: those move to the later
-- text.
CREATE TABLE sent_part (
    -- Compared byte by byte, so that all programs lock rows in one order.
    route       text NOT NULL COLLATE "C",
    network_id  text NOT NULL COLLATE "C",
    message_id  uuid,
    -- Of how many parts the text is.
    total       integer,
    -- 'delivered', or the error code of one that was not.
    report      text,
    at          timestamptz NOT NULL,
    PRIMARY KEY (route, network_id),
    CHECK (CASE WHEN message_id IS NULL THEN total IS NULL AND report IS NOT NULL
                ELSE total IS NOT NULL AND total > 0 END)
) WITH (fillfactor = 50); -- Each row's report is in no index, and finds room beside the row even if
                         -- the reports of a whole page come in one commit.
-- All parts of a text, where a report of one needs the others'.
CREATE INDEX sent_part_by_message ON sent_part (message_id) WHERE total > 1;
-- Tidies what is past its keep.
CREATE INDEX sent_part_by_age ON sent_part (at);

COMMENT ON TABLE sent_part IS
    'Parts of texts by the ids that networks gave them, with what was reported of each.';
COMMENT ON COLUMN sent_part.message_id IS
    'The text; null while only a report of the part is known.';
COMMENT ON COLUMN sent_part.total IS
    'Of how many parts the text is.';
COMMENT ON COLUMN sent_part.report IS
    'What was reported last: delivered, or the error code of a part that was not.';
COMMENT ON COLUMN sent_part.at IS
    'When it was handed over; of an early report, when that came.';
COMMENT ON INDEX sent_part_pkey IS
    'Finds the text that a report is about; one id, one part.';
COMMENT ON INDEX sent_part_by_message IS
    'The other parts of a text of several.';
COMMENT ON INDEX sent_part_by_age IS
    'Tidies parts and early reports past their keep.';
COMMENT ON CONSTRAINT sent_part_check ON sent_part IS
    'A part has its text, an early report what it says.';
