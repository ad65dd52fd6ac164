-- What every table, index and constraint is for, where an operator sees it too (\d+ in psql).

COMMENT ON TABLE account IS
    'Who sends: one row each, locked by whatever books credits.';
COMMENT ON TABLE api_key IS
    'Keys by the hash of what their holder sends.';
COMMENT ON TABLE ledger_entry IS
    'Every change of a balance, append only.';
COMMENT ON TABLE message IS
    'Texts, sent and received, with their history.';
COMMENT ON TABLE queue IS
    'Texts that a worker may take, now or later; deleted when past being taken.';
COMMENT ON TABLE follow_up IS
    'What a simulated network is still to bring back.';
COMMENT ON TABLE idempotency_key IS
    'Accepted sends that a retry of the request repeats.';
COMMENT ON TABLE test_send IS
    'When an account made test texts, for the hourly limit.';
COMMENT ON TABLE opt_out IS
    'Numbers that an account must not text.';
COMMENT ON TABLE number IS
    'The operator''s numbers: rented by an account, or shared by all.';
COMMENT ON TABLE last_texted IS
    'Which account last texted a person from a shared number: where the answer goes.';
COMMENT ON TABLE unrouted IS
    'Texts that came in and belong to no account; for the operator.';
COMMENT ON TABLE endpoint IS
    'Where an account wants its events.';
COMMENT ON TABLE delivery IS
    'One event for one endpoint, with its attempts.';
COMMENT ON TABLE endpoint_removed IS
    'Removed endpoints whose deliveries are still to be tidied away.';
COMMENT ON TABLE rate_limit IS
    'How many requests each key made lately, as the servers count them together.';
COMMENT ON TABLE message_span IS
    'Signatures of neighbouring texts, for searches.';
COMMENT ON TABLE message_span_round IS
    'How far the making of spans has come.';

COMMENT ON INDEX account_pkey IS
    'Locks and reads one account; pages of all accounts.';
COMMENT ON INDEX api_key_pkey IS
    'Finds a request''s key in one step.';
COMMENT ON INDEX api_key_by_account IS
    'Lists an account''s keys; revokes one.';
COMMENT ON INDEX ledger_entry_pkey IS
    'Pages of an account''s ledger, newest first; no seq twice.';
COMMENT ON INDEX ledger_one_charge_per_send IS
    'A send is charged once.';
COMMENT ON INDEX ledger_one_refund_per_message IS
    'A text is refunded once.';
COMMENT ON INDEX message_pkey IS
    'Pages of an account''s texts, newest first; one text.';
COMMENT ON INDEX message_by_status IS
    'Pages by status.';
COMMENT ON INDEX message_by_contact IS
    'Pages by the other party''s number.';
COMMENT ON INDEX message_by_batch IS
    'Pages by send request; what a replay repeats.';
COMMENT ON INDEX message_by_campaign IS
    'Pages by campaign.';
COMMENT ON INDEX message_by_client_ref IS
    'Pages by the caller''s reference.';
COMMENT ON INDEX message_by_id IS
    'Receipts know a text by its id alone.';
COMMENT ON INDEX queue_pkey IS
    'Outcomes, receipts and cancels find the place of a text.';
COMMENT ON INDEX queue_by_time IS
    'The due scan, oldest first; what is due next.';
COMMENT ON INDEX queue_by_lease IS
    'Renews what a worker holds.';
COMMENT ON INDEX follow_up_pkey IS
    'Takes one, once.';
COMMENT ON INDEX follow_up_by_time IS
    'What is due, oldest first; what is due next.';
COMMENT ON INDEX idempotency_key_pkey IS
    'Recognises a retry; one key, one send.';
COMMENT ON INDEX idempotency_key_by_age IS
    'Tidies keys past their keep.';
COMMENT ON INDEX test_send_pkey IS
    'Counts an account''s test texts.';
COMMENT ON INDEX test_send_by_age IS
    'Tidies those that count no more.';
COMMENT ON INDEX opt_out_pkey IS
    'Asked before a send is accepted, and again before a text leaves.';
COMMENT ON INDEX number_pkey IS
    'One number.';
COMMENT ON INDEX number_phone_key IS
    'A number is kept once; where an incoming text goes.';
COMMENT ON INDEX number_by_account IS
    'Numbers that an account''s texts may come from.';
COMMENT ON INDEX last_texted_pkey IS
    'Where a person''s answer on a number goes.';
COMMENT ON INDEX last_texted_by_age IS
    'Tidies those too long ago to lead an answer back.';
COMMENT ON INDEX unrouted_pkey IS
    'Pages of them, newest first.';
COMMENT ON INDEX endpoint_pkey IS
    'An account''s endpoints; those that an event goes to.';
COMMENT ON INDEX endpoint_by_id IS
    'Deliveries know their endpoint by its id.';
COMMENT ON INDEX delivery_pkey IS
    'Pages of an endpoint''s deliveries, newest first.';
COMMENT ON INDEX delivery_by_id IS
    'Attempts know their delivery by its id.';
COMMENT ON INDEX delivery_claimable IS
    'What each endpoint has to claim in its run.';
COMMENT ON INDEX delivery_next IS
    'Whose deliveries are due first.';
COMMENT ON INDEX delivery_held IS
    'What workers have of an endpoint that goes off.';
COMMENT ON INDEX delivery_by_age IS
    'Tidies deliveries past their keep.';
COMMENT ON INDEX endpoint_removed_pkey IS
    'Tidied one by one.';
COMMENT ON INDEX rate_limit_pkey IS
    'Finds the count of a key.';
COMMENT ON INDEX message_span_pkey IS
    'The spans before a text, newest first.';
COMMENT ON INDEX message_span_round_pkey IS
    'One row.';

COMMENT ON CONSTRAINT account_balance_check ON account IS
    'Nobody spends what is not there.';
COMMENT ON CONSTRAINT account_quiet_start_check ON account IS
    'Minutes of the day.';
COMMENT ON CONSTRAINT account_quiet_end_check ON account IS
    'Minutes of the day.';
COMMENT ON CONSTRAINT account_status_check ON account IS
    'The states of an account.';
COMMENT ON CONSTRAINT api_key_account_id_fkey ON api_key IS
    'A key belongs to an account.';
COMMENT ON CONSTRAINT api_key_hash_check ON api_key IS
    'SHA-256.';
COMMENT ON CONSTRAINT api_key_mode_check ON api_key IS
    'The kinds of key.';
COMMENT ON CONSTRAINT ledger_entry_amount_check ON ledger_entry IS
    'An entry changes something.';
COMMENT ON CONSTRAINT ledger_entry_balance_after_check ON ledger_entry IS
    'No balance is ever below zero.';
COMMENT ON CONSTRAINT ledger_entry_check ON ledger_entry IS
    'A charge names its send.';
COMMENT ON CONSTRAINT ledger_entry_check1 ON ledger_entry IS
    'A refund names its text.';
COMMENT ON CONSTRAINT ledger_entry_check2 ON ledger_entry IS
    'Rent names its number.';
COMMENT ON CONSTRAINT ledger_entry_kind_check ON ledger_entry IS
    'The kinds of entry.';
COMMENT ON CONSTRAINT ledger_entry_seq_check ON ledger_entry IS
    'Counted from 1.';
COMMENT ON CONSTRAINT message_check ON message IS
    'What comes in is received, and nothing else is.';
COMMENT ON CONSTRAINT message_check1 ON message IS
    'What failed says why, and nothing else does.';
COMMENT ON CONSTRAINT message_credits_check ON message IS
    'Credits are taken, never given, by a text.';
COMMENT ON CONSTRAINT message_direction_check ON message IS
    'Sent or received.';
COMMENT ON CONSTRAINT message_encoding_check ON message IS
    'The encodings of GSM 03.38.';
COMMENT ON CONSTRAINT message_mode_check ON message IS
    'The kinds of key.';
COMMENT ON CONSTRAINT message_segments_check ON message IS
    'A text has a part at least.';
COMMENT ON CONSTRAINT message_status_check ON message IS
    'The states of a text.';
COMMENT ON CONSTRAINT follow_up_what_check ON follow_up IS
    'What can come back.';
COMMENT ON CONSTRAINT idempotency_key_fingerprint_check ON idempotency_key IS
    'SHA-256.';
COMMENT ON CONSTRAINT test_send_texts_check ON test_send IS
    'A send of none is not kept.';
COMMENT ON CONSTRAINT opt_out_source_check ON opt_out IS
    'Where opt-outs come from.';
COMMENT ON CONSTRAINT number_account_id_fkey ON number IS
    'A number is rented by an account, or by none.';
COMMENT ON CONSTRAINT number_monthly_credits_check ON number IS
    'Rent is taken, never given.';
COMMENT ON CONSTRAINT number_rental_credits_check ON number IS
    'Rent is taken, never given.';
COMMENT ON CONSTRAINT endpoint_account_id_fkey ON endpoint IS
    'An endpoint belongs to an account.';
COMMENT ON CONSTRAINT endpoint_consecutive_failures_check ON endpoint IS
    'A count.';
COMMENT ON CONSTRAINT endpoint_disabled_reason_check ON endpoint IS
    'Why it can be off.';
COMMENT ON CONSTRAINT endpoint_events_check ON endpoint IS
    'An endpoint wants something.';
COMMENT ON CONSTRAINT delivery_check ON delivery IS
    'What is pending can be claimed at some time, and nothing else can.';
COMMENT ON CONSTRAINT delivery_status_check ON delivery IS
    'The states of a delivery.';
COMMENT ON CONSTRAINT message_span_check ON message_span IS
    'Oldest first.';
COMMENT ON CONSTRAINT message_span_signature_check ON message_span IS
    'Four rows share a page.';
COMMENT ON CONSTRAINT message_span_round_is_only_check ON message_span_round IS
    'One row.';
