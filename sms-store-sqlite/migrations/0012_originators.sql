-- The short code or name that a message came from; from_number is its stand-in under +999. Messages
-- have the column sender. Null for a number.
ALTER TABLE inbound_segment ADD COLUMN from_name TEXT;
ALTER TABLE unrouted ADD COLUMN from_name TEXT;
