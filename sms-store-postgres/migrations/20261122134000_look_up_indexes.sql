-- Indexes that serve pages, and not look-ups.
--
-- Plans are made before tables grow, and a connection keeps them. While a table is small, an index
-- that begins with the account and contains the id looks as good for the look-up of one row as the
-- primary key does, and then reads all of the account's rows for each. So each of these indexes has
-- a predicate that every row fulfils and that look-ups do not imply: the planner cannot use it for
-- them. The comments say which statements imply it.

DROP INDEX message_by_status;
CREATE INDEX message_by_status ON message (account_id, status, id) WHERE status IS NOT NULL;
DROP INDEX message_by_contact;
CREATE INDEX message_by_contact ON message (account_id, contact_number, id)
    WHERE contact_number IS NOT NULL;
DROP INDEX link_by_message;
CREATE INDEX link_by_message ON link (account_id, message_id, id) WHERE message_id IS NOT NULL;
DROP INDEX opt_out_by_age;
CREATE INDEX opt_out_by_age ON opt_out (account_id, created_at, phone)
    WHERE created_at > '-infinity';
DROP INDEX contact_by_phone;
CREATE UNIQUE INDEX contact_by_phone ON contact (account_id, phone) WHERE phone IS NOT NULL;
DROP INDEX contact_list_member_by_contact;
CREATE INDEX contact_list_member_by_contact
    ON contact_list_member (account_id, contact_id, list_id) WHERE contact_id <> list_id;
DROP INDEX keyword_by_word;
CREATE UNIQUE INDEX keyword_by_word ON keyword (account_id, word) WHERE word IS NOT NULL;
CREATE INDEX keyword_by_list ON keyword (account_id, add_to_list_id)
    WHERE add_to_list_id IS NOT NULL;
DROP INDEX follow_up_by_time;
CREATE INDEX follow_up_by_time ON follow_up (due_at, id) WHERE due_at IS NOT NULL;
DROP INDEX queue_by_route;
CREATE INDEX queue_by_route ON queue (route, claimable_at, message_id) WHERE route IS NOT NULL;
DROP INDEX queue_by_lease;
CREATE INDEX queue_by_lease ON queue (lease, message_id) WHERE lease IS NOT NULL;

COMMENT ON INDEX message_by_status IS
    'Pages by status. For statements that compare the status.';
COMMENT ON INDEX message_by_contact IS
    'Pages by the other party''s number. For statements that compare the number.';
COMMENT ON INDEX link_by_message IS
    'Pages by message. For statements that compare the message.';
COMMENT ON INDEX opt_out_by_age IS
    'Pages of an account''s opt-outs, newest first. For statements that state its predicate.';
COMMENT ON INDEX contact_by_phone IS
    'A number is one contact; finds the contacts of a send''s numbers and of an import''s rows. For statements that compare the number.';
COMMENT ON INDEX contact_list_member_by_contact IS
    'The lists of a contact. For statements that state its predicate.';
COMMENT ON INDEX keyword_by_word IS
    'A word is one keyword; finds the keyword of an inbound message. For statements that compare the word.';
COMMENT ON INDEX keyword_by_list IS
    'The keywords that add to a list, when it is deleted.';
COMMENT ON INDEX follow_up_by_time IS
    'Finds what is due, oldest first; finds what is due next. For statements that compare the time.';
COMMENT ON INDEX queue_by_route IS
    'Claims what is due for each route, oldest first; finds what is due next. For statements that compare the route.';
COMMENT ON INDEX queue_by_lease IS
    'Renews the leases of a claim, in the order in which rows are locked.';
