-- Contacts and lists. Every change locks the account's row in address_book, so that changes of one
-- account come one after another and counts are exact.

CREATE TABLE address_book (
    account_id  uuid PRIMARY KEY,
    -- Counts the changes. Writing it takes the lock, for the first change too.
    changes     bigint NOT NULL,
    CONSTRAINT address_book_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id)
) WITH (fillfactor = 50); -- Every change updates it in place.

COMMENT ON TABLE address_book IS
    'One row for each account that has contacts or lists: the lock of their changes.';
COMMENT ON INDEX address_book_pkey IS
    'Locks an account''s address book.';
COMMENT ON CONSTRAINT address_book_account_id_fkey ON address_book IS
    'An address book belongs to an account.';

-- No foreign key to account: every writer holds the row of the address book, which has one.
CREATE TABLE contact (
    account_id  uuid NOT NULL,
    id          uuid NOT NULL,
    phone       bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    first_name  text,
    last_name   text,
    email       text,
    notes       text,
    -- {"name": "text", 5 or true, ...}. json keeps it to the letter, jsonb would not.
    custom      json NOT NULL,
    -- Names and email in lower case, for searches: they read the account's contacts, newest first,
    -- until a page is full.
    searched    text NOT NULL,
    PRIMARY KEY (account_id, id)
);

CREATE UNIQUE INDEX contact_by_phone ON contact (account_id, phone);

COMMENT ON TABLE contact IS
    'People whom an account knows.';
COMMENT ON INDEX contact_pkey IS
    'Reads one; pages, newest first.';
COMMENT ON INDEX contact_by_phone IS
    'A number is one contact; finds the contacts of a send''s numbers and of an import''s rows.';

CREATE TABLE custom_name (
    account_id  uuid NOT NULL,
    -- How many contacts have a value under this name.
    uses        bigint NOT NULL,
    name        text NOT NULL COLLATE "C",
    PRIMARY KEY (account_id, name),
    CONSTRAINT custom_name_uses_check CHECK (uses >= 0)
);

COMMENT ON TABLE custom_name IS
    'The names of custom fields, and how many contacts use each.';
COMMENT ON INDEX custom_name_pkey IS
    'Lists the names in use; tells which words of a body are fields.';
COMMENT ON CONSTRAINT custom_name_uses_check ON custom_name IS
    'A count.';

CREATE TABLE contact_list (
    account_id     uuid NOT NULL,
    id             uuid NOT NULL,
    -- The number of the list's rows in contact_list_member.
    contact_count  bigint NOT NULL,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    name           text NOT NULL,
    description    text,
    PRIMARY KEY (account_id, id),
    CONSTRAINT contact_list_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id),
    CONSTRAINT contact_list_contact_count_check CHECK (contact_count >= 0)
);

COMMENT ON TABLE contact_list IS
    'Groups of contacts.';
COMMENT ON INDEX contact_list_pkey IS
    'Reads one; pages, newest first.';
COMMENT ON CONSTRAINT contact_list_account_id_fkey ON contact_list IS
    'A list belongs to an account.';
COMMENT ON CONSTRAINT contact_list_contact_count_check ON contact_list IS
    'A count.';

CREATE TABLE contact_list_member (
    account_id  uuid NOT NULL,
    list_id     uuid NOT NULL,
    contact_id  uuid NOT NULL,
    PRIMARY KEY (account_id, list_id, contact_id)
);

CREATE INDEX contact_list_member_by_contact
    ON contact_list_member (account_id, contact_id, list_id);

COMMENT ON TABLE contact_list_member IS
    'Which contacts are on which list.';
COMMENT ON INDEX contact_list_member_pkey IS
    'Pages of a list, newest contact first; whole lists for sends, oldest first.';
COMMENT ON INDEX contact_list_member_by_contact IS
    'The lists of a contact.';
