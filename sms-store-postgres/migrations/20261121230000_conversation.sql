-- Conversations, keywords, and the parts of long texts that come in.

-- Whether a number has ever texted the account: read with the account's locked row, so that a send of
-- an account that nobody texts looks for no conversation. Never unset.
ALTER TABLE account ADD COLUMN has_conversations boolean NOT NULL DEFAULT false;

-- One row for each number that has texted an account. Written by the commits that write texts, with
-- the account locked, and by marking as read.
CREATE TABLE conversation (
    account_id       uuid NOT NULL,
    -- The digits of E.164.
    phone            bigint NOT NULL,
    -- The newest text from or to the number: the conversation's place.
    last_message_id  uuid NOT NULL,
    -- Always the number of texts from the number whose read_at is null.
    unread           bigint NOT NULL CHECK (unread >= 0),
    -- When a keyword last answered the number: those answers that count for the hourly limit.
    replied_at       timestamptz[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (account_id, phone)
) WITH (fillfactor = 85);
-- Pages, newest text first.
CREATE INDEX conversation_by_activity ON conversation (account_id, last_message_id);
-- Pages of those with something to read.
CREATE INDEX conversation_unread ON conversation (account_id, last_message_id) WHERE unread > 0;

-- How much each account has not read: always the sum of its conversations'.
CREATE TABLE inbox (
    account_id  uuid PRIMARY KEY REFERENCES account (id),
    unread      bigint NOT NULL CHECK (unread >= 0)
) WITH (fillfactor = 50); -- Updated in place by every text that comes in.

-- The texts that marking as read marks.
CREATE INDEX message_unread ON message (account_id, contact_number)
    WHERE direction = 'inbound' AND read_at IS NULL;

-- What came in before.
INSERT INTO conversation (account_id, phone, last_message_id, unread)
SELECT m.account_id, m.contact_number,
       (SELECT newest.id FROM message newest
        WHERE newest.account_id = m.account_id AND newest.contact_number = m.contact_number
        ORDER BY newest.id DESC LIMIT 1),
       count(*) FILTER (WHERE m.read_at IS NULL)
FROM message m WHERE m.direction = 'inbound' GROUP BY m.account_id, m.contact_number;
INSERT INTO inbox (account_id, unread)
SELECT account_id, sum(unread) FROM conversation GROUP BY account_id;
UPDATE account SET has_conversations = true WHERE id IN (SELECT account_id FROM inbox);

-- Words that people text to an account. Changed with the account's address book locked, as they name
-- lists; a match counts with it locked too.
CREATE TABLE keyword (
    account_id       uuid NOT NULL REFERENCES account (id),
    id               uuid NOT NULL,
    -- In upper case.
    word             text NOT NULL COLLATE "C",
    reply            text,
    add_to_list_id   uuid,
    enabled          boolean NOT NULL,
    match_count      bigint NOT NULL CHECK (match_count >= 0),
    last_matched_at  timestamptz,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    -- Reads one; pages, newest first.
    PRIMARY KEY (account_id, id)
) WITH (fillfactor = 85);
-- A word is one keyword; finds the keyword of a text.
CREATE UNIQUE INDEX keyword_by_word ON keyword (account_id, word);

-- The parts of each long text that came, until all are there, and for the rest of their day. Whose
-- the text is is not known yet.
CREATE TABLE inbound_part (
    to_number    bigint NOT NULL,
    from_number  bigint NOT NULL,
    reference    integer NOT NULL,
    total        smallint NOT NULL CHECK (total > 0),
    -- The numbers of the parts that came, and the words of each.
    numbers      smallint[] NOT NULL,
    bodies       text[] NOT NULL CHECK (cardinality(bodies) = cardinality(numbers)),
    is_joined    boolean NOT NULL,
    route        text NOT NULL,
    first_at     timestamptz NOT NULL,
    PRIMARY KEY (to_number, from_number, reference, total)
);
-- Gives up what is a day old.
CREATE INDEX inbound_part_by_age ON inbound_part (first_at);

COMMENT ON TABLE conversation IS
    'One row for each number that has texted an account.';
COMMENT ON INDEX conversation_pkey IS
    'Moves the conversations of a commit''s texts; marks one as read.';
COMMENT ON INDEX conversation_by_activity IS
    'Pages, newest text first.';
COMMENT ON INDEX conversation_unread IS
    'Pages of conversations with something to read.';
COMMENT ON CONSTRAINT conversation_unread_check ON conversation IS
    'A count.';
COMMENT ON TABLE inbox IS
    'How many texts an account has not read.';
COMMENT ON INDEX inbox_pkey IS
    'Reads and changes an account''s count.';
COMMENT ON CONSTRAINT inbox_account_id_fkey ON inbox IS
    'An inbox belongs to an account.';
COMMENT ON CONSTRAINT inbox_unread_check ON inbox IS
    'A count.';
COMMENT ON INDEX message_unread IS
    'The texts from a number that are not read.';
COMMENT ON TABLE keyword IS
    'Words that are answered when people text them.';
COMMENT ON INDEX keyword_pkey IS
    'Reads one; pages, newest first.';
COMMENT ON INDEX keyword_by_word IS
    'A word is one keyword; finds the keyword of a text.';
COMMENT ON CONSTRAINT keyword_account_id_fkey ON keyword IS
    'A keyword belongs to an account.';
COMMENT ON CONSTRAINT keyword_match_count_check ON keyword IS
    'A count.';
COMMENT ON TABLE inbound_part IS
    'Long texts that come in part by part.';
COMMENT ON INDEX inbound_part_pkey IS
    'Finds and locks the parts of a text.';
COMMENT ON INDEX inbound_part_by_age IS
    'Gives up texts that are a day old.';
COMMENT ON CONSTRAINT inbound_part_total_check ON inbound_part IS
    'A text has parts.';
COMMENT ON CONSTRAINT inbound_part_check ON inbound_part IS
    'Each number has its words.';
