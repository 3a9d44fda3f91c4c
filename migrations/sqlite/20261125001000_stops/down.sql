-- Stopped agents play again.
ALTER TABLE participants DROP COLUMN stopped_at;
