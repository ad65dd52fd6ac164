-- What is past its keep, the oldest first.

-- Tidies contacts too long ago to lead an answer back.
CREATE INDEX last_texted_by_age ON last_texted (at);
-- Tidies test sends that count no more.
CREATE INDEX test_send_by_age ON test_send (made_at);
