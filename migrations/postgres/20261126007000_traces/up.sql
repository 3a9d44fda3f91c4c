-- The place of a message in a trace (W3C `traceparent`), if its sender stated one, or what it follows from has one. During
-- a rolling upgrade, the messages that older nodes store are part of no trace.
ALTER TABLE messages ADD COLUMN traceparent text COLLATE "C";
