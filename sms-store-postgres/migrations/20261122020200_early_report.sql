-- When a report came that was there before its part: one that is older than the hand-over is of
-- another part, which had the id before.

ALTER TABLE sent_part ADD COLUMN early_at timestamptz;

COMMENT ON COLUMN sent_part.early_at IS
    'When a report of it came that was there before the part; else null.';
