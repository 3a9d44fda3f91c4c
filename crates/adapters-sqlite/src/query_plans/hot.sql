-- Written by a test, with PARLANCE_UPDATE_SQL=1.

-- find a key
BEGIN DEFERRED;
SELECT key.id, key.digest, agent.id AS agent_id, user.id AS user_id, user.organization_id, coalesce(plan.human_interface, TRUE) AS human_interface, coalesce(plan.memories, TRUE) AS memories, key.expires_at, key.last_used_at, user.disabled_at IS NOT NULL OR agent.disabled_at IS NOT NULL AS is_disabled, coalesce(agent.exclusive_claims, FALSE) AS exclusive_claims, key.read_only, key.only_chat_id, key.only_agent_id
  FROM api_keys AS key
  LEFT JOIN agents AS agent
  ON agent.id = key.agent_id
  AND agent.deleted_at IS NULL
  JOIN users AS user
  ON user.id = coalesce(key.user_id, agent.owner_id)
  JOIN organizations AS organization
  ON organization.id = user.organization_id
  LEFT JOIN plans AS plan
  ON plan.name = organization.plan
  WHERE key.digest = ?
  AND key.revoked_at IS NULL;
ROLLBACK;

-- a user sends a message
BEGIN DEFERRED;
SELECT participants.chat_id, participant_id, participants.kind, role, participants.status
  FROM chats
  CROSS JOIN participants INDEXED BY participants_of_account
  ON participants.chat_id = chats.id
  AND participants.left_at IS NULL
  WHERE chats.id = ?
  AND participants.account_id = ?
  AND chats.deleted_at IS NULL
  ORDER BY participant_id;
SELECT `participants`.`participant_id`, `participants`.`kind`, `participants`.`role`, `participants`.`status`, `participants`.`joined_at`, `participants`.`account_id`, `users`.`handle`, `users`.`first_name`, `users`.`last_name`, `agents`.`handle`, `agents`.`name`, `agents`.`description`, `agents`.`kind`
  FROM ((`participants`
      LEFT OUTER JOIN `users`
      ON ((`participants`.`kind` = ?)
        AND (`users`.`id` = `participants`.`participant_id`)))
    LEFT OUTER JOIN `agents`
    ON ((`participants`.`kind` = ?)
      AND (`agents`.`id` = `participants`.`participant_id`)))
  WHERE ((`participants`.`chat_id` = ?)
    AND (`participants`.`left_at` IS NULL))
  ORDER BY `participants`.`joined_at`, `participants`.`participant_id`;
ROLLBACK;
BEGIN IMMEDIATE;
SELECT participants.status, stopped_at, agent_paused_at, paused_at, title IS NULL
  AND titled_by IS NULL, last_sequence, deleted_messages, last_message_at, chats.content_bytes, texts, respond_within, chats.max_hops, organizations.max_hops, chats.organization_id, organizations.foreign_policy, plans.name, plans.messages, plans.bytes, organizations.content_bytes, EXISTS
  (SELECT 1
    FROM deliveries INDEXED BY deliveries_at_work
    WHERE agent_id = participant_id
    AND processed_at IS NULL
    AND dead_at IS NULL
    AND current_attempt > 0), EXISTS
  (SELECT 1
    FROM holds INDEXED BY holds_of_pairs
    WHERE holds.chat_id = participants.chat_id
    AND held_by = 'max_pair_messages'
    AND held_at > ?), EXISTS
  (SELECT 1
    FROM organizations INDEXED BY organizations_that_hold
    WHERE foreign_policy = 'hold')
  FROM participants
  CROSS JOIN chats
  ON chats.id = participants.chat_id
  AND chats.deleted_at IS NULL
  LEFT JOIN organizations
  ON organizations.id = chats.organization_id
  LEFT JOIN plans
  ON plans.name = organizations.plan
  WHERE participants.chat_id = ?
  AND participant_id = ?
  AND left_at IS NULL;
SELECT `participants`.`status`, `participants`.`stopped_at`, `participants`.`agent_paused_at`
  FROM `participants`
  WHERE (((`participants`.`chat_id` = ?)
      AND (`participants`.`participant_id` = ?))
    AND (`participants`.`left_at` IS NULL));
UPDATE chats
  SET last_sequence = ?, updated_at = ?, last_message_at = ?, content_bytes = ?, texts = ?
  WHERE id = ?;
INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, created_at, updated_at, respond_by)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt)
  VALUES (?, ?, ?, ?, 0);
COMMIT;

-- an agent sends a message
BEGIN DEFERRED;
SELECT participants.kind, role, participants.status, stopped_at, agent_paused_at, joined_at, paused_at
  FROM participants
  JOIN chats
  ON chats.id = participants.chat_id
  AND chats.deleted_at IS NULL
  LEFT JOIN organizations
  ON organizations.id = chats.organization_id
  WHERE participants.chat_id = ?
  AND participant_id = ?
  AND left_at IS NULL;
SELECT `participants`.`participant_id`, `participants`.`kind`, `participants`.`role`, `participants`.`status`, `participants`.`joined_at`, `participants`.`account_id`, `users`.`handle`, `users`.`first_name`, `users`.`last_name`, `agents`.`handle`, `agents`.`name`, `agents`.`description`, `agents`.`kind`
  FROM ((`participants`
      LEFT OUTER JOIN `users`
      ON ((`participants`.`kind` = ?)
        AND (`users`.`id` = `participants`.`participant_id`)))
    LEFT OUTER JOIN `agents`
    ON ((`participants`.`kind` = ?)
      AND (`agents`.`id` = `participants`.`participant_id`)))
  WHERE ((`participants`.`chat_id` = ?)
    AND (`participants`.`left_at` IS NULL))
  ORDER BY `participants`.`joined_at`, `participants`.`participant_id`;
ROLLBACK;
BEGIN IMMEDIATE;
SELECT participants.status, stopped_at, agent_paused_at, paused_at, title IS NULL
  AND titled_by IS NULL, last_sequence, deleted_messages, last_message_at, chats.content_bytes, texts, respond_within, chats.max_hops, organizations.max_hops, chats.organization_id, organizations.foreign_policy, plans.name, plans.messages, plans.bytes, organizations.content_bytes, EXISTS
  (SELECT 1
    FROM deliveries INDEXED BY deliveries_at_work
    WHERE agent_id = participant_id
    AND processed_at IS NULL
    AND dead_at IS NULL
    AND current_attempt > 0), EXISTS
  (SELECT 1
    FROM holds INDEXED BY holds_of_pairs
    WHERE holds.chat_id = participants.chat_id
    AND held_by = 'max_pair_messages'
    AND held_at > ?), EXISTS
  (SELECT 1
    FROM organizations INDEXED BY organizations_that_hold
    WHERE foreign_policy = 'hold')
  FROM participants
  CROSS JOIN chats
  ON chats.id = participants.chat_id
  AND chats.deleted_at IS NULL
  LEFT JOIN organizations
  ON organizations.id = chats.organization_id
  LEFT JOIN plans
  ON plans.name = organizations.plan
  WHERE participants.chat_id = ?
  AND participant_id = ?
  AND left_at IS NULL;
SELECT messages.id, messages.sender_id, messages.sender_kind, messages.cause_id, messages.root_id, messages.hop, messages.originator_id, messages.originator_kind, messages.ambiguous_cause, messages.traceparent, messages.foreign_origin
  FROM
  (SELECT chat_id, sequence, (deliveries.failed_at IS NULL
      AND deliveries.current_attempt > 0
      AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0)) AS is_open
    FROM deliveries INDEXED BY deliveries_at_work
    WHERE agent_id = ?
    AND chat_id = ?
    AND processed_at IS NULL
    AND dead_at IS NULL
    AND current_attempt > 0
    ORDER BY sequence DESC
    LIMIT 100) AS examined
  LEFT JOIN messages INDEXED BY messages_order
  ON is_open
  AND messages.chat_id = examined.chat_id
  AND messages.sequence = examined.sequence;
SELECT `participants`.`status`, `participants`.`stopped_at`, `participants`.`agent_paused_at`
  FROM `participants`
  WHERE (((`participants`.`chat_id` = ?)
      AND (`participants`.`participant_id` = ?))
    AND (`participants`.`left_at` IS NULL));
UPDATE chats
  SET last_sequence = ?, updated_at = ?, last_message_at = ?, content_bytes = ?, texts = ?
  WHERE id = ?;
INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, created_at, updated_at, respond_by, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
COMMIT;

-- mark as delivered
BEGIN IMMEDIATE;
UPDATE deliveries
  SET delivered_at = ?
  WHERE agent_id = ?
  AND (chat_id, sequence) =
  (SELECT chat_id, sequence
    FROM messages
    WHERE id = ?)
  AND (deliveries.delivered_at IS NULL
    AND deliveries.dead_at IS NULL
    AND deliveries.current_attempt = coalesce(deliveries.restarted_after, 0))
  RETURNING chat_id;
SELECT `messages`.`id`, `messages`.`chat_id`, `messages`.`sequence`, `messages`.`kind`, `messages`.`content`, `messages`.`sender_id`, `messages`.`sender_kind`, `messages`.`sender_name`, `messages`.`mentions`, `messages`.`metadata`, `messages`.`created_at`, `messages`.`updated_at`, `messages`.`cause_id`, `messages`.`root_id`, `messages`.`hop`, `messages`.`originator_id`, `messages`.`originator_kind`, `messages`.`ambiguous_cause`, `messages`.`traceparent`, `messages`.`foreign_origin`, `messages`.`respond_by`, `messages`.`attachments`, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM `messages`
  WHERE (`messages`.`id` = ?);
WITH wanted AS
  (SELECT key AS ordinal, unhex(value ->> 0) AS chat_id, value ->> 1 AS sequence, value ->> 2 AS mentions
    FROM json_each(?)), record (ordinal, agent_id, chat_id, sequence) AS
  (SELECT ordinal, unhex(replace(mention.value ->> 'id', '-', '')), chat_id, sequence
    FROM wanted
    CROSS JOIN json_each(mentions) AS mention
    WHERE mention.value ->> 'of' = 'Agent'
    UNION
    SELECT ordinal, agent_id, chat_id, sequence
    FROM wanted
    CROSS JOIN deliveries INDEXED BY deliveries_unaddressed USING (chat_id, sequence)
    WHERE addressed = 0)
  SELECT record.ordinal, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM record
  CROSS JOIN deliveries USING (agent_id, chat_id, sequence);
COMMIT;

-- announce as delivered
BEGIN IMMEDIATE;
SELECT `messages`.`chat_id`
  FROM `messages`
  WHERE (`messages`.`id` = ?);
SELECT `messages`.`id`, `messages`.`chat_id`, `messages`.`sequence`, `messages`.`kind`, `messages`.`content`, `messages`.`sender_id`, `messages`.`sender_kind`, `messages`.`sender_name`, `messages`.`mentions`, `messages`.`metadata`, `messages`.`created_at`, `messages`.`updated_at`, `messages`.`cause_id`, `messages`.`root_id`, `messages`.`hop`, `messages`.`originator_id`, `messages`.`originator_kind`, `messages`.`ambiguous_cause`, `messages`.`traceparent`, `messages`.`foreign_origin`, `messages`.`respond_by`, `messages`.`attachments`, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM `messages`
  WHERE (`messages`.`id` = ?);
WITH wanted AS
  (SELECT key AS ordinal, unhex(value ->> 0) AS chat_id, value ->> 1 AS sequence, value ->> 2 AS mentions
    FROM json_each(?)), record (ordinal, agent_id, chat_id, sequence) AS
  (SELECT ordinal, unhex(replace(mention.value ->> 'id', '-', '')), chat_id, sequence
    FROM wanted
    CROSS JOIN json_each(mentions) AS mention
    WHERE mention.value ->> 'of' = 'Agent'
    UNION
    SELECT ordinal, agent_id, chat_id, sequence
    FROM wanted
    CROSS JOIN deliveries INDEXED BY deliveries_unaddressed USING (chat_id, sequence)
    WHERE addressed = 0)
  SELECT record.ordinal, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM record
  CROSS JOIN deliveries USING (agent_id, chat_id, sequence);
COMMIT;

-- next message
BEGIN DEFERRED;
SELECT participants.kind, role, participants.status, stopped_at, agent_paused_at, joined_at, paused_at
  FROM participants
  JOIN chats
  ON chats.id = participants.chat_id
  AND chats.deleted_at IS NULL
  LEFT JOIN organizations
  ON organizations.id = chats.organization_id
  WHERE participants.chat_id = ?
  AND participant_id = ?
  AND left_at IS NULL;
SELECT sequence
  FROM deliveries INDEXED BY deliveries_open
  WHERE agent_id = ?
  AND chat_id = ?
  AND processed_at IS NULL
  AND dead_at IS NULL
  AND addressed = 1
  AND (deliveries.claimed_until IS NULL OR deliveries.claimed_until <= ? OR NOT (deliveries.failed_at IS NULL
      AND deliveries.current_attempt > 0
      AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0)))
  ORDER BY sequence
  LIMIT 1;
SELECT `messages`.`id`, `messages`.`chat_id`, `messages`.`sequence`, `messages`.`kind`, `messages`.`content`, `messages`.`sender_id`, `messages`.`sender_kind`, `messages`.`sender_name`, `messages`.`mentions`, `messages`.`metadata`, `messages`.`created_at`, `messages`.`updated_at`, `messages`.`cause_id`, `messages`.`root_id`, `messages`.`hop`, `messages`.`originator_id`, `messages`.`originator_kind`, `messages`.`ambiguous_cause`, `messages`.`traceparent`, `messages`.`foreign_origin`, `messages`.`respond_by`, `messages`.`attachments`, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM `messages`
  WHERE ((`messages`.`chat_id` = ?)
    AND (`messages`.`sequence` = ?));
SELECT message.key, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM json_each(?) AS message
  CROSS JOIN deliveries
  ON agent_id = ?
  AND chat_id = ?
  AND sequence = message.value;
ROLLBACK;

-- succeed
BEGIN IMMEDIATE;
SELECT participants.kind, role, participants.status, stopped_at, agent_paused_at, joined_at, paused_at
  FROM participants
  JOIN chats
  ON chats.id = participants.chat_id
  AND chats.deleted_at IS NULL
  LEFT JOIN organizations
  ON organizations.id = chats.organization_id
  WHERE participants.chat_id = ?
  AND participant_id = ?
  AND left_at IS NULL;
SELECT `messages`.`id`, `messages`.`chat_id`, `messages`.`sequence`, `messages`.`kind`, `messages`.`content`, `messages`.`sender_id`, `messages`.`sender_kind`, `messages`.`sender_name`, `messages`.`mentions`, `messages`.`metadata`, `messages`.`created_at`, `messages`.`updated_at`, `messages`.`cause_id`, `messages`.`root_id`, `messages`.`hop`, `messages`.`originator_id`, `messages`.`originator_kind`, `messages`.`ambiguous_cause`, `messages`.`traceparent`, `messages`.`foreign_origin`, `messages`.`respond_by`, `messages`.`attachments`, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM `messages`
  WHERE ((`messages`.`id` = ?)
    AND (`messages`.`chat_id` = ?));
SELECT deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM deliveries
  WHERE agent_id = ?
  AND chat_id = ?
  AND sequence = ?;
SELECT max_attempts, exclusive_claims
  FROM agents
  WHERE id = ?;
INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, started_at, processed_at, failed_at, error, dead_at, dead_reason, claimed_until)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (agent_id, chat_id, sequence) DO UPDATE
  SET current_attempt = excluded.current_attempt, started_at = excluded.started_at, processed_at = excluded.processed_at, failed_at = excluded.failed_at, error = CASE WHEN current_attempt = excluded.current_attempt THEN coalesce(error, excluded.error) ELSE excluded.error END, dead_at = excluded.dead_at, dead_reason = excluded.dead_reason, replaced_by = NULL, held_by = NULL, claimed_until = excluded.claimed_until;
WITH wanted AS
  (SELECT key AS ordinal, unhex(value ->> 0) AS chat_id, value ->> 1 AS sequence, value ->> 2 AS mentions
    FROM json_each(?)), record (ordinal, agent_id, chat_id, sequence) AS
  (SELECT ordinal, unhex(replace(mention.value ->> 'id', '-', '')), chat_id, sequence
    FROM wanted
    CROSS JOIN json_each(mentions) AS mention
    WHERE mention.value ->> 'of' = 'Agent'
    UNION
    SELECT ordinal, agent_id, chat_id, sequence
    FROM wanted
    CROSS JOIN deliveries INDEXED BY deliveries_unaddressed USING (chat_id, sequence)
    WHERE addressed = 0)
  SELECT record.ordinal, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM record
  CROSS JOIN deliveries USING (agent_id, chat_id, sequence);
COMMIT;

-- begin
BEGIN IMMEDIATE;
SELECT participants.kind, role, participants.status, stopped_at, agent_paused_at, joined_at, paused_at
  FROM participants
  JOIN chats
  ON chats.id = participants.chat_id
  AND chats.deleted_at IS NULL
  LEFT JOIN organizations
  ON organizations.id = chats.organization_id
  WHERE participants.chat_id = ?
  AND participant_id = ?
  AND left_at IS NULL;
SELECT `messages`.`id`, `messages`.`chat_id`, `messages`.`sequence`, `messages`.`kind`, `messages`.`content`, `messages`.`sender_id`, `messages`.`sender_kind`, `messages`.`sender_name`, `messages`.`mentions`, `messages`.`metadata`, `messages`.`created_at`, `messages`.`updated_at`, `messages`.`cause_id`, `messages`.`root_id`, `messages`.`hop`, `messages`.`originator_id`, `messages`.`originator_kind`, `messages`.`ambiguous_cause`, `messages`.`traceparent`, `messages`.`foreign_origin`, `messages`.`respond_by`, `messages`.`attachments`, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM `messages`
  WHERE ((`messages`.`id` = ?)
    AND (`messages`.`chat_id` = ?));
SELECT deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM deliveries
  WHERE agent_id = ?
  AND chat_id = ?
  AND sequence = ?;
SELECT max_attempts, exclusive_claims
  FROM agents
  WHERE id = ?;
INSERT INTO attempts (agent_id, chat_id, sequence, number, started_at, completed_at, error)
  SELECT agent_id, chat_id, sequence, ?, ?, ?, coalesce(?, error)
  FROM deliveries
  WHERE agent_id = ?
  AND chat_id = ?
  AND sequence = ?;
INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, started_at, processed_at, failed_at, error, dead_at, dead_reason, claimed_until)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (agent_id, chat_id, sequence) DO UPDATE
  SET current_attempt = excluded.current_attempt, started_at = excluded.started_at, processed_at = excluded.processed_at, failed_at = excluded.failed_at, error = CASE WHEN current_attempt = excluded.current_attempt THEN coalesce(error, excluded.error) ELSE excluded.error END, dead_at = excluded.dead_at, dead_reason = excluded.dead_reason, replaced_by = NULL, held_by = NULL, claimed_until = excluded.claimed_until;
WITH wanted AS
  (SELECT key AS ordinal, unhex(value ->> 0) AS chat_id, value ->> 1 AS sequence, value ->> 2 AS mentions
    FROM json_each(?)), record (ordinal, agent_id, chat_id, sequence) AS
  (SELECT ordinal, unhex(replace(mention.value ->> 'id', '-', '')), chat_id, sequence
    FROM wanted
    CROSS JOIN json_each(mentions) AS mention
    WHERE mention.value ->> 'of' = 'Agent'
    UNION
    SELECT ordinal, agent_id, chat_id, sequence
    FROM wanted
    CROSS JOIN deliveries INDEXED BY deliveries_unaddressed USING (chat_id, sequence)
    WHERE addressed = 0)
  SELECT record.ordinal, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM record
  CROSS JOIN deliveries USING (agent_id, chat_id, sequence);
SELECT record.key, number, started_at, completed_at, substr(CAST(error AS BLOB), 1, ?)
  FROM json_each(?) AS record
  CROSS JOIN attempts
  ON agent_id = unhex(record.value ->> 0)
  AND chat_id = unhex(record.value ->> 1)
  AND sequence = record.value ->> 2
  AND number > record.value ->> 3
  ORDER BY number;
COMMIT;

-- fail
BEGIN IMMEDIATE;
SELECT participants.kind, role, participants.status, stopped_at, agent_paused_at, joined_at, paused_at
  FROM participants
  JOIN chats
  ON chats.id = participants.chat_id
  AND chats.deleted_at IS NULL
  LEFT JOIN organizations
  ON organizations.id = chats.organization_id
  WHERE participants.chat_id = ?
  AND participant_id = ?
  AND left_at IS NULL;
SELECT `messages`.`id`, `messages`.`chat_id`, `messages`.`sequence`, `messages`.`kind`, `messages`.`content`, `messages`.`sender_id`, `messages`.`sender_kind`, `messages`.`sender_name`, `messages`.`mentions`, `messages`.`metadata`, `messages`.`created_at`, `messages`.`updated_at`, `messages`.`cause_id`, `messages`.`root_id`, `messages`.`hop`, `messages`.`originator_id`, `messages`.`originator_kind`, `messages`.`ambiguous_cause`, `messages`.`traceparent`, `messages`.`foreign_origin`, `messages`.`respond_by`, `messages`.`attachments`, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM `messages`
  WHERE ((`messages`.`id` = ?)
    AND (`messages`.`chat_id` = ?));
SELECT deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM deliveries
  WHERE agent_id = ?
  AND chat_id = ?
  AND sequence = ?;
SELECT max_attempts, exclusive_claims
  FROM agents
  WHERE id = ?;
INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, started_at, processed_at, failed_at, error, dead_at, dead_reason, claimed_until)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (agent_id, chat_id, sequence) DO UPDATE
  SET current_attempt = excluded.current_attempt, started_at = excluded.started_at, processed_at = excluded.processed_at, failed_at = excluded.failed_at, error = CASE WHEN current_attempt = excluded.current_attempt THEN coalesce(error, excluded.error) ELSE excluded.error END, dead_at = excluded.dead_at, dead_reason = excluded.dead_reason, replaced_by = NULL, held_by = NULL, claimed_until = excluded.claimed_until;
WITH wanted AS
  (SELECT key AS ordinal, unhex(value ->> 0) AS chat_id, value ->> 1 AS sequence, value ->> 2 AS mentions
    FROM json_each(?)), record (ordinal, agent_id, chat_id, sequence) AS
  (SELECT ordinal, unhex(replace(mention.value ->> 'id', '-', '')), chat_id, sequence
    FROM wanted
    CROSS JOIN json_each(mentions) AS mention
    WHERE mention.value ->> 'of' = 'Agent'
    UNION
    SELECT ordinal, agent_id, chat_id, sequence
    FROM wanted
    CROSS JOIN deliveries INDEXED BY deliveries_unaddressed USING (chat_id, sequence)
    WHERE addressed = 0)
  SELECT record.ordinal, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM record
  CROSS JOIN deliveries USING (agent_id, chat_id, sequence);
SELECT record.key, number, started_at, completed_at, substr(CAST(error AS BLOB), 1, ?)
  FROM json_each(?) AS record
  CROSS JOIN attempts
  ON agent_id = unhex(record.value ->> 0)
  AND chat_id = unhex(record.value ->> 1)
  AND sequence = record.value ->> 2
  AND number > record.value ->> 3
  ORDER BY number;
COMMIT;

-- context
BEGIN DEFERRED;
SELECT participants.kind, role, participants.status, stopped_at, agent_paused_at, joined_at, paused_at
  FROM participants
  JOIN chats
  ON chats.id = participants.chat_id
  AND chats.deleted_at IS NULL
  LEFT JOIN organizations
  ON organizations.id = chats.organization_id
  WHERE participants.chat_id = ?
  AND participant_id = ?
  AND left_at IS NULL;
SELECT sequence
  FROM messages
  WHERE sender_kind = 'Agent'
  AND sender_id = ?
  AND chat_id = ?
  AND sequence > ?
  UNION
  SELECT sequence
  FROM deliveries
  WHERE agent_id = ?
  AND chat_id = ?
  AND sequence > ?
  AND addressed = 1
  ORDER BY sequence
  LIMIT ? + 0 OFFSET ? + 0;
SELECT octet_length(content) + 2 * octet_length(mentions) + coalesce(octet_length(metadata), 0)
  FROM json_each(?) AS listed
  CROSS JOIN messages
  ON sequence = listed.value
  AND chat_id = ?
  ORDER BY listed.key;
SELECT `messages`.`id`, `messages`.`chat_id`, `messages`.`sequence`, `messages`.`kind`, `messages`.`content`, `messages`.`sender_id`, `messages`.`sender_kind`, `messages`.`sender_name`, `messages`.`mentions`, `messages`.`metadata`, `messages`.`created_at`, `messages`.`updated_at`, `messages`.`cause_id`, `messages`.`root_id`, `messages`.`hop`, `messages`.`originator_id`, `messages`.`originator_kind`, `messages`.`ambiguous_cause`, `messages`.`traceparent`, `messages`.`foreign_origin`, `messages`.`respond_by`, `messages`.`attachments`, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM `messages`
  WHERE ((`messages`.`chat_id` = ?)
    AND `messages`.`sequence` IN
    (SELECT value
      FROM json_each(?)))
  ORDER BY `messages`.`sequence` ASC;
SELECT message.key, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM json_each(?) AS message
  CROSS JOIN deliveries
  ON agent_id = ?
  AND chat_id = ?
  AND sequence = message.value;
SELECT record.key, number, started_at, completed_at, substr(CAST(error AS BLOB), 1, ?)
  FROM json_each(?) AS record
  CROSS JOIN attempts
  ON agent_id = unhex(record.value ->> 0)
  AND chat_id = unhex(record.value ->> 1)
  AND sequence = record.value ->> 2
  AND number > record.value ->> 3
  ORDER BY number;
ROLLBACK;

-- a page of messages
BEGIN DEFERRED;
SELECT participants.chat_id, participant_id, participants.kind, role, participants.status
  FROM chats
  CROSS JOIN participants INDEXED BY participants_of_account
  ON participants.chat_id = chats.id
  AND participants.left_at IS NULL
  WHERE chats.id = ?
  AND participants.account_id = ?
  AND chats.deleted_at IS NULL
  ORDER BY participant_id;
SELECT sequence AS number
  FROM messages INDEXED BY messages_order
  WHERE chat_id = ?1
  AND sequence > ?2
  AND sequence < ?3
  ORDER BY number DESC
  LIMIT ?4 OFFSET ?5;
SELECT octet_length(content) + 2 * octet_length(mentions) + coalesce(octet_length(metadata), 0)
  FROM json_each(?) AS listed
  CROSS JOIN messages
  ON sequence = listed.value
  AND chat_id = ?
  ORDER BY listed.key;
SELECT `messages`.`id`, `messages`.`chat_id`, `messages`.`sequence`, `messages`.`kind`, `messages`.`content`, `messages`.`sender_id`, `messages`.`sender_kind`, `messages`.`sender_name`, `messages`.`mentions`, `messages`.`metadata`, `messages`.`created_at`, `messages`.`updated_at`, `messages`.`cause_id`, `messages`.`root_id`, `messages`.`hop`, `messages`.`originator_id`, `messages`.`originator_kind`, `messages`.`ambiguous_cause`, `messages`.`traceparent`, `messages`.`foreign_origin`, `messages`.`respond_by`, `messages`.`attachments`, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM `messages`
  WHERE ((`messages`.`chat_id` = ?)
    AND `messages`.`sequence` IN
    (SELECT value
      FROM json_each(?)))
  ORDER BY `messages`.`sequence` DESC;
WITH wanted AS
  (SELECT key AS ordinal, unhex(value ->> 0) AS chat_id, value ->> 1 AS sequence, value ->> 2 AS mentions
    FROM json_each(?)), record (ordinal, agent_id, chat_id, sequence) AS
  (SELECT ordinal, unhex(replace(mention.value ->> 'id', '-', '')), chat_id, sequence
    FROM wanted
    CROSS JOIN json_each(mentions) AS mention
    WHERE mention.value ->> 'of' = 'Agent'
    UNION
    SELECT ordinal, agent_id, chat_id, sequence
    FROM wanted
    CROSS JOIN deliveries INDEXED BY deliveries_unaddressed USING (chat_id, sequence)
    WHERE addressed = 0)
  SELECT record.ordinal, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substr(CAST(error AS BLOB), 1, ?)
  FROM record
  CROSS JOIN deliveries USING (agent_id, chat_id, sequence);
SELECT record.key, number, started_at, completed_at, substr(CAST(error AS BLOB), 1, ?)
  FROM json_each(?) AS record
  CROSS JOIN attempts
  ON agent_id = unhex(record.value ->> 0)
  AND chat_id = unhex(record.value ->> 1)
  AND sequence = record.value ->> 2
  AND number > record.value ->> 3
  ORDER BY number;
ROLLBACK;

-- a membership
BEGIN DEFERRED;
SELECT participants.kind, role, participants.status, stopped_at, agent_paused_at, joined_at, paused_at
  FROM participants
  JOIN chats
  ON chats.id = participants.chat_id
  AND chats.deleted_at IS NULL
  LEFT JOIN organizations
  ON organizations.id = chats.organization_id
  WHERE participants.chat_id = ?
  AND participant_id = ?
  AND left_at IS NULL;
ROLLBACK;
