-- Other accounts, with what each has one of.

SET session_replication_role = replica; -- What is written here refers to what is.

CREATE FUNCTION nth(kind bigint, n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN
    (lpad(to_hex(kind), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid;
-- Numbers that nothing else in the test uses.
CREATE FUNCTION stranger(n bigint) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN 447911000000 + n;

INSERT INTO account (id, name, status, balance, quiet_start, quiet_end, track_links_default,
    opt_out_line, opt_out_line_sender, created_at, updated_at)
SELECT nth(1, n), 'Bistro', 'active', 1000, 1260, 480, false, '', '', now(), now()
FROM generate_series(1, 5000) n;
INSERT INTO api_key (hash, account_id, id, mode, last_four, created_at)
SELECT decode(md5(n::text) || md5((-n)::text), 'hex'), nth(1, n), nth(2, n), 'live', 'abcd', now()
FROM generate_series(1, 5000) n;
INSERT INTO number (id, phone, account_id, rental_credits, monthly_credits, assigned_at,
    next_rent_at)
SELECT nth(3, n), stranger(500000 + n), nth(1, n), 1, 1, '2026-11-21', '2027-01-01'
FROM generate_series(1, 5000) n;
INSERT INTO endpoint (account_id, id, url, events, secret, created_at, updated_at)
SELECT nth(1, n), nth(8, n), 'https://example.com/', ARRAY['message.received'],
    'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', now(), now()
FROM generate_series(1, 5000) n;
