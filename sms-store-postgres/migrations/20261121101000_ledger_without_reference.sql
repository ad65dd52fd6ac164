-- Entries are written by the statement that updates their account's row, which is locked: the
-- account is there, and accounts are never deleted. Looking it up again for each entry would cost
-- as much as writing it.
ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_account_id_fkey;
