-- The segments of long inbound messages as they arrived, not decoded; and several messages with the
-- same key, in the order in which they began.

ALTER TABLE inbound_segment
    ADD COLUMN nth integer NOT NULL DEFAULT 0,
    -- How the octets of each segment are read, and the octets.
    ADD COLUMN alphabets text[],
    ADD COLUMN octets bytea[],
    DROP CONSTRAINT inbound_part_check,
    DROP CONSTRAINT inbound_segment_pkey,
    ADD PRIMARY KEY (to_number, from_number, reference, total, nth);
UPDATE inbound_segment SET
    alphabets = ARRAY(SELECT 'utf8' FROM unnest(bodies)),
    octets = ARRAY(SELECT convert_to(u.body, 'UTF8')
                   FROM unnest(bodies) WITH ORDINALITY AS u(body, place) ORDER BY u.place);
ALTER TABLE inbound_segment
    DROP COLUMN bodies,
    ALTER COLUMN nth DROP DEFAULT,
    ALTER COLUMN alphabets SET NOT NULL,
    ALTER COLUMN octets SET NOT NULL,
    ADD CONSTRAINT inbound_part_check CHECK (cardinality(octets) = cardinality(numbers)
        AND cardinality(alphabets) = cardinality(numbers));

COMMENT ON INDEX inbound_segment_pkey IS
    'Finds the newest messages with a key, and the segments of one.';
COMMENT ON CONSTRAINT inbound_part_check ON inbound_segment IS
    'Each segment has its octets, and says how they are read.';

ALTER TABLE sent_segment ADD COLUMN numbers text;

COMMENT ON COLUMN sent_segment.numbers IS
    'The numbers that an early report named, apart by spaces, one of which is the recipient.';
