-- What holds for messages that follow from those of other organizations: `allow`, `label`, or `hold`; null for `label`.
ALTER TABLE organizations ADD COLUMN foreign_policy TEXT CHECK (foreign_policy IN ('allow', 'label', 'hold'));
-- Whether any organization has its agents' deliveries held is asked with every message.
CREATE INDEX organizations_that_hold ON organizations (foreign_policy) WHERE foreign_policy = 'hold';

-- Whether an agent may use all of its rights while it works for another organization.
ALTER TABLE agents ADD COLUMN foreign_access INTEGER NOT NULL DEFAULT 0;

-- Null unless the originator belongs to another organization than the room; false if that of the room allows it, and
-- nothing is shown.
ALTER TABLE messages ADD COLUMN foreign_origin INTEGER;
