-- Contacts, lists, and who is on them. Every change of an account's contacts and lists is made with
-- the row of its address book locked, one after another, so that counts are exact.

CREATE TABLE address_book (
    account_id  uuid PRIMARY KEY REFERENCES account (id),
    -- Counts the changes: writing it is the lock, also for the first change.
    changes     bigint NOT NULL
) WITH (fillfactor = 50); -- Updated in place by every change.

CREATE TABLE contact (
    -- Vouched for by the book's row, which every writer holds.
    account_id  uuid NOT NULL,
    id          uuid NOT NULL,
    -- The digits of E.164.
    phone       bigint NOT NULL,
    first_name  text,
    last_name   text,
    email       text,
    notes       text,
    -- {"name": "text", 5 or true, …}, kept to the letter, as jsonb would not.
    custom      json NOT NULL,
    -- Names and email in lower case, as searches for words look into them. They read the account's
    -- contacts, newest first, until a page is full.
    searched    text NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    -- Reads one; pages, newest first.
    PRIMARY KEY (account_id, id)
);
-- A number is one contact; finds the contacts of a send's numbers and of an import's rows.
CREATE UNIQUE INDEX contact_by_phone ON contact (account_id, phone);

-- How many contacts use a custom name: GET /contacts/fields, and which words of a text are fields.
CREATE TABLE custom_name (
    account_id  uuid NOT NULL,
    name        text NOT NULL COLLATE "C",
    uses        bigint NOT NULL CHECK (uses >= 0),
    PRIMARY KEY (account_id, name)
);

CREATE TABLE contact_list (
    account_id     uuid NOT NULL REFERENCES account (id),
    id             uuid NOT NULL,
    name           text NOT NULL,
    description    text,
    -- Always the number of the list's rows in contact_list_member.
    contact_count  bigint NOT NULL CHECK (contact_count >= 0),
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    -- Reads one; pages, newest first.
    PRIMARY KEY (account_id, id)
);

CREATE TABLE contact_list_member (
    account_id  uuid NOT NULL,
    list_id     uuid NOT NULL,
    contact_id  uuid NOT NULL,
    -- Pages of a list, newest contact first; whole lists for sends, oldest first.
    PRIMARY KEY (account_id, list_id, contact_id)
);
-- The lists of a contact.
CREATE INDEX contact_list_member_by_contact
    ON contact_list_member (account_id, contact_id, list_id);

COMMENT ON TABLE address_book IS
    'One row for each account that has contacts or lists: the lock of their changes.';
COMMENT ON INDEX address_book_pkey IS
    'Locks an account''s book.';
COMMENT ON CONSTRAINT address_book_account_id_fkey ON address_book IS
    'A book belongs to an account.';
COMMENT ON TABLE contact IS
    'People whom an account knows.';
COMMENT ON INDEX contact_pkey IS
    'Reads one; pages, newest first.';
COMMENT ON INDEX contact_by_phone IS
    'A number is one contact; the contacts of a send''s numbers and of an import''s rows.';
COMMENT ON TABLE custom_name IS
    'How many contacts use a custom name.';
COMMENT ON INDEX custom_name_pkey IS
    'The names in use; which words of a text are fields.';
COMMENT ON CONSTRAINT custom_name_uses_check ON custom_name IS
    'A count.';
COMMENT ON TABLE contact_list IS
    'Groups of contacts.';
COMMENT ON INDEX contact_list_pkey IS
    'Reads one; pages, newest first.';
COMMENT ON CONSTRAINT contact_list_account_id_fkey ON contact_list IS
    'A list belongs to an account.';
COMMENT ON CONSTRAINT contact_list_contact_count_check ON contact_list IS
    'A count.';
COMMENT ON TABLE contact_list_member IS
    'Who is on which list.';
COMMENT ON INDEX contact_list_member_pkey IS
    'Pages of a list, newest contact first; whole lists for sends, oldest first.';
COMMENT ON INDEX contact_list_member_by_contact IS
    'The lists of a contact.';
