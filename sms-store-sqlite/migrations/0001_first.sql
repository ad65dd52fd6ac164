-- Ids are 16 bytes, times are milliseconds since 1970, numbers are E.164 digits, credits are whole.
-- `account` is the number of the account's row: it is in every index, so it is short.

CREATE TABLE health (checks INTEGER NOT NULL) STRICT;
INSERT INTO health VALUES (0);

CREATE TABLE account (
    no                  INTEGER PRIMARY KEY,
    id                  BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    name                TEXT NOT NULL,
    status              INTEGER NOT NULL CHECK (status BETWEEN 0 AND 2),
    balance             INTEGER NOT NULL CHECK (balance >= 0),
    -- The number of the newest ledger entry.
    ledger_seq          INTEGER NOT NULL,
    -- Unread messages in all conversations.
    unread              INTEGER NOT NULL DEFAULT 0 CHECK (unread >= 0),
    quiet_start         INTEGER NOT NULL,
    quiet_end           INTEGER NOT NULL,
    track_links         INTEGER NOT NULL,
    opt_out_line        TEXT NOT NULL,
    opt_out_line_sender TEXT NOT NULL,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL
) STRICT;

CREATE TABLE api_key (
    hash         BLOB PRIMARY KEY CHECK (length(hash) = 32),
    account      INTEGER NOT NULL,
    id           BLOB NOT NULL,
    mode         INTEGER NOT NULL,
    name         TEXT,
    last_four    TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX api_key_by_account ON api_key (account, id);

-- Entries in the order in which they were booked.
CREATE TABLE ledger_entry (
    account       INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    id            BLOB NOT NULL,
    kind          INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 4),
    amount        INTEGER NOT NULL,
    balance_after INTEGER NOT NULL CHECK (balance_after >= 0),
    batch_id      BLOB,
    message_id    BLOB,
    campaign_id   BLOB,
    number_id     BLOB,
    rent_due_at   INTEGER,
    note          TEXT,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (account, seq)
) STRICT, WITHOUT ROWID;
-- A batch is charged once, a message refunded once, a period of a number paid once.
CREATE UNIQUE INDEX ledger_charge ON ledger_entry (batch_id) WHERE kind = 0;
CREATE UNIQUE INDEX ledger_refund ON ledger_entry (message_id) WHERE kind = 1;
CREATE UNIQUE INDEX ledger_rent ON ledger_entry (number_id, rent_due_at) WHERE kind = 2;

-- What is remembered under idempotency keys: of a send its batch, of other commands an answer.
-- The operator's keys have account 0.
CREATE TABLE idempotency_key (
    account     INTEGER NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    accepted_at INTEGER NOT NULL,
    answer      BLOB,
    batch_id    BLOB,
    rejected    TEXT,
    credits     INTEGER,
    balance     INTEGER,
    PRIMARY KEY (account, key),
    CHECK ((answer IS NULL) <> (batch_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_key_by_age ON idempotency_key (accepted_at);

CREATE TABLE message (
    no             INTEGER PRIMARY KEY,
    id             BLOB NOT NULL CHECK (length(id) = 16),
    account        INTEGER NOT NULL,
    direction      INTEGER NOT NULL CHECK (direction BETWEEN 0 AND 1),
    status         INTEGER NOT NULL CHECK (status BETWEEN 0 AND 8),
    to_number      INTEGER NOT NULL,
    from_number    INTEGER NOT NULL,
    contact_number INTEGER NOT NULL,
    body           TEXT NOT NULL,
    encoding       INTEGER NOT NULL,
    segments       INTEGER NOT NULL,
    credits        INTEGER NOT NULL CHECK (credits >= 0),
    route          TEXT NOT NULL,
    sender         TEXT,
    client_ref     TEXT,
    batch_id       BLOB,
    campaign_id    BLOB,
    contact_id     BLOB,
    error          TEXT,
    mode           INTEGER NOT NULL,
    scheduled_at   INTEGER,
    sent_at        INTEGER,
    delivered_at   INTEGER,
    failed_at      INTEGER,
    cancelled_at   INTEGER,
    received_at    INTEGER,
    read_at        INTEGER,
    -- One line for each entry: status, time, and a detail as JSON.
    timeline       TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX message_by_id ON message (id);
CREATE INDEX message_by_account ON message (account, id);
CREATE INDEX message_by_status ON message (account, status, id);
-- In stretches of 65,536 rows, so that inserts touch only the newest: numbers are random.
CREATE INDEX message_by_contact ON message (account, (no >> 16), contact_number, id);
CREATE INDEX message_by_batch ON message (batch_id, id) WHERE batch_id IS NOT NULL;
CREATE INDEX message_by_campaign ON message (campaign_id, id) WHERE campaign_id IS NOT NULL;
CREATE INDEX message_by_client_ref ON message (account, client_ref, id)
    WHERE client_ref IS NOT NULL;

-- The largest message id of each stretch of rows: a message may be in a later stretch than its id.
CREATE TABLE stretch (
    no      INTEGER PRIMARY KEY,
    last_id BLOB NOT NULL
) STRICT;

CREATE TABLE queue (
    id           BLOB PRIMARY KEY,
    account      INTEGER NOT NULL,
    route        TEXT NOT NULL,
    claimable_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    lease        BLOB,
    unanswered   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_by_time ON queue (route, claimable_at, id, expires_at);
CREATE INDEX queue_by_lease ON queue (lease) WHERE lease IS NOT NULL;

-- What simulated networks bring back later.
CREATE TABLE follow_up (
    id         BLOB PRIMARY KEY,
    message_id BLOB NOT NULL,
    number     INTEGER NOT NULL,
    person     INTEGER NOT NULL,
    route      TEXT NOT NULL,
    due_at     INTEGER NOT NULL,
    receipt    TEXT,
    reply      TEXT,
    CHECK ((receipt IS NULL) <> (reply IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX follow_up_by_time ON follow_up (due_at, id);

-- Segments that networks accepted, and reports that came before their segments.
CREATE TABLE sent_segment (
    route      TEXT NOT NULL,
    network_id TEXT NOT NULL,
    message_id BLOB,
    total      INTEGER NOT NULL,
    report     TEXT,
    at         INTEGER NOT NULL,
    PRIMARY KEY (route, network_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sent_segment_by_message ON sent_segment (message_id) WHERE total > 1;
CREATE INDEX sent_segment_by_age ON sent_segment (at);

-- Which account last sent a message from our number to a person.
CREATE TABLE last_contacted (
    number  INTEGER NOT NULL,
    person  INTEGER NOT NULL,
    account INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (number, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE statistic (
    account   INTEGER NOT NULL,
    span      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    sent      INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    received  INTEGER NOT NULL,
    credits   INTEGER NOT NULL,
    PRIMARY KEY (account, span, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE test_send (
    no      INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    count   INTEGER NOT NULL
) STRICT;
CREATE INDEX test_send_by_account ON test_send (account, at);
CREATE INDEX test_send_by_age ON test_send (at);

CREATE TABLE conversation (
    account INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    last_id BLOB NOT NULL,
    unread  INTEGER NOT NULL CHECK (unread >= 0),
    -- The times of the latest automatic replies, as JSON.
    replied TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (account, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX conversation_by_activity ON conversation (account, last_id);
CREATE INDEX conversation_unread ON conversation (account, last_id) WHERE unread > 0;

CREATE TABLE contact (
    account    INTEGER NOT NULL,
    id         BLOB NOT NULL,
    phone      INTEGER NOT NULL,
    first_name TEXT,
    last_name  TEXT,
    email      TEXT,
    notes      TEXT,
    custom     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX contact_by_phone ON contact (account, phone);

-- How many contacts use each custom field. Never 0.
CREATE TABLE custom_name (
    account INTEGER NOT NULL,
    name    TEXT NOT NULL,
    uses    INTEGER NOT NULL CHECK (uses > 0),
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE contact_list (
    account       INTEGER NOT NULL,
    id            BLOB NOT NULL,
    name          TEXT NOT NULL,
    description   TEXT,
    contact_count INTEGER NOT NULL CHECK (contact_count >= 0),
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;

-- The members of a deleted list are removed later: until then only `list_gone` knows the list.
CREATE TABLE list_member (
    list_id    BLOB NOT NULL,
    contact_id BLOB NOT NULL,
    PRIMARY KEY (list_id, contact_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX list_member_by_contact ON list_member (contact_id, list_id);

CREATE TABLE opt_out (
    account    INTEGER NOT NULL,
    phone      INTEGER NOT NULL,
    source     TEXT NOT NULL,
    note       TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, phone)
) STRICT, WITHOUT ROWID;
CREATE INDEX opt_out_by_time ON opt_out (account, created_at, phone);

CREATE TABLE template (
    account    INTEGER NOT NULL,
    id         BLOB NOT NULL,
    name       TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE keyword (
    account         INTEGER NOT NULL,
    id              BLOB NOT NULL,
    word            TEXT NOT NULL,
    reply           TEXT,
    list_id         BLOB,
    listening       INTEGER NOT NULL,
    match_count     INTEGER NOT NULL,
    last_matched_at INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX keyword_by_word ON keyword (account, word);

CREATE TABLE sender_name (
    id          BLOB PRIMARY KEY,
    account     INTEGER NOT NULL,
    value       TEXT NOT NULL,
    folded      TEXT NOT NULL,
    purpose     TEXT,
    status      INTEGER NOT NULL,
    reason      TEXT,
    created_at  INTEGER NOT NULL,
    reviewed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX sender_name_by_account ON sender_name (account, id);
CREATE INDEX sender_name_by_value ON sender_name (account, folded);
CREATE INDEX sender_name_by_status ON sender_name (status, id);

CREATE TABLE number (
    id                BLOB PRIMARY KEY,
    phone             INTEGER NOT NULL UNIQUE,
    -- Null if all accounts share it.
    account           INTEGER,
    route             TEXT,
    rental_credits    INTEGER NOT NULL,
    monthly_credits   INTEGER NOT NULL,
    rental_charged_at INTEGER,
    next_rent_at      INTEGER,
    assigned_at       INTEGER NOT NULL,
    checked_in_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX number_by_account ON number (account, id);
CREATE INDEX number_by_rent ON number (next_rent_at, id) WHERE next_rent_at IS NOT NULL;

-- The last release of each number that was released.
CREATE TABLE number_release (
    phone   INTEGER PRIMARY KEY,
    account INTEGER,
    at      INTEGER NOT NULL
) STRICT;

CREATE TABLE inbound_segment (
    to_number   INTEGER NOT NULL,
    from_number INTEGER NOT NULL,
    reference   INTEGER NOT NULL,
    total       INTEGER NOT NULL,
    is_joined   INTEGER NOT NULL,
    -- Bodies by their place, as JSON.
    parts       TEXT NOT NULL,
    route       TEXT NOT NULL,
    first_at    INTEGER NOT NULL,
    PRIMARY KEY (to_number, from_number, reference, total)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbound_segment_by_age
    ON inbound_segment (first_at, to_number, from_number, reference, total);

CREATE TABLE unrouted (
    id          BLOB PRIMARY KEY,
    from_number INTEGER NOT NULL,
    to_number   INTEGER NOT NULL,
    body        TEXT NOT NULL,
    encoding    INTEGER NOT NULL,
    segments    INTEGER NOT NULL,
    received_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE link (
    account          INTEGER NOT NULL,
    id               BLOB NOT NULL,
    code             TEXT NOT NULL,
    url              TEXT NOT NULL,
    message_id       BLOB NOT NULL,
    campaign_id      BLOB,
    contact_number   INTEGER NOT NULL,
    clicks           INTEGER NOT NULL,
    first_clicked_at INTEGER,
    last_clicked_at  INTEGER,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX link_by_code ON link (code);
CREATE INDEX link_by_message ON link (account, message_id, id);
CREATE INDEX link_by_campaign ON link (account, campaign_id, id) WHERE campaign_id IS NOT NULL;

CREATE TABLE campaign (
    account            INTEGER NOT NULL,
    id                 BLOB NOT NULL,
    name               TEXT NOT NULL,
    body               TEXT NOT NULL,
    list_id            BLOB NOT NULL,
    sender             TEXT,
    append_opt_out     INTEGER NOT NULL,
    track_links        INTEGER NOT NULL,
    ignore_quiet_hours INTEGER NOT NULL,
    links              INTEGER NOT NULL,
    clicks             INTEGER NOT NULL,
    unique_clicked     INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    -- Null while it is a draft.
    launched_at        INTEGER,
    scheduled_at       INTEGER,
    cancelled_at       INTEGER,
    batch_id           BLOB,
    recipients         INTEGER NOT NULL DEFAULT 0,
    rejected           INTEGER NOT NULL DEFAULT 0,
    credits            INTEGER NOT NULL DEFAULT 0,
    -- How many of its messages have each status, as JSON.
    counts             TEXT NOT NULL DEFAULT '[0,0,0,0,0,0,0,0]',
    last_settled_at    INTEGER,
    -- Of a cancelled campaign: whether messages may still have to be cancelled.
    is_unswept         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, id),
    CHECK ((launched_at IS NULL) = (batch_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX campaign_unswept ON campaign (cancelled_at) WHERE is_unswept;

CREATE TABLE endpoint (
    account              INTEGER NOT NULL,
    id                   BLOB NOT NULL UNIQUE,
    url                  TEXT NOT NULL,
    events               TEXT NOT NULL,
    description          TEXT,
    -- Why it is off; null if it is on.
    off                  INTEGER,
    secret               TEXT NOT NULL,
    old_secret           TEXT,
    old_secret_until     INTEGER,
    consecutive_failures INTEGER NOT NULL,
    paused_since         INTEGER,
    paused_until         INTEGER,
    last_delivered_at    INTEGER,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;

-- Deliveries exist only while their endpoint does: those of a deleted one are removed later.
CREATE TABLE delivery (
    no               INTEGER PRIMARY KEY,
    id               BLOB NOT NULL UNIQUE,
    account          INTEGER NOT NULL,
    endpoint_id      BLOB NOT NULL,
    event_id         BLOB NOT NULL,
    event_type       TEXT NOT NULL,
    body             TEXT NOT NULL,
    status           INTEGER NOT NULL,
    attempts         INTEGER NOT NULL,
    last_status_code INTEGER,
    last_error       INTEGER,
    last_attempt_at  INTEGER,
    next_attempt_at  INTEGER,
    delivered_at     INTEGER,
    lease            BLOB,
    leased_until     INTEGER,
    created_at       INTEGER NOT NULL,
    claimable_at     INTEGER
) STRICT;
CREATE INDEX delivery_by_endpoint ON delivery (endpoint_id, id);
CREATE INDEX delivery_claimable ON delivery (endpoint_id, claimable_at, id)
    WHERE claimable_at IS NOT NULL;
CREATE INDEX delivery_by_age ON delivery (created_at);

-- Batches of launches under way: 0 staged, so that nobody sees their messages yet; 1 launched, and
-- in the queue up to `after_id`; 2 abandoned, and being removed.
CREATE TABLE launching (
    batch_id     BLOB PRIMARY KEY,
    account      INTEGER NOT NULL,
    state        INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
    after_id     BLOB NOT NULL,
    claimable_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Lists and endpoints that were deleted, whose rows are still to be removed.
CREATE TABLE gone (
    id BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Signatures of neighbouring messages, for searches: all messages of an account up to the last_id
-- of its newest span are in spans.
CREATE TABLE message_span (
    no        INTEGER PRIMARY KEY,
    account   INTEGER NOT NULL,
    first_id  BLOB NOT NULL,
    last_id   BLOB NOT NULL,
    signature BLOB NOT NULL CHECK (length(signature) = 1920)
) STRICT;
CREATE UNIQUE INDEX message_span_by_account ON message_span (account, last_id);

-- How far the round through the accounts has come.
CREATE TABLE message_span_round (
    account INTEGER NOT NULL,
    step    INTEGER NOT NULL
) STRICT;
INSERT INTO message_span_round VALUES (0, 0);
