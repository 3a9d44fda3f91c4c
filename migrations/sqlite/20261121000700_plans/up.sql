-- What an organization may use; null is no limit. The configuration is written here at every start.
CREATE TABLE plans (
    name            TEXT    NOT NULL PRIMARY KEY,
    agents          INTEGER,
    chats           INTEGER,
    participants    INTEGER,
    messages        INTEGER,
    human_interface INTEGER NOT NULL,
    memories        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO plans VALUES ('enterprise', NULL, NULL, NULL, NULL, 1, 1);

ALTER TABLE organizations ADD COLUMN plan TEXT NOT NULL DEFAULT 'enterprise';
CREATE UNIQUE INDEX organizations_name ON organizations (name COLLATE NOCASE);
CREATE INDEX organizations_of_plan ON organizations (plan);

-- Whose room it is: the organization of whoever made it.
ALTER TABLE chats ADD COLUMN organization_id BLOB;
UPDATE chats SET organization_id = (
    SELECT coalesce(person.organization_id, owner.organization_id)
    FROM participants AS maker
    LEFT JOIN users AS person ON person.id = maker.participant_id
    LEFT JOIN agents AS agent ON agent.id = maker.participant_id
    LEFT JOIN users AS owner ON owner.id = agent.owner_id
    WHERE maker.chat_id = chats.id AND maker.role = 'owner'
    ORDER BY maker.joined_at, maker.participant_id LIMIT 1
);
CREATE INDEX chats_of_organization ON chats (organization_id) WHERE deleted_at IS NULL AND status = 'active';
