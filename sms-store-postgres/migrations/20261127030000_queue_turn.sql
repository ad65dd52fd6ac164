-- Messages that fall due at the same time take their turns in the order of their ids, as they do
-- where nobody takes turns. A send makes many of them, so the order comes from the index.

CREATE INDEX queue_by_turn_and_message ON queue (route, lane, account_id, claimable_at, message_id)
    WHERE lane IS NOT NULL AND account_id IS NOT NULL;
DROP INDEX queue_by_turn;
ALTER INDEX queue_by_turn_and_message RENAME TO queue_by_turn;

COMMENT ON INDEX queue_by_turn IS
    'Visits the accounts whose messages wait, and claims what is due of each. For statements that compare the lane and the account.';
