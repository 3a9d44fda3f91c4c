-- The traces of messages are lost.
ALTER TABLE messages DROP COLUMN traceparent;
