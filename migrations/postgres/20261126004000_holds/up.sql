-- A held delivery is dead, and names the limit that holds it, until somebody retries it. Servers of earlier versions
-- show it as dead.
ALTER TABLE deliveries ADD COLUMN held_by text COLLATE "C";

-- The largest number of hops from the root of a tree; 0 for no limit, null for that of the organization or the server.
ALTER TABLE organizations ADD COLUMN max_hops integer CHECK (max_hops BETWEEN 0 AND 1000000);
-- The largest number of texts without a known cause between two agents of a room within ten minutes, likewise.
ALTER TABLE organizations ADD COLUMN max_pair_messages integer CHECK (max_pair_messages BETWEEN 0 AND 10000);
ALTER TABLE chats ADD COLUMN max_hops integer CHECK (max_hops BETWEEN 1 AND 1000000);

-- What has been over a limit. `subject_id` is the root of a tree; the room, for its texts whose causes are ambiguous; or
-- an id that stands for two agents and their room. `held_at` is null after all that was held has been released; then
-- `allowed` is what may be reached before something is held again. The room and the message are those of the first
-- delivery that was held. `bound` is the limit at that time.
CREATE TABLE holds (
    subject_id uuid NOT NULL,
    held_by    text COLLATE "C" NOT NULL,
    chat_id    uuid NOT NULL,
    message_id uuid NOT NULL,
    bound      integer NOT NULL,
    allowed    integer,
    held_at    timestamptz,
    noticed_at timestamptz,
    PRIMARY KEY (subject_id, held_by)
);
-- Those that the humans of the room are still to be told of.
CREATE INDEX holds_to_notice ON holds (held_at, subject_id) WHERE held_at IS NOT NULL AND noticed_at IS NULL;
