-- A server of before the column `queue.route` that still runs writes places without it. No route has
-- this name: such a text is stepped over for none, and waits with its route if that has no room.

ALTER TABLE queue ALTER COLUMN route SET DEFAULT '';

COMMENT ON COLUMN queue.route IS
    'The route that the text is for, as in message; empty if a server of before wrote it.';
