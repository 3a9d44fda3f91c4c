-- Pairs of a room that are, or were, held: a text looks them up only if there is one.
CREATE INDEX holds_of_pairs ON holds (chat_id, held_at) WHERE held_by = 'max_pair_messages' AND held_at IS NOT NULL;
