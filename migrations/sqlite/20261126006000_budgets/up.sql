-- The budgets of organizations: the number of messages or tokens that they may use, by the words of the domain.
CREATE TABLE budgets (
    organization_id BLOB    NOT NULL,
    budget          TEXT    NOT NULL,
    amount          INTEGER NOT NULL,
    PRIMARY KEY (organization_id, budget)
) STRICT, WITHOUT ROWID;

-- Texts by day in UTC (days since 1970-01-01), of organizations with budgets only. The organization is that of the sender.
CREATE TABLE text_counts (
    day             INTEGER NOT NULL,
    organization_id BLOB    NOT NULL,
    sender_id       BLOB    NOT NULL,
    chat_id         BLOB    NOT NULL,
    texts           INTEGER NOT NULL,
    PRIMARY KEY (day, organization_id, sender_id, chat_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX text_counts_of_room ON text_counts (chat_id, day);

-- Texts of trees without their roots, of organizations with budgets of trees only, and the last day on which texts or
-- tokens of the tree were counted.
CREATE TABLE tree_counts (
    root_id         BLOB    NOT NULL,
    day             INTEGER NOT NULL,
    texts           INTEGER NOT NULL,
    PRIMARY KEY (root_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tree_counts_of_day ON tree_counts (day);
CREATE INDEX token_usage_of_room ON token_usage (chat_id, day);

-- Budgets that are nearly used up, or exceeded. `subject_id` is the root of a tree, a room, an agent, or the
-- organization. The day is 0 for a tree, whose budget does not begin again. `allowed` is what may be used after a
-- release. The room and the message are those that were counted last in a room of the
-- organization, if any.
CREATE TABLE budget_levels (
    subject_id      BLOB    NOT NULL,
    budget          TEXT    NOT NULL,
    organization_id BLOB    NOT NULL,
    day             INTEGER NOT NULL,
    chat_id         BLOB,
    message_id      BLOB,
    amount          INTEGER NOT NULL,
    used            INTEGER NOT NULL,
    allowed         INTEGER,
    warned_at       INTEGER,
    exceeded_at     INTEGER,
    noticed_at      INTEGER,
    PRIMARY KEY (subject_id, budget)
) STRICT, WITHOUT ROWID;
CREATE INDEX budget_levels_of_organization ON budget_levels (organization_id, budget);
CREATE INDEX budget_levels_of_day ON budget_levels (day, exceeded_at);
-- Those that the humans of the room are still to be told of.
CREATE INDEX budget_levels_to_notice ON budget_levels (warned_at, subject_id)
WHERE warned_at IS NOT NULL AND noticed_at IS NULL AND chat_id IS NOT NULL;
