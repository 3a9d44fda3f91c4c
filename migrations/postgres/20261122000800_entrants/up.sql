-- Who has come into rooms of late: what a server asks that may have missed what another one told.
CREATE INDEX participants_entered ON participants (joined_at, chat_id, participant_id) WHERE left_at IS NULL;
