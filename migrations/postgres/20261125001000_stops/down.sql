-- Stopped agents play again.
ALTER TABLE participants
    DROP CONSTRAINT participants_stop,
    DROP COLUMN stopped_at;
