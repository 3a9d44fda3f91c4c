-- Sums of the tokens that agents report, by day in UTC (days since 1970-01-01). They outlive what they refer to: no
-- column references another table. The organization and the model are those at the time; the model is empty if neither
-- the report nor the agent stated one.
CREATE TABLE token_usage (
    organization_id    BLOB    NOT NULL,
    day                INTEGER NOT NULL,
    owner_id           BLOB    NOT NULL,
    agent_id           BLOB    NOT NULL,
    chat_id            BLOB    NOT NULL,
    root_id            BLOB    NOT NULL,
    model              TEXT    NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reports            INTEGER NOT NULL,
    PRIMARY KEY (organization_id, day, owner_id, agent_id, chat_id, root_id, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX token_usage_of_owner ON token_usage (owner_id, day);
CREATE INDEX token_usage_of_tree ON token_usage (root_id, chat_id);
