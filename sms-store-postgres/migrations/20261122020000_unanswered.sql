-- Whether a text that waits in the queue has perhaps left: then it is not refunded, whatever ends it.

-- With a default: a server of before that still runs writes places without it.
ALTER TABLE queue ADD COLUMN unanswered integer NOT NULL DEFAULT 0;

COMMENT ON COLUMN queue.unanswered IS
    'How many of its hand-overs brought no answer; after the first it has perhaps left.';
