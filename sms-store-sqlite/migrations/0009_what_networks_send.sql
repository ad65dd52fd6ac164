-- The segments of long inbound messages as they arrived, not decoded; and several messages with the
-- same key, in the order in which they began.
DROP INDEX inbound_segment_by_age;
ALTER TABLE inbound_segment RENAME TO inbound_segment_decoded;
CREATE TABLE inbound_segment (
    to_number   INTEGER NOT NULL,
    from_number INTEGER NOT NULL,
    reference   INTEGER NOT NULL,
    total       INTEGER NOT NULL,
    nth         INTEGER NOT NULL,
    is_joined   INTEGER NOT NULL,
    -- As JSON: the place of each segment, its alphabet, and its octets in hexadecimal.
    parts       TEXT NOT NULL,
    route       TEXT NOT NULL,
    first_at    INTEGER NOT NULL,
    PRIMARY KEY (to_number, from_number, reference, total, nth)
) STRICT, WITHOUT ROWID;
INSERT INTO inbound_segment
SELECT to_number, from_number, reference, total, 0, is_joined,
    (SELECT json_group_array(json_array(json_extract(value, '$[0]'), 'utf8',
         lower(hex(CAST(json_extract(value, '$[1]') AS BLOB))))) FROM json_each(d.parts)),
    route, first_at
FROM inbound_segment_decoded d;
DROP TABLE inbound_segment_decoded;
CREATE INDEX inbound_segment_by_age
    ON inbound_segment (first_at, to_number, from_number, reference, total, nth);

-- The numbers that an early report names, apart by spaces.
ALTER TABLE sent_segment ADD COLUMN numbers TEXT;
