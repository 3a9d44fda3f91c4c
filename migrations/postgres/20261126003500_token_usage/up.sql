-- Sums of the tokens that agents report, by day in UTC (days since 1970-01-01). They outlive what they refer to: no
-- column references another table. The organization and the model are those at the time; the model is empty if neither
-- the report nor the agent stated one.
CREATE TABLE token_usage (
    organization_id    uuid             NOT NULL,
    day                bigint           NOT NULL,
    owner_id           uuid             NOT NULL,
    agent_id           uuid             NOT NULL,
    chat_id            uuid             NOT NULL,
    root_id            uuid             NOT NULL,
    model              text COLLATE "C" NOT NULL,
    input_tokens       bigint           NOT NULL,
    output_tokens      bigint           NOT NULL,
    cache_read_tokens  bigint           NOT NULL,
    cache_write_tokens bigint           NOT NULL,
    reports            bigint           NOT NULL,
    PRIMARY KEY (organization_id, day, owner_id, agent_id, chat_id, root_id, model)
);
CREATE INDEX token_usage_of_owner ON token_usage (owner_id, day);
CREATE INDEX token_usage_of_tree ON token_usage (root_id, chat_id);
