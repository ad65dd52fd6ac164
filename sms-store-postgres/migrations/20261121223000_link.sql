-- Tracked links: short URLs, one for each URL and recipient, that count who follows them.

CREATE TABLE link (
    account_id        uuid NOT NULL,
    id                uuid NOT NULL,
    -- Compared byte by byte: case matters.
    code              text COLLATE "C" NOT NULL CHECK (code ~ '^[0-9A-Za-z]{10}$'),
    url               text NOT NULL,
    message_id        uuid NOT NULL,
    campaign_id       uuid,
    contact_number    bigint NOT NULL,
    clicks            bigint NOT NULL DEFAULT 0 CHECK (clicks >= 0),
    first_clicked_at  timestamptz,
    last_clicked_at   timestamptz,
    -- Pages of all of an account's links, newest first.
    PRIMARY KEY (account_id, id),
    CHECK ((clicks > 0) = (first_clicked_at IS NOT NULL)),
    CHECK ((clicks > 0) = (last_clicked_at IS NOT NULL))
) WITH (fillfactor = 90); -- A hit changes no column of an index, so it stays on its page.

-- A hit knows a link by its code alone; no two links have one.
CREATE UNIQUE INDEX link_by_code ON link (code);
-- Pages by text and by campaign.
CREATE INDEX link_by_message ON link (account_id, message_id, id);
CREATE INDEX link_by_campaign ON link (account_id, campaign_id, id) WHERE campaign_id IS NOT NULL;

COMMENT ON TABLE link IS
    'Tracked links: short URLs, one for each URL and recipient, that count who follows them.';
COMMENT ON INDEX link_pkey IS
    'Reads one; pages of all of an account''s links, newest first.';
COMMENT ON INDEX link_by_code IS
    'A hit knows a link by its code alone; no two links have one.';
COMMENT ON INDEX link_by_message IS
    'Pages by text.';
COMMENT ON INDEX link_by_campaign IS
    'Pages by campaign.';
COMMENT ON CONSTRAINT link_code_check ON link IS
    'Ten letters and digits.';
COMMENT ON CONSTRAINT link_clicks_check ON link IS
    'A count.';
COMMENT ON CONSTRAINT link_check ON link IS
    'A link that was followed says when it was first.';
COMMENT ON CONSTRAINT link_check1 ON link IS
    'A link that was followed says when it was last.';
