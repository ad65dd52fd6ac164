-- Which route a waiting text is for: those of a route that has no room are stepped over, a hundred
-- thousand of them perhaps, without looking at the texts themselves.

ALTER TABLE queue ADD COLUMN route text NOT NULL DEFAULT '';
UPDATE queue q SET route = m.route FROM message m
WHERE m.account_id = q.account_id AND m.id = q.message_id;
ALTER TABLE queue ALTER COLUMN route DROP DEFAULT;

COMMENT ON COLUMN queue.route IS
    'The route that the text is for, as in message.';
