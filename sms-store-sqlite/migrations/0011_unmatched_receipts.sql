-- Finds the reports that match no message, newest first.
CREATE INDEX sent_segment_early ON sent_segment (route, at, network_id) WHERE message_id IS NULL;
