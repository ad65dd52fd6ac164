-- Sixty times as much of everything in the account named by `test.account`, all of it older than what
-- the commands of the test work on. Ids are moments, 50 ms apart.

SET session_replication_role = replica; -- What is written here refers to what is.

CREATE FUNCTION text_id(n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN
    (lpad(to_hex(1795239000000 + n * 50), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid;
CREATE FUNCTION grown() RETURNS uuid STABLE LANGUAGE sql RETURN
    current_setting('test.account')::uuid;

INSERT INTO message (account_id, id, direction, status, to_number, from_number, contact_number,
    body, encoding, segments, credits, route, mode, client_ref, batch_id, campaign_id, error_code,
    timeline)
SELECT grown(), text_id(n), CASE state WHEN 'received' THEN 'inbound' ELSE 'outbound' END, state,
    stranger(n % 20000), 447700900999, stranger(n % 20000), 'Your table is ready', 'gsm7', 1, 1,
    'simulator', 'live', 'order-' || n / 12, nth(4, n / 1000), nth(5, n / 10000),
    CASE WHEN state = 'failed' THEN 'network_error' END, '[]'
FROM (SELECT n, CASE WHEN n > 55000 THEN 'queued' WHEN n % 50 = 3 THEN 'failed'
          WHEN n % 20 = 1 THEN 'received' WHEN n % 10 = 9 THEN 'sent' ELSE 'delivered' END AS state
      FROM generate_series(1, 60000) n) AS numbered;
INSERT INTO queue (message_id, account_id, status, claimable_at, expires_at, route)
SELECT text_id(n), grown(), 'queued', '2027-01-01', '2027-02-01', 'simulator'
FROM generate_series(55001, 60000) n;
INSERT INTO ledger_entry (account_id, seq, id, kind, amount, balance_after, created_at)
SELECT grown(), ledger_seq + n, nth(6, n), 'adjustment', 1, n, now()
FROM account, generate_series(1, 30000) n WHERE account.id = grown();
UPDATE account SET ledger_seq = ledger_seq + 30000 WHERE id = grown();
INSERT INTO opt_out (account_id, phone, source, created_at)
SELECT grown(), stranger(n), 'sms', timestamptz '2026-11-20 00:00Z' + n * interval '1 s'
FROM generate_series(1, 90000) n;
INSERT INTO idempotency_key (account_id, key, fingerprint, batch_id, rejected, credits, balance,
    accepted_at)
SELECT grown(), 'key-' || n, decode(md5('a') || md5('b'), 'hex'), nth(4, n), '[]', 1, 1,
    '2026-11-21 07:00Z'
FROM generate_series(1, 20000) n;
INSERT INTO follow_up (id, message_id, number, person, route, due_at, what)
SELECT nth(7, n), text_id(n), 447700900999, stranger(n), 'simulator', '2027-01-01', 'delivered'
FROM generate_series(1, 20000) n;
INSERT INTO delivery (account_id, endpoint_id, id, event_id, event_type, body, status, attempts,
    created_at)
SELECT grown(), id, nth(9, n), nth(10, n), 'message.received', '{}', 'delivered', 1,
    '2026-11-20 00:00Z'
FROM endpoint, generate_series(1, 30000) n WHERE account_id = grown();
INSERT INTO statistic (account_id, span, at, sent, delivered, failed, received, credits)
SELECT grown(), 'hour', timestamptz '2026-11-01 07:00Z' - n * interval '1 hour', 9, 9, 9, 9, 9
FROM generate_series(1, 5000) n;
INSERT INTO statistic (account_id, span, at, sent, delivered, failed, received, credits)
SELECT grown(), 'moment', timestamptz '2026-11-01 07:00Z' - n * interval '1 s', 9, 9, 9, 9, 9
FROM generate_series(1, 20000) n;
INSERT INTO last_contacted (number, person, account_id, at)
SELECT 447700900999, stranger(n), grown(), now() FROM generate_series(1, 20000) n;
INSERT INTO unrouted (id, from_number, to_number, body, encoding, segments, received_at)
SELECT text_id(n), stranger(n), 447700900001, 'Hello', 'gsm7', 1, now()
FROM generate_series(1, 20000) n;
INSERT INTO campaign (account_id, id, list_id, created_at, updated_at, append_opt_out, track_links,
    ignore_quiet_hours, name, body)
SELECT grown(), nth(5, n), nth(11, 1), now(), now(), false, false, false, 'Autumn', 'Hello'
FROM generate_series(1, 10000) n;
INSERT INTO link (account_id, id, code, url, message_id, campaign_id, contact_number)
SELECT grown(), text_id(n), lpad(n::text, 10, 'a'), 'https://example.com/', text_id(n),
    nth(5, n / 10000), stranger(n)
FROM generate_series(1, 20000) n;
INSERT INTO conversation (account_id, phone, last_message_id, unread)
SELECT grown(), stranger(n), text_id(n), 1 FROM generate_series(1, 20000) n;
INSERT INTO inbox (account_id, unread) VALUES (grown(), 20000)
ON CONFLICT (account_id) DO UPDATE SET unread = inbox.unread + 20000;
UPDATE account SET has_conversations = true WHERE id = grown();
INSERT INTO keyword (account_id, id, word, reply, enabled, match_count, created_at, updated_at)
SELECT grown(), nth(12, n), 'GROWN' || n, 'Hello', true, 0, now(), now()
FROM generate_series(1, 5000) n;
INSERT INTO template (account_id, id, created_at, updated_at, name, body)
SELECT grown(), nth(13, n), now(), now(), 'Ready', 'Hello' FROM generate_series(1, 10000) n;
INSERT INTO inbound_segment (to_number, from_number, reference, total, nth, numbers, alphabets,
    octets, is_joined, route, first_at)
SELECT 447700900999, stranger(n), 1, 2, 0, '{1}', '{gsm7}', '{Hello}', false, 'smpp', '2026-11-21 07:00Z'
FROM generate_series(1, 20000) n;
INSERT INTO sent_segment (route, network_id, message_id, total, at)
SELECT 'simulator', 'grown-' || n, text_id(n / 2), 2, '2026-11-21 07:00Z'
FROM generate_series(1, 30000) n;
INSERT INTO message_span (account_id, first_id, last_id, signature)
SELECT grown(), text_id(500 * k + 1), text_id(500 * k + 500), decode(repeat('00', 1920), 'hex')
FROM generate_series(0, 99) k;
INSERT INTO contact (account_id, id, phone, custom, searched, created_at, updated_at)
SELECT grown(), nth(10, n), stranger(n), '{}', 'x', now(), now()
FROM generate_series(1, 30000) n;
INSERT INTO custom_name (account_id, name, uses)
SELECT grown(), 'grown_' || n, 1 FROM generate_series(1, 300) n;
INSERT INTO contact_list (account_id, id, name, contact_count, created_at, updated_at)
SELECT grown(), nth(11, n), 'All', CASE n WHEN 1 THEN 30000 ELSE 0 END, now(), now()
FROM generate_series(1, 5000) n;
INSERT INTO contact_list_member (account_id, list_id, contact_id)
SELECT grown(), nth(11, list), nth(10, n)
FROM generate_series(1, 2) list, generate_series(1, 30000) n;
