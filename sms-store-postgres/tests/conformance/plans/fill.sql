-- A million messages of three accounts of unequal size, and what goes with them. Ids are moments, 5 ms
-- apart, up to the start of the scenarios' clock.

SET session_replication_role = replica; -- What is written here refers to what is.

CREATE FUNCTION nth(kind bigint, n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN
    (lpad(to_hex(kind), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid;
CREATE FUNCTION text_id(n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN
    (lpad(to_hex(1795239000000 + n * 5), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid;
CREATE FUNCTION owner(n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN
    nth(1, CASE WHEN n % 100 < 70 THEN 1 WHEN n % 100 < 95 THEN 2 ELSE 3 END);

INSERT INTO account (id, name, status, balance, ledger_seq, quiet_start, quiet_end,
    track_links_default, opt_out_line, opt_out_line_sender, created_at, updated_at)
SELECT nth(1, n), 'Bistro', 'active', 1000000, 0, 1260, 480, false, '', '', now(), now()
FROM generate_series(1, 5000) n;
INSERT INTO api_key (hash, account_id, id, mode, last_four, created_at)
SELECT decode(md5(n::text) || md5((-n)::text), 'hex'), nth(1, n % 5000 + 1), nth(2, n), 'live',
    'abcd', now()
FROM generate_series(1, 20000) n;
-- Rent of a few hundred is due.
INSERT INTO number (id, phone, account_id, rental_credits, monthly_credits, assigned_at,
    next_rent_at)
SELECT nth(3, n), 447700e6::bigint + n, CASE WHEN n > 2 THEN nth(1, n) END, 1, 1, due,
    CASE WHEN n > 2 THEN due END
FROM (SELECT n, timestamptz '2026-11-01 00:00Z' + n * interval '1 hour' AS due
      FROM generate_series(1, 5000) n) AS numbered;
-- All messages come from this one.
INSERT INTO number (id, phone, rental_credits, monthly_credits, assigned_at)
VALUES (nth(3, 5001), 447700900999, 0, 0, '2026-11-01 00:00Z');

-- Without the indexes first: they are built faster than kept.
CREATE TEMP TABLE rebuilt AS SELECT indexname, indexdef FROM pg_indexes
WHERE tablename = 'message' AND indexname <> 'message_pkey';
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT indexname FROM rebuilt LOOP EXECUTE 'DROP INDEX ' || name; END LOOP;
END $$;
INSERT INTO message (account_id, id, direction, status, to_number, from_number, contact_number,
    body, encoding, segments, credits, route, mode, client_ref, batch_id, campaign_id, error_code,
    timeline)
SELECT owner(n), text_id(n), CASE state WHEN 'received' THEN 'inbound' ELSE 'outbound' END, state,
    (447700e6::bigint + 900000) + n % 997, (447700e6::bigint + 900999), (447700e6::bigint + 900000) + n % 997,
    -- Giraffes are everywhere, but not in the largest account.
    'Hi ' || substr(md5(n::text), 1, 8) || CASE n % 100 WHEN 90 THEN ' giraffe' ELSE '' END
        || CASE WHEN n % 300000 = 100001 THEN ' Walrus' ELSE '' END || ' your table is ready '
        || substr(md5((n % 9973)::text), 1, 12),
    'gsm7', 1, 1, 'simulator', 'live', CASE WHEN n % 4 = 0 THEN 'order-' || n / 12 END,
    nth(4, n / 1000 * 3 + (n % 100 >= 70)::int), CASE WHEN n % 3 = 0 THEN nth(5, n / 50000) END,
    CASE WHEN state IN ('failed', 'undelivered') THEN 'network_error' END, '[]'
FROM (SELECT n, CASE WHEN n > 900000 THEN 'queued' WHEN n % 100 = 7 THEN 'failed'
          WHEN n % 20000 = 13 THEN 'cancelled'
          WHEN n % 50 = 3 THEN 'undelivered' WHEN n % 20 = 1 THEN 'received'
          WHEN n % 500 = 9 THEN 'sent' ELSE 'delivered' END AS state
      FROM generate_series(1, 1000000) n) AS numbered;
DO $$ DECLARE definition text; BEGIN
    FOR definition IN SELECT indexdef FROM rebuilt LOOP EXECUTE definition; END LOOP;
END $$;

-- A hundred thousand wait: a thousand are due, forty thousand are due for a route that is slow, the
-- others are scheduled for later.
INSERT INTO queue (message_id, account_id, status, claimable_at, expires_at, route)
SELECT text_id(n), owner(n), 'queued',
    CASE WHEN n > 959000 THEN timestamptz '2026-11-21 07:00Z' ELSE '2027-01-01 00:00Z' END,
    '2027-02-01', CASE WHEN n BETWEEN 959001 AND 999000 THEN 'slow' ELSE 'simulator' END
FROM generate_series(900001, 1000000) n;
INSERT INTO ledger_entry (account_id, seq, id, kind, amount, balance_after, created_at)
SELECT nth(1, 1), n, nth(6, n), 'adjustment', 1, n, now() FROM generate_series(1, 50000) n;
UPDATE account SET ledger_seq = 50000 WHERE id = nth(1, 1);
INSERT INTO opt_out (account_id, phone, source, created_at)
SELECT nth(1, n % 3 + 1), 447700e6::bigint + n, 'sms', now() FROM generate_series(1, 50000) n;
INSERT INTO idempotency_key (account_id, key, fingerprint, batch_id, rejected, credits, balance,
    accepted_at)
SELECT nth(1, n % 3 + 1), 'key-' || n, decode(md5('a') || md5('b'), 'hex'), nth(4, n), '[]', 1, 1,
    timestamptz '2026-11-14 00:00Z' + n * interval '1 second'
FROM generate_series(1, 50000) n;
INSERT INTO follow_up (id, message_id, number, person, route, due_at, what)
SELECT nth(7, n), text_id(n), (447700e6::bigint + 900999), (447700e6::bigint + 900000) + n % 997, 'simulator',
    timestamptz '2026-11-21 07:00Z' + n * interval '1 second', 'delivered'
FROM generate_series(1, 50000) n;
INSERT INTO endpoint (account_id, id, url, events, secret, created_at, updated_at)
SELECT nth(1, (n - 1) % 5000 + 1), nth(8, n), 'https://example.com/', ARRAY['message.received'],
    'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', now(), now()
FROM generate_series(1, 20000) n;
-- The first endpoint has a long backlog, a few hundred others a short one.
INSERT INTO delivery (account_id, endpoint_id, id, event_id, event_type, body, status, attempts,
    claimable_at, created_at)
SELECT nth(1, endpoint), nth(8, endpoint), nth(9, n), nth(10, n), 'message.received', '{}',
    CASE WHEN waits THEN 'pending' ELSE 'delivered' END, 1,
    CASE WHEN waits THEN timestamptz '2026-11-21 07:00Z' + n * interval '1 ms' END,
    timestamptz '2026-11-20 00:00Z' + n * interval '10 ms'
FROM (SELECT n, CASE WHEN n % 5 = 1 THEN 1 ELSE n % 5000 + 1 END AS endpoint,
          n % 5 = 1 OR n % 100 = 2 AS waits
      FROM generate_series(1, 100000) n) AS numbered;
-- A year of totals, of which the last day has all moments; and what is not in them yet.
INSERT INTO statistic (account_id, span, at, sent, delivered, failed, received, credits)
SELECT nth(1, a), 'hour', timestamptz '2026-11-21 07:00Z' - n * interval '1 hour', 9, 9, 9, 9, 9
FROM generate_series(1, 3) a, generate_series(1, 9000) n;
INSERT INTO statistic (account_id, span, at, sent, delivered, failed, received, credits)
SELECT nth(1, a), 'minute', timestamptz '2026-11-21 07:00Z' - n * interval '1 min', 9, 9, 9, 9, 9
FROM generate_series(1, 3) a, generate_series(1, 20000) n;
INSERT INTO statistic (account_id, span, at, sent, delivered, failed, received, credits)
SELECT nth(1, a), 'moment', timestamptz '2026-11-21 07:00Z' - n * interval '1 s', 9, 9, 9, 9, 9
FROM generate_series(1, 3) a, generate_series(1, 86400) n;
INSERT INTO statistic_change (account_id, at, counted, amount)
SELECT nth(1, n % 100 + 1), timestamptz '2026-11-21 07:00Z' + n * interval '1 ms', 'sent', 1
FROM generate_series(1, 50000) n;
INSERT INTO last_contacted (number, person, account_id, at)
SELECT (447700e6::bigint + 900999), 447700e6::bigint + n, nth(1, 1), now() FROM generate_series(1, 50000) n;
INSERT INTO unrouted (id, from_number, to_number, body, encoding, segments, received_at)
SELECT text_id(n), (447700e6::bigint + 900001), (447700e6::bigint + 900002), 'Hello', 'gsm7', 1, now()
FROM generate_series(1, 50000) n;
-- A fifth of the messages have a link; every fifth link was followed.
INSERT INTO link (account_id, id, code, url, message_id, campaign_id, contact_number, clicks,
    first_clicked_at, last_clicked_at)
SELECT owner(n), text_id(n * 5), lpad(n::text, 10, 'a'), 'https://example.com/', text_id(n * 5),
    CASE WHEN n % 3 = 0 THEN nth(5, n / 10000) END, (447700e6::bigint + 900000) + n % 997,
    (n % 5 = 0)::int, CASE WHEN n % 5 = 0 THEN now() END, CASE WHEN n % 5 = 0 THEN now() END
FROM generate_series(1, 200000) n;
-- A conversation for each of two hundred thousand messages of the largest account.
INSERT INTO conversation (account_id, phone, last_message_id, unread)
SELECT owner(n), 447800e6::bigint + n, text_id(n), (n % 50 = 0)::int
FROM generate_series(1, 300000) n WHERE owner(n) = nth(1, 1);
INSERT INTO inbox (account_id, unread) SELECT nth(1, n), 1000 FROM generate_series(1, 5000) n;
UPDATE account SET has_conversations = true WHERE id = nth(1, 1);
INSERT INTO keyword (account_id, id, word, reply, enabled, match_count, created_at, updated_at)
SELECT nth(1, n % 5000 + 1), nth(11, n), 'WORD' || n / 5000, 'Hello', true, 0, now(), now()
FROM generate_series(1, 50000) n;
INSERT INTO inbound_segment (to_number, from_number, reference, total, nth, numbers, alphabets,
    octets, is_joined, route, first_at)
SELECT (447700e6::bigint + 900999), 447700e6::bigint + n, 1, 2, 0, '{1}', '{gsm7}', '{Hello}', true, 'smpp',
    timestamptz '2026-11-20 00:00Z' + n * interval '10 ms'
FROM generate_series(1, 50000) n;
-- A hundred thousand parts of messages that left: half of the messages have one, half three. And as many
-- reports that came early.
INSERT INTO sent_segment (route, network_id, message_id, total, report, at)
SELECT 'main', 'id-' || n, text_id(CASE WHEN n <= 50000 THEN n ELSE 50000 + (n - 50000) / 3 END),
    CASE WHEN n <= 50000 THEN 1 ELSE 3 END, CASE WHEN n % 2 = 0 THEN 'delivered' END,
    timestamptz '2026-11-20 00:00Z' + n * interval '10 ms'
FROM generate_series(1, 100000) n;
INSERT INTO sent_segment (route, network_id, report, at)
SELECT 'main', 'early-' || n, 'delivered', timestamptz '2026-11-20 00:00Z' + n * interval '10 ms'
FROM generate_series(1, 100000) n;
-- The largest account's settled messages are in spans, most of which say that no words are there.
INSERT INTO message_span (account_id, first_id, last_id, signature)
SELECT nth(1, 1), text_id(greatest(500 * k, 1)), text_id(500 * k + 469),
    decode(repeat(CASE WHEN k % 50 = 0 THEN 'ff' ELSE '00' END, 1920), 'hex')
FROM generate_series(0, 1979) k;
-- The largest account's contacts are all on three lists; two smaller accounts have a few of their own.
INSERT INTO contact (account_id, id, phone, custom, searched, created_at, updated_at)
SELECT nth(1, CASE WHEN n <= 100000 THEN 1 ELSE n % 2 + 2 END), nth(10, n), 447700e6::bigint + n, '{}',
    'x', now(), now()
FROM generate_series(1, 110000) n;
INSERT INTO contact_list (account_id, id, name, contact_count, created_at, updated_at)
SELECT nth(1, 1), nth(11, list), 'All', 100000, now(), now() FROM generate_series(1, 3) list;
INSERT INTO contact_list_member (account_id, list_id, contact_id)
SELECT nth(1, 1), nth(11, list), nth(10, n)
FROM generate_series(1, 3) list, generate_series(1, 100000) n;
ANALYZE;
