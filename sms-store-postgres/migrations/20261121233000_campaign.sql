-- Campaigns, and how many of their texts stand where.

CREATE TABLE campaign (
    account_id          uuid NOT NULL REFERENCES account (id),
    id                  uuid NOT NULL,
    name                text NOT NULL,
    body                text NOT NULL,
    -- The list may be removed at any time.
    list_id             uuid NOT NULL,
    sender              text,
    append_opt_out      boolean NOT NULL,
    track_links         boolean NOT NULL,
    ignore_quiet_hours  boolean NOT NULL,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    -- What follows is empty while it is a draft.
    launched_at         timestamptz,
    scheduled_at        timestamptz,
    cancelled_at        timestamptz,
    -- Whether no text of a cancelled campaign waits any more.
    swept               boolean NOT NULL DEFAULT false,
    batch_id            uuid,
    recipients          bigint NOT NULL DEFAULT 0,
    rejected            bigint NOT NULL DEFAULT 0,
    credits             bigint NOT NULL DEFAULT 0,
    -- How many texts stand where, less what waits in campaign_delta.
    scheduled           bigint NOT NULL DEFAULT 0,
    queued              bigint NOT NULL DEFAULT 0,
    sending             bigint NOT NULL DEFAULT 0,
    sent                bigint NOT NULL DEFAULT 0,
    delivered           bigint NOT NULL DEFAULT 0,
    undelivered         bigint NOT NULL DEFAULT 0,
    failed              bigint NOT NULL DEFAULT 0,
    cancelled           bigint NOT NULL DEFAULT 0,
    -- When a text last stopped waiting to leave, less what waits in campaign_delta.
    last_settled_at     timestamptz,
    -- Tracked links sent, their hits, and those hit at least once.
    links               bigint NOT NULL DEFAULT 0,
    clicks              bigint NOT NULL DEFAULT 0,
    unique_clicked      bigint NOT NULL DEFAULT 0,
    -- Reads one; pages, newest first.
    PRIMARY KEY (account_id, id),
    CONSTRAINT campaign_launch_check CHECK ((launched_at IS NULL) = (batch_id IS NULL)),
    CONSTRAINT campaign_draft_check
        CHECK (launched_at IS NOT NULL OR (scheduled_at IS NULL AND cancelled_at IS NULL))
) WITH (fillfactor = 80); -- Counts are folded into it in place.

-- Finds cancelled campaigns whose sweep was not finished.
CREATE INDEX campaign_unswept ON campaign (cancelled_at)
    WHERE cancelled_at IS NOT NULL AND NOT swept;

-- What single commits did to the counts of campaigns, until it is folded into them. Only ever added
-- to, so that workers that change texts of one campaign do not wait for each other.
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
    -- Sums those of a campaign; folds, campaign by campaign.
    PRIMARY KEY (account_id, campaign_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

COMMENT ON TABLE campaign IS
    'One text to a whole list, drafted, then launched.';
COMMENT ON INDEX campaign_pkey IS
    'Reads one; pages, newest first.';
COMMENT ON INDEX campaign_unswept IS
    'Finds cancelled campaigns whose sweep was not finished.';
COMMENT ON CONSTRAINT campaign_account_id_fkey ON campaign IS
    'A campaign belongs to an account.';
COMMENT ON CONSTRAINT campaign_launch_check ON campaign IS
    'A launch is a batch.';
COMMENT ON CONSTRAINT campaign_draft_check ON campaign IS
    'A draft is neither scheduled nor cancelled.';
COMMENT ON TABLE campaign_delta IS
    'What single commits did to the counts of campaigns, until it is folded into them.';
COMMENT ON INDEX campaign_delta_pkey IS
    'Sums those of a campaign; folds, campaign by campaign.';
