-- Campaigns, how many of their messages have which status, and tracked links.

CREATE TABLE campaign (
    account_id          uuid NOT NULL,
    id                  uuid NOT NULL,
    -- The list may be deleted at any time.
    list_id             uuid NOT NULL,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    recipients          bigint NOT NULL DEFAULT 0,
    rejected            bigint NOT NULL DEFAULT 0,
    credits             bigint NOT NULL DEFAULT 0,
    -- How many messages have which status, without what waits in campaign_delta.
    scheduled           bigint NOT NULL DEFAULT 0,
    queued              bigint NOT NULL DEFAULT 0,
    sending             bigint NOT NULL DEFAULT 0,
    sent                bigint NOT NULL DEFAULT 0,
    delivered           bigint NOT NULL DEFAULT 0,
    undelivered         bigint NOT NULL DEFAULT 0,
    failed              bigint NOT NULL DEFAULT 0,
    cancelled           bigint NOT NULL DEFAULT 0,
    -- Tracked links sent, their hits, and how many of them were hit at least once.
    links               bigint NOT NULL DEFAULT 0,
    clicks              bigint NOT NULL DEFAULT 0,
    unique_clicked      bigint NOT NULL DEFAULT 0,
    append_opt_out      boolean NOT NULL,
    track_links         boolean NOT NULL,
    ignore_quiet_hours  boolean NOT NULL,
    -- Of a cancelled campaign: whether all waiting messages have been cancelled and refunded.
    swept               boolean NOT NULL DEFAULT false,
    name                text NOT NULL,
    body                text NOT NULL,
    sender              text,
    -- Null while it is a draft.
    launched_at         timestamptz,
    scheduled_at        timestamptz,
    cancelled_at        timestamptz,
    batch_id            uuid,
    -- When a message last stopped waiting to be submitted, without what waits in campaign_delta.
    last_settled_at     timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT campaign_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id),
    CONSTRAINT campaign_launch_check CHECK ((launched_at IS NULL) = (batch_id IS NULL)),
    CONSTRAINT campaign_draft_check
        CHECK (launched_at IS NOT NULL OR (scheduled_at IS NULL AND cancelled_at IS NULL))
) WITH (fillfactor = 80); -- Counts are added to it in place.

CREATE INDEX campaign_unswept ON campaign (cancelled_at)
    WHERE cancelled_at IS NOT NULL AND NOT swept;

COMMENT ON TABLE campaign IS
    'One body to a whole list: a draft, then launched.';
COMMENT ON INDEX campaign_pkey IS
    'Reads one; pages, newest first.';
COMMENT ON INDEX campaign_unswept IS
    'Finds cancelled campaigns that still have waiting messages.';
COMMENT ON CONSTRAINT campaign_account_id_fkey ON campaign IS
    'A campaign belongs to an account.';
COMMENT ON CONSTRAINT campaign_launch_check ON campaign IS
    'A launch has a batch.';
COMMENT ON CONSTRAINT campaign_draft_check ON campaign IS
    'A draft is neither scheduled nor cancelled.';

-- Rows are inserted, and deleted once they are added to the campaign. So workers that change
-- messages of one campaign do not wait for each other.
CREATE TABLE campaign_delta (
    account_id   uuid NOT NULL,
    campaign_id  uuid NOT NULL,
    id           bigint GENERATED ALWAYS AS IDENTITY,
    scheduled    bigint NOT NULL,
    queued       bigint NOT NULL,
    sending      bigint NOT NULL,
    sent         bigint NOT NULL,
    delivered    bigint NOT NULL,
    undelivered  bigint NOT NULL,
    failed       bigint NOT NULL,
    cancelled    bigint NOT NULL,
    settled_at   timestamptz,
    PRIMARY KEY (account_id, campaign_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

COMMENT ON TABLE campaign_delta IS
    'What single commits changed of the counts of campaigns, until it is added to them.';
COMMENT ON INDEX campaign_delta_pkey IS
    'Sums the changes of a campaign; adds them up, campaign by campaign.';

CREATE TABLE link (
    account_id        uuid NOT NULL,
    id                uuid NOT NULL,
    message_id        uuid NOT NULL,
    contact_number    bigint NOT NULL,
    clicks            bigint NOT NULL DEFAULT 0,
    first_clicked_at  timestamptz,
    last_clicked_at   timestamptz,
    campaign_id       uuid,
    -- Compared byte by byte: case matters.
    code              text COLLATE "C" NOT NULL,
    url               text NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT link_code_check CHECK (code ~ '^[0-9A-Za-z]{10}$'),
    CONSTRAINT link_clicks_check CHECK (clicks >= 0),
    CONSTRAINT link_check CHECK ((clicks > 0) = (first_clicked_at IS NOT NULL)),
    CONSTRAINT link_check1 CHECK ((clicks > 0) = (last_clicked_at IS NOT NULL))
) WITH (fillfactor = 90); -- A hit changes no column of an index, so it stays on its page.

CREATE UNIQUE INDEX link_by_code ON link (code);
CREATE INDEX link_by_message ON link (account_id, message_id, id);
CREATE INDEX link_by_campaign ON link (account_id, campaign_id, id) WHERE campaign_id IS NOT NULL;

COMMENT ON TABLE link IS
    'Tracked links: one short URL for each URL and recipient, with a count of its hits.';
COMMENT ON INDEX link_pkey IS
    'Reads one; pages of an account''s links, newest first.';
COMMENT ON INDEX link_by_code IS
    'A hit knows a link by its code alone; no two links have the same code.';
COMMENT ON INDEX link_by_message IS
    'Pages by message.';
COMMENT ON INDEX link_by_campaign IS
    'Pages by campaign.';
COMMENT ON CONSTRAINT link_code_check ON link IS
    'Ten letters and digits.';
COMMENT ON CONSTRAINT link_clicks_check ON link IS
    'A count.';
COMMENT ON CONSTRAINT link_check ON link IS
    'A link that was hit has the time of its first hit.';
COMMENT ON CONSTRAINT link_check1 ON link IS
    'A link that was hit has the time of its last hit.';
