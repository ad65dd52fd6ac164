-- Conversations with people, how much of them is unread, and the keywords that people text.

-- The commits that write messages also write this, with the account locked. Marking as read does
-- too.
CREATE TABLE conversation (
    account_id       uuid NOT NULL,
    phone            bigint NOT NULL,
    -- The number of inbound messages of the conversation whose read_at is null.
    unread           bigint NOT NULL,
    -- The newest message to or from the number, which is the place of the conversation in lists.
    last_message_id  uuid NOT NULL,
    -- When keywords answered the number: the answers that count for the hourly limit.
    replied_at       timestamptz[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (account_id, phone),
    CONSTRAINT conversation_unread_check CHECK (unread >= 0)
) WITH (fillfactor = 85);

CREATE INDEX conversation_by_activity ON conversation (account_id, last_message_id);
CREATE INDEX conversation_unread ON conversation (account_id, last_message_id) WHERE unread > 0;

COMMENT ON TABLE conversation IS
    'One row for each number that has sent a message to an account.';
COMMENT ON INDEX conversation_pkey IS
    'Moves the conversations of a commit''s messages; marks one as read.';
COMMENT ON INDEX conversation_by_activity IS
    'Pages, newest message first.';
COMMENT ON INDEX conversation_unread IS
    'Pages of conversations with unread messages.';
COMMENT ON CONSTRAINT conversation_unread_check ON conversation IS
    'A count.';

CREATE TABLE inbox (
    account_id  uuid PRIMARY KEY,
    -- The sum over the account's conversations.
    unread      bigint NOT NULL,
    CONSTRAINT inbox_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id),
    CONSTRAINT inbox_unread_check CHECK (unread >= 0)
) WITH (fillfactor = 50); -- Every inbound message updates a row in place.

COMMENT ON TABLE inbox IS
    'How many unread messages an account has.';
COMMENT ON INDEX inbox_pkey IS
    'Reads and changes the count of an account.';
COMMENT ON CONSTRAINT inbox_account_id_fkey ON inbox IS
    'An inbox belongs to an account.';
COMMENT ON CONSTRAINT inbox_unread_check ON inbox IS
    'A count.';

-- Keywords name lists, so every change and every match locks the account's address book.
CREATE TABLE keyword (
    account_id       uuid NOT NULL,
    id               uuid NOT NULL,
    match_count      bigint NOT NULL,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    enabled          boolean NOT NULL,
    -- In upper case.
    word             text NOT NULL COLLATE "C",
    reply            text,
    add_to_list_id   uuid,
    last_matched_at  timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT keyword_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id),
    CONSTRAINT keyword_match_count_check CHECK (match_count >= 0)
) WITH (fillfactor = 85);

CREATE UNIQUE INDEX keyword_by_word ON keyword (account_id, word);

COMMENT ON TABLE keyword IS
    'Words to which the account answers by itself.';
COMMENT ON INDEX keyword_pkey IS
    'Reads one; pages, newest first.';
COMMENT ON INDEX keyword_by_word IS
    'A word is one keyword; finds the keyword of an inbound message.';
COMMENT ON CONSTRAINT keyword_account_id_fkey ON keyword IS
    'A keyword belongs to an account.';
COMMENT ON CONSTRAINT keyword_match_count_check ON keyword IS
    'A count.';
