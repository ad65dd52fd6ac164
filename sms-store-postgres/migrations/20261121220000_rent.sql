-- Rent of dedicated numbers: when it is next to be taken, and which period an entry took.

-- When rent is next to be taken, or tried for again; null where none is owed. What was owed before
-- rent was taken at all is owed from the assignment on.
ALTER TABLE number ADD COLUMN next_rent_at timestamptz;
UPDATE number SET next_rent_at = COALESCE(rental_charged_at + interval '720 hours', assigned_at)
WHERE account_id IS NOT NULL AND rental_credits > 0;
-- Workers take what is due, the longest due first.
CREATE INDEX number_by_next_rent ON number (next_rent_at, id) WHERE next_rent_at IS NOT NULL;

-- When the period began that an entry took.
ALTER TABLE ledger_entry ADD COLUMN rent_due_at timestamptz;
ALTER TABLE ledger_entry ADD CONSTRAINT ledger_entry_rent_due_at_check
    CHECK ((kind = 'rent') = (rent_due_at IS NOT NULL));
-- A period of a number is taken once, whatever the programs do.
CREATE UNIQUE INDEX ledger_one_rent_per_period ON ledger_entry (account_id, number_id, rent_due_at)
    WHERE kind = 'rent';

COMMENT ON INDEX number_by_next_rent IS
    'Workers take the rent that is due, the longest due first.';
COMMENT ON CONSTRAINT ledger_entry_rent_due_at_check ON ledger_entry IS
    'Rent says which period it took, and nothing else does.';
COMMENT ON INDEX ledger_one_rent_per_period IS
    'A period of a number is taken once, whatever the programs do.';
