-- The place of a message in a trace (W3C `traceparent`), if its sender stated one, or what it follows from has one.
ALTER TABLE messages ADD COLUMN traceparent TEXT;
