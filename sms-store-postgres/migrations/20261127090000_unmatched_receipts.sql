-- Receipts that match no message are shown to the operator. They are the rows without a message, so
-- no segment that is submitted is ever in this index.

CREATE INDEX sent_segment_early ON sent_segment (route, at, network_id) WHERE message_id IS NULL;

COMMENT ON INDEX sent_segment_early IS
    'Counts and lists the receipts of a route that match no message, newest first; deletes the oldest beyond their bound.';
COMMENT ON COLUMN sent_segment.network_id IS
    'The network''s id. Once another message, or a receipt for another recipient, has the id: the id, the character 31 and the recipient''s digits.';
