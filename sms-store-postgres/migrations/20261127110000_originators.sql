-- The short code or name that a message came from; from_number is its stand-in under +999. Messages
-- have the column `sender`. Null for a number.

ALTER TABLE inbound_segment ADD COLUMN from_name text;
COMMENT ON COLUMN inbound_segment.from_name IS
    'The short code or name that the message comes from; null for a number.';
ALTER TABLE unrouted ADD COLUMN from_name text;
COMMENT ON COLUMN unrouted.from_name IS
    'The short code or name that the message came from; null for a number.';
