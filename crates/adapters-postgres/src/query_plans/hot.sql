-- Written by a test, with PARLANCE_UPDATE_SQL=1.

-- find a key
SELECT api_key.digest, agent.id, account.id, account.organization_id, coalesce(plan.human_interface, TRUE), coalesce(plan.memories, TRUE), api_key.id, api_key.expires_at, api_key.last_used_at, account.disabled_at IS NOT NULL OR agent.disabled_at IS NOT NULL, coalesce(agent.exclusive_claims, FALSE), api_key.read_only, api_key.only_chat_id, api_key.only_agent_id
  FROM api_keys AS api_key
  LEFT JOIN agents AS agent
  ON agent.id = api_key.agent_id
  JOIN users AS account
  ON account.id = CASE WHEN agent.deleted_at IS NULL THEN coalesce(api_key.user_id, agent.owner_id) END
  JOIN organizations AS organization
  ON organization.id = account.organization_id
  LEFT JOIN plans AS plan
  ON plan.name = organization.plan
  WHERE api_key.digest = $1
  AND api_key.revoked_at IS NULL;

-- the first message of a chat
SELECT "participants"."participant_id", "participants"."kind", "participants"."role", "participants"."status", "participants"."joined_at", "participants"."account_id", "users"."handle", "users"."first_name", "users"."last_name", "agents"."handle", "agents"."name", "agents"."description", "agents"."kind"
  FROM (("participants"
      LEFT OUTER JOIN "users"
      ON (("participants"."kind" = $1)
        AND ("users"."id" = "participants"."participant_id")))
    LEFT OUTER JOIN "agents"
    ON (("participants"."kind" = $2)
      AND ("agents"."id" = "participants"."participant_id")))
  WHERE (("participants"."chat_id" = $3)
    AND ("participants"."left_at" IS NULL))
  ORDER BY "participants"."joined_at", "participants"."participant_id";
SELECT id, title IS NULL
  AND titled_by IS NULL, last_sequence, deleted_messages, last_message_at, content_bytes, texts, respond_within, max_hops, organization_id, xmin::text
  FROM chats
  WHERE id = ANY($1)
  AND deleted_at IS NULL
  ORDER BY id
  FOR NO KEY UPDATE;
SELECT chats.id, plans.name, plans.messages, plans.bytes, organizations.content_bytes, organizations.paused_at IS NOT NULL, organizations.max_hops, organizations.foreign_policy
  FROM chats
  JOIN organizations
  ON organizations.id = chats.organization_id
  JOIN plans
  ON plans.name = organizations.plan
  WHERE chats.id = ANY($1)
  AND (plans.messages IS NOT NULL OR organizations.content_bytes >= plans.bytes OR organizations.paused_at IS NOT NULL OR organizations.max_hops IS NOT NULL OR organizations.foreign_policy IS NOT NULL);
SELECT member.chat_id, member.participant_id, member.status, member.stopped_at IS NOT NULL OR FALSE, member.agent_paused_at IS NOT NULL
  FROM unnest($1, $2) AS wanted (chat_id, participant_id)
  CROSS JOIN LATERAL
  (SELECT participants.*
    FROM participants
    WHERE participants.chat_id = wanted.chat_id
    AND participants.participant_id = wanted.participant_id
    AND participants.left_at IS NULL OFFSET 0) AS member;
SELECT addressed.id, organizations.id, coalesce(organizations.foreign_policy = 'hold', FALSE)
  FROM
  (SELECT mentioned.id,
    (SELECT organization_id
      FROM users
      WHERE users.id =
      (SELECT owner_id
        FROM agents
        WHERE agents.id = mentioned.id)) AS organization_id
    FROM unnest($1) AS mentioned (id) OFFSET 0) AS addressed
  JOIN organizations
  ON organizations.id = addressed.organization_id
  AND (organizations.foreign_policy = 'hold' OR organizations.id = ANY($2))
  WHERE cardinality($3) > 0 OR
  (SELECT 1
    FROM organizations AS any_other
    WHERE any_other.foreign_policy = 'hold'
    LIMIT 1) IS NOT NULL;
SELECT "participants"."chat_id", "participants"."participant_id"
  FROM "participants"
  WHERE ((("participants"."chat_id" = ANY($1))
      AND ("participants"."kind" = $2))
    AND ("participants"."left_at" IS NULL));
WITH message AS (INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, updated_at, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin)
    SELECT new.id, new.chat_id, new.sequence, new.kind, new.content, new.sender_id, new.sender_kind, new.sender_name, new.mentions, new.metadata, new.respond_by, new.created_at, new.created_at, CASE WHEN new.root_id IS NULL THEN found.cause_id ELSE new.cause_id END, CASE WHEN new.root_id IS NULL THEN found.root_id ELSE new.root_id END, greatest(new.hop, found.hop), CASE WHEN new.root_id IS NULL THEN found.originator_id ELSE new.originator_id END, CASE WHEN new.root_id IS NULL THEN found.originator_kind ELSE new.originator_kind END, CASE WHEN new.root_id IS NULL
    AND (found.ambiguous_cause OR found.root_id IS NULL
      AND new.hop IS NOT NULL) THEN TRUE END, CASE WHEN new.root_id IS NULL
    AND found.traceparent IS NOT NULL
    AND (new.traceparent IS NULL OR substr(new.traceparent, 37, 16) = substr(new.id::text, 20, 4) || substr(new.id::text, 25)) THEN substr(found.traceparent, 1, 36) || substr(new.id::text, 20, 4) || substr(new.id::text, 25) || substr(found.traceparent, 53) ELSE new.traceparent END, CASE WHEN found.is_foreign OR new.is_foreign
    AND (new.root_id IS NOT NULL OR found.root_id IS NULL) THEN new.labels_foreign END
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21) AS new (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, cause_id, root_id, hop, originator_id, originator_kind, traceparent, is_foreign, labels_foreign, counts_attempts)
    CROSS JOIN LATERAL (WITH here AS MATERIALIZED
      (SELECT deliveries.chat_id, deliveries.sequence, (deliveries.failed_at IS NULL
          AND deliveries.current_attempt > 0
          AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0)) AS is_open, TRUE AS is_here
        FROM deliveries
        WHERE new.counts_attempts
        AND deliveries.agent_id = new.sender_id
        AND deliveries.chat_id = new.chat_id
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.current_attempt > 0
        ORDER BY deliveries.sequence DESC
        LIMIT 100)
      SELECT CASE WHEN open = 1
      AND is_complete THEN cause_id END AS cause_id, CASE WHEN open = 1
      AND is_complete THEN root_id END AS root_id, CASE WHEN open > 0 OR NOT is_complete THEN coalesce(hop, 0) END AS hop, CASE WHEN open = 1
      AND is_complete THEN originator_id END AS originator_id, CASE WHEN open = 1
      AND is_complete THEN originator_kind END AS originator_kind, CASE WHEN open > 1 OR NOT is_complete THEN TRUE END AS ambiguous_cause, CASE WHEN open = 1
      AND is_complete THEN traceparent END AS traceparent, coalesce(is_foreign, FALSE) AS is_foreign
      FROM
      (SELECT (array_agg(place.cause_id) FILTER
          (WHERE place.id IS NOT NULL))[1] AS cause_id, (array_agg(place.root_id) FILTER
          (WHERE place.id IS NOT NULL))[1] AS root_id, max(place.hop) AS hop, (array_agg(place.originator_id) FILTER
          (WHERE place.id IS NOT NULL))[1] AS originator_id, max(place.originator_kind) AS originator_kind, max(place.traceparent) AS traceparent, bool_or(place.is_foreign) AS is_foreign, count(place.id) AS open, count(*) < 100 OR coalesce(bool_or(is_here
            AND is_open), FALSE) AS is_complete
        FROM
        (SELECT *
          FROM here
          UNION ALL
          (SELECT deliveries.chat_id, deliveries.sequence, (deliveries.failed_at IS NULL
              AND deliveries.current_attempt > 0
              AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0))
            AND coalesce((SELECT 1 = 1
                FROM participants
                JOIN chats
                ON chats.id = participants.chat_id
                WHERE participants.chat_id = deliveries.chat_id
                AND participants.participant_id = deliveries.agent_id
                AND participants.left_at IS NULL
                AND chats.deleted_at IS NULL
                AND chats.organization_id IS NOT DISTINCT
                FROM
                (SELECT organization_id
                  FROM chats AS own
                  WHERE own.id = new.chat_id)
                LIMIT 1), 1 = 0) AS is_open, FALSE AS is_here
            FROM deliveries
            WHERE new.counts_attempts
            AND deliveries.agent_id = new.sender_id
            AND deliveries.chat_id <> new.chat_id
            AND
            (SELECT count(*) < 100
              FROM here)
            AND NOT EXISTS
            (SELECT
              FROM here
              WHERE here.is_open)
            AND deliveries.processed_at IS NULL
            AND deliveries.dead_at IS NULL
            AND deliveries.current_attempt > 0
            LIMIT 100)) AS examined
        LEFT JOIN LATERAL
        (SELECT id, id AS cause_id, coalesce(root_id, id) AS root_id, least(coalesce(hop, 0), 2147483646) + 1 AS hop, coalesce(originator_id, sender_id) AS originator_id, coalesce(originator_kind, sender_kind) AS originator_kind, traceparent, foreign_origin IS NOT NULL AS is_foreign
          FROM messages
          WHERE messages.chat_id = examined.chat_id
          AND messages.sequence = examined.sequence OFFSET 0) AS place
        ON examined.is_open) AS attempts) AS found
    RETURNING id, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin)
  SELECT id, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin
  FROM message
  WHERE message.root_id IS NOT NULL OR message.ambiguous_cause;
INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt)
  SELECT agent_id, chat_id, sequence, TRUE, 0
  FROM unnest($1, $2, $3) AS new (agent_id, chat_id, sequence);
UPDATE chats
  SET last_sequence = new.last_sequence, updated_at = new.at, last_message_at = new.at, content_bytes = new.bytes, texts = new.texts
  FROM unnest($1, $2, $3, $4, $5) AS new (id, last_sequence, at, bytes, texts)
  WHERE chats.id = new.id
  RETURNING chats.xmin::text;
SELECT "chats"."id", "chats"."title", "chats"."task_id", "chats"."kind", "chats"."status", "chats"."created_at", "chats"."updated_at", "chats"."last_message_at", "chats"."respond_within", "chats"."max_hops"
  FROM "chats"
  WHERE (("chats"."id" = $1)
    AND ("chats"."deleted_at" IS NULL))
  LIMIT $2;
SELECT "participants"."chat_id", "participants"."participant_id"
  FROM "participants"
  WHERE ((("participants"."chat_id" = ANY($1))
      AND ("participants"."kind" = $2))
    AND ("participants"."left_at" IS NULL))
  ORDER BY "participants"."chat_id", "participants"."participant_id";
SELECT chat.id, working.yes IS NOT NULL, failed.yes IS NOT NULL, EXISTS
  (SELECT
    FROM participants
    WHERE participants.chat_id = chat.id
    AND participants.kind = 'Agent'
    AND participants.left_at IS NULL
    AND (participants.stopped_at IS NOT NULL OR paused.paused_at IS NOT NULL) OFFSET 0),
  (SELECT array_agg(participants.participant_id)
    FROM participants
    CROSS JOIN LATERAL
    (SELECT
      FROM deliveries
      WHERE deliveries.agent_id = participants.participant_id
      AND deliveries.chat_id = participants.chat_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.current_attempt > 0
      AND (deliveries.failed_at IS NULL
        AND deliveries.current_attempt > 0
        AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0))
      AND EXISTS
      (SELECT
        FROM agents
        WHERE agents.id = participants.participant_id
        AND (agents.disabled_at IS NOT NULL OR agents.disconnected_at >= deliveries.started_at)
        AND agents.disabled_at IS NULL)
      LIMIT 1) AS work
    WHERE participants.chat_id = chat.id
    AND participants.kind = 'Agent'
    AND participants.left_at IS NULL ),
  (SELECT ARRAY[pending, in_progress, blocked, in_review, failed, completed]
    FROM boards
    WHERE boards.chat_id = chat.id OFFSET 0)
  FROM unnest($1) AS chat (id)
  LEFT JOIN LATERAL
  (SELECT organizations.paused_at
    FROM chats
    JOIN organizations
    ON organizations.id = chats.organization_id
    WHERE chats.id = chat.id OFFSET 0) AS paused
  ON TRUE
  LEFT JOIN LATERAL
  (SELECT TRUE AS yes
    FROM participants
    CROSS JOIN LATERAL
    (SELECT
      FROM deliveries
      WHERE deliveries.agent_id = participants.participant_id
      AND deliveries.chat_id = participants.chat_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.current_attempt > 0
      AND (deliveries.failed_at IS NULL
        AND deliveries.current_attempt > 0
        AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0))
      AND NOT EXISTS
      (SELECT
        FROM agents
        WHERE agents.id = participants.participant_id
        AND (agents.disabled_at IS NOT NULL OR agents.disconnected_at >= deliveries.started_at))
      LIMIT 1) AS work
    WHERE participants.chat_id = chat.id
    AND participants.kind = 'Agent'
    AND participants.left_at IS NULL
    LIMIT 1) AS working
  ON TRUE
  LEFT JOIN LATERAL
  (SELECT TRUE AS yes
    FROM participants
    CROSS JOIN LATERAL
    (SELECT
      FROM deliveries
      WHERE deliveries.agent_id = participants.participant_id
      AND deliveries.chat_id = participants.chat_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.current_attempt > 0
      AND (deliveries.failed_at IS NOT NULL
        AND deliveries.current_attempt > 0
        AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0))
      LIMIT 1) AS work
    WHERE participants.chat_id = chat.id
    AND participants.kind = 'Agent'
    AND participants.left_at IS NULL
    LIMIT 1) AS failed
  ON TRUE;
SELECT head.chat_id, head.number, head.participant_id, head.kind, head.role, head.status, head.joined_at, head.account_id, users.handle, users.first_name, users.last_name, agents.handle, agents.name, agents.description, agents.kind
  FROM
  (SELECT chat_id, participant_id, kind, role, status, joined_at, account_id, row_number() OVER (PARTITION BY chat_id
      ORDER BY participant_id) AS rank, count(*) OVER (PARTITION BY chat_id) AS number
    FROM participants
    WHERE chat_id = ANY($1)
    AND left_at IS NULL
    AND kind = 'Agent' ) AS head
  LEFT JOIN users
  ON head.kind = 'User'
  AND users.id = head.participant_id
  LEFT JOIN agents
  ON head.kind = 'Agent'
  AND agents.id = head.participant_id
  WHERE head.rank <= 100;

-- a message in a cached chat
SELECT "participants"."participant_id", "participants"."kind", "participants"."role", "participants"."status", "participants"."joined_at", "participants"."account_id", "users"."handle", "users"."first_name", "users"."last_name", "agents"."handle", "agents"."name", "agents"."description", "agents"."kind"
  FROM (("participants"
      LEFT OUTER JOIN "users"
      ON (("participants"."kind" = $1)
        AND ("users"."id" = "participants"."participant_id")))
    LEFT OUTER JOIN "agents"
    ON (("participants"."kind" = $2)
      AND ("agents"."id" = "participants"."participant_id")))
  WHERE (("participants"."chat_id" = $3)
    AND ("participants"."left_at" IS NULL))
  ORDER BY "participants"."joined_at", "participants"."participant_id";
WITH durable AS MATERIALIZED
  (SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') = 'off'), locked AS MATERIALIZED
  (SELECT chats.id, chats.organization_id, seen.max_hops, seen.foreign_policy
    FROM unnest($1, $2, $3, $4) AS seen (id, version, max_hops, foreign_policy)
    JOIN chats
    ON chats.id = seen.id
    WHERE chats.xmin::text = seen.version
    AND chats.deleted_at IS NULL
    FOR NO KEY UPDATE OF chats SKIP LOCKED), guard AS MATERIALIZED
  (SELECT
    (SELECT count(*)
      FROM locked) = $5
    AND
    (SELECT count(*)
      FROM durable) >= 0
    AND NOT EXISTS
    (SELECT 1
      FROM
      (SELECT DISTINCT organization_id AS id, max_hops, foreign_policy
        FROM locked) AS own
      JOIN organizations
      ON organizations.id = own.id
      JOIN plans
      ON plans.name = organizations.plan
      WHERE plans.messages IS NOT NULL OR organizations.content_bytes >= plans.bytes OR organizations.paused_at IS NOT NULL OR organizations.max_hops IS DISTINCT
      FROM own.max_hops OR coalesce(organizations.foreign_policy, 'label') <> own.foreign_policy) AS is_current,
    (SELECT 1
      FROM unnest($6) AS sender (id)
      CROSS JOIN LATERAL
      (SELECT
        FROM deliveries
        WHERE agent_id = sender.id
        AND processed_at IS NULL
        AND dead_at IS NULL
        AND current_attempt > 0
        LIMIT 1) AS open
      LIMIT 1) IS NULL
    AND
    (SELECT 1
      FROM unnest($7) AS pair (id)
      CROSS JOIN LATERAL
      (SELECT
        FROM holds
        WHERE subject_id = pair.id
        AND held_by = 'max_pair_messages'
        AND held_at IS NOT NULL
        LIMIT 1) AS hold
      LIMIT 1) IS NULL
    AND
    (SELECT 1
      FROM organizations
      WHERE foreign_policy = 'hold'
      LIMIT 1) IS NULL AS is_short), message AS (INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, updated_at, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin)
    SELECT new.id, new.chat_id, new.sequence, new.kind, new.content, new.sender_id, new.sender_kind, new.sender_name, new.mentions, new.metadata, new.respond_by, new.created_at, new.created_at, new.cause_id, new.root_id, new.hop, new.originator_id, new.originator_kind, NULL::boolean, new.traceparent, CASE WHEN new.is_foreign THEN new.labels_foreign END
    FROM unnest($8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28) AS new (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, cause_id, root_id, hop, originator_id, originator_kind, traceparent, is_foreign, labels_foreign, counts_attempts)
    WHERE
    (SELECT is_current
      AND is_short
      FROM guard)), delivery AS (INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt)
    SELECT agent_id, chat_id, sequence, TRUE, 0
    FROM unnest($29, $30, $31) AS new (agent_id, chat_id, sequence)
    WHERE
    (SELECT is_current
      AND is_short
      FROM guard)), chat AS (UPDATE chats
    SET last_sequence = new.last_sequence, updated_at = new.at, last_message_at = new.at, content_bytes = new.bytes, texts = new.texts
    FROM unnest($32, $33, $34, $35, $36) AS new (id, last_sequence, at, bytes, texts)
    WHERE chats.id = new.id
    AND
    (SELECT is_current
      AND is_short
      FROM guard)
    RETURNING chats.xmin)
  SELECT
  (SELECT xmin::text
    FROM chat
    LIMIT 1), is_current
  FROM guard;

-- mark as delivered
SELECT id, chat_id, sequence
  FROM messages
  WHERE id = ANY($1);
SELECT id
  FROM messages
  WHERE id = ANY($1)
  ORDER BY id
  FOR NO KEY UPDATE;
UPDATE deliveries
  SET delivered_at = $1
  FROM
  (SELECT *
    FROM unnest($2, $3, $4, $5) AS given (agent_id, chat_id, sequence, message_id)
    ORDER BY agent_id, chat_id, sequence) AS taken
  WHERE deliveries.agent_id = taken.agent_id
  AND deliveries.chat_id = taken.chat_id
  AND deliveries.sequence = taken.sequence
  AND (deliveries.delivered_at IS NULL
    AND deliveries.dead_at IS NULL
    AND deliveries.current_attempt = coalesce(deliveries.restarted_after, 0))
  RETURNING taken.message_id;
SELECT messages.id, messages.chat_id, messages.sequence, messages.kind, messages.content, messages.sender_id, messages.sender_kind, messages.sender_name, messages.mentions, messages.metadata, messages.created_at, messages.updated_at, messages.cause_id, messages.root_id, messages.hop, messages.originator_id, messages.originator_kind, messages.ambiguous_cause, messages.traceparent, messages.foreign_origin, messages.respond_by, messages.attachments, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM messages
  WHERE id = ANY($1)
  ORDER BY chat_id, sequence;
SELECT messages.id, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substring(convert_to(deliveries.error, 'UTF8')
    FROM 1
    FOR 513)
  FROM messages
  CROSS JOIN LATERAL
  (SELECT deliveries.*
    FROM json_array_elements(messages.mentions::json) AS mention
    CROSS JOIN LATERAL
    (SELECT *
      FROM deliveries
      WHERE deliveries.agent_id = (mention ->> 'id')::uuid
      AND deliveries.chat_id = messages.chat_id
      AND deliveries.sequence = messages.sequence
      AND deliveries.addressed OFFSET 0) AS deliveries
    WHERE mention ->> 'of' = 'Agent'
    UNION ALL
    SELECT *
    FROM deliveries
    WHERE NOT deliveries.addressed
    AND deliveries.chat_id = messages.chat_id
    AND deliveries.sequence = messages.sequence) AS deliveries
  WHERE messages.id = ANY($1)
  ORDER BY deliveries.agent_id;

-- next message
SELECT asked.number, member.status,
  (SELECT 1
    FROM deliveries
    WHERE deliveries.agent_id = asked.agent
    AND deliveries.chat_id = asked.chat
    AND deliveries.processed_at IS NULL
    AND deliveries.dead_at IS NULL
    AND deliveries.addressed
    LIMIT 1) IS NOT NULL
  FROM unnest($1, $2) WITH ORDINALITY AS asked (agent, chat, number)
  CROSS JOIN LATERAL
  (SELECT participants.status
    FROM participants
    WHERE participants.chat_id = asked.chat
    AND participants.participant_id = asked.agent
    AND participants.left_at IS NULL OFFSET 0) AS member;
SELECT asked.number, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substring(convert_to(deliveries.error, 'UTF8')
    FROM 1
    FOR 513), messages.id, messages.chat_id, messages.sequence, messages.kind, messages.content, messages.sender_id, messages.sender_kind, messages.sender_name, messages.mentions, messages.metadata, messages.created_at, messages.updated_at, messages.cause_id, messages.root_id, messages.hop, messages.originator_id, messages.originator_kind, messages.ambiguous_cause, messages.traceparent, messages.foreign_origin, messages.respond_by, messages.attachments, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM unnest($1, $2, $3, $4) AS asked (agent, chat, now, number)
  CROSS JOIN LATERAL
  (SELECT participants.participant_id, participants.chat_id
    FROM participants
    WHERE participants.chat_id = asked.chat
    AND participants.participant_id = asked.agent
    AND participants.left_at IS NULL
    AND coalesce(participants.stopped_at, participants.agent_paused_at,
      (SELECT organizations.paused_at
        FROM chats
        JOIN organizations
        ON organizations.id = chats.organization_id
        WHERE chats.id = participants.chat_id)) IS NULL OFFSET 0) AS member
  CROSS JOIN LATERAL
  (SELECT *
    FROM deliveries
    WHERE deliveries.agent_id = member.participant_id
    AND deliveries.chat_id = member.chat_id
    AND deliveries.processed_at IS NULL
    AND deliveries.dead_at IS NULL
    AND deliveries.addressed
    AND (deliveries.claimed_until IS NULL OR deliveries.claimed_until <= asked.now OR NOT (deliveries.failed_at IS NULL
        AND deliveries.current_attempt > 0
        AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0)))
    ORDER BY deliveries.sequence
    LIMIT 1) AS deliveries
  CROSS JOIN LATERAL
  (SELECT *
    FROM messages
    WHERE messages.chat_id = deliveries.chat_id
    AND messages.sequence = deliveries.sequence OFFSET 0) AS messages;

-- begin
SELECT messages.id, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substring(convert_to(deliveries.error, 'UTF8')
    FROM 1
    FOR 513)
  FROM messages
  CROSS JOIN LATERAL
  (SELECT deliveries.*
    FROM json_array_elements(messages.mentions::json) AS mention
    CROSS JOIN LATERAL
    (SELECT *
      FROM deliveries
      WHERE deliveries.agent_id = (mention ->> 'id')::uuid
      AND deliveries.chat_id = messages.chat_id
      AND deliveries.sequence = messages.sequence
      AND deliveries.addressed OFFSET 0) AS deliveries
    WHERE mention ->> 'of' = 'Agent'
    UNION ALL
    SELECT *
    FROM deliveries
    WHERE NOT deliveries.addressed
    AND deliveries.chat_id = messages.chat_id
    AND deliveries.sequence = messages.sequence) AS deliveries
  WHERE messages.id = ANY($1)
  ORDER BY deliveries.agent_id;
SELECT messages.id, messages.chat_id, messages.sequence, messages.kind, messages.content, messages.sender_id, messages.sender_kind, messages.sender_name, messages.mentions, messages.metadata, messages.created_at, messages.updated_at, messages.cause_id, messages.root_id, messages.hop, messages.originator_id, messages.originator_kind, messages.ambiguous_cause, messages.traceparent, messages.foreign_origin, messages.respond_by, messages.attachments, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM messages
  WHERE id = ANY($1)
  ORDER BY id
  FOR NO KEY UPDATE SKIP LOCKED;
SELECT locked.message_id, locked.agent_id, agents.max_attempts, coalesce(agents.exclusive_claims, FALSE)
  FROM
  (SELECT wanted.message_id, wanted.agent_id
    FROM
    (SELECT given.message_id, given.agent_id, place.chat_id, place.sequence
      FROM unnest($1, $2) AS given (message_id, agent_id)
      CROSS JOIN LATERAL
      (SELECT chat_id, sequence
        FROM messages
        WHERE messages.id = given.message_id OFFSET 0) AS place
      ORDER BY given.agent_id, place.chat_id, place.sequence) AS wanted
    CROSS JOIN LATERAL
    (SELECT
      FROM deliveries
      WHERE deliveries.agent_id = wanted.agent_id
      AND deliveries.chat_id = wanted.chat_id
      AND deliveries.sequence = wanted.sequence
      FOR NO KEY UPDATE SKIP LOCKED) AS delivery OFFSET 0) AS locked
  LEFT JOIN agents
  ON agents.id = locked.agent_id;
SELECT member.chat_id, member.participant_id, member.status, member.stopped_at IS NOT NULL OR EXISTS
  (SELECT
    FROM chats
    JOIN organizations
    ON organizations.id = chats.organization_id
    WHERE chats.id = member.chat_id
    AND organizations.paused_at IS NOT NULL OFFSET 0), member.agent_paused_at IS NOT NULL
  FROM unnest($1, $2) AS wanted (chat_id, participant_id)
  CROSS JOIN LATERAL
  (SELECT participants.*
    FROM participants
    WHERE participants.chat_id = wanted.chat_id
    AND participants.participant_id = wanted.participant_id
    AND participants.left_at IS NULL OFFSET 0) AS member;
INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, started_at, processed_at, failed_at, error, dead_at, dead_reason, claimed_until)
  SELECT agent_id, chat_id, sequence, addressed, current_attempt, started_at, processed_at, failed_at, error, dead_at, dead_reason, claimed_until
  FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS new (agent_id, chat_id, sequence, addressed, current_attempt, started_at, processed_at, failed_at, error, dead_at, dead_reason, claimed_until)
  ON CONFLICT (agent_id, chat_id, sequence) DO UPDATE
  SET current_attempt = excluded.current_attempt, started_at = excluded.started_at, processed_at = excluded.processed_at, failed_at = excluded.failed_at, error = CASE WHEN deliveries.current_attempt = excluded.current_attempt THEN coalesce(deliveries.error, excluded.error) ELSE excluded.error END, dead_at = excluded.dead_at, dead_reason = excluded.dead_reason, replaced_by = NULL, held_by = NULL, claimed_until = excluded.claimed_until;

-- a message of an agent at work, which tries the short statement first
SELECT "participants"."participant_id", "participants"."kind", "participants"."role", "participants"."status", "participants"."joined_at", "participants"."account_id", "users"."handle", "users"."first_name", "users"."last_name", "agents"."handle", "agents"."name", "agents"."description", "agents"."kind"
  FROM (("participants"
      LEFT OUTER JOIN "users"
      ON (("participants"."kind" = $1)
        AND ("users"."id" = "participants"."participant_id")))
    LEFT OUTER JOIN "agents"
    ON (("participants"."kind" = $2)
      AND ("agents"."id" = "participants"."participant_id")))
  WHERE (("participants"."chat_id" = $3)
    AND ("participants"."left_at" IS NULL))
  ORDER BY "participants"."joined_at", "participants"."participant_id";
SELECT id, title IS NULL
  AND titled_by IS NULL, last_sequence, deleted_messages, last_message_at, content_bytes, texts, respond_within, max_hops, organization_id, xmin::text
  FROM chats
  WHERE id = ANY($1)
  AND deleted_at IS NULL
  ORDER BY id
  FOR NO KEY UPDATE;
SELECT chats.id, plans.name, plans.messages, plans.bytes, organizations.content_bytes, organizations.paused_at IS NOT NULL, organizations.max_hops, organizations.foreign_policy
  FROM chats
  JOIN organizations
  ON organizations.id = chats.organization_id
  JOIN plans
  ON plans.name = organizations.plan
  WHERE chats.id = ANY($1)
  AND (plans.messages IS NOT NULL OR organizations.content_bytes >= plans.bytes OR organizations.paused_at IS NOT NULL OR organizations.max_hops IS NOT NULL OR organizations.foreign_policy IS NOT NULL);
SELECT member.chat_id, member.participant_id, member.status, member.stopped_at IS NOT NULL OR FALSE, member.agent_paused_at IS NOT NULL
  FROM unnest($1, $2) AS wanted (chat_id, participant_id)
  CROSS JOIN LATERAL
  (SELECT participants.*
    FROM participants
    WHERE participants.chat_id = wanted.chat_id
    AND participants.participant_id = wanted.participant_id
    AND participants.left_at IS NULL OFFSET 0) AS member;
WITH message AS (INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, updated_at, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin)
    SELECT new.id, new.chat_id, new.sequence, new.kind, new.content, new.sender_id, new.sender_kind, new.sender_name, new.mentions, new.metadata, new.respond_by, new.created_at, new.created_at, CASE WHEN new.root_id IS NULL THEN found.cause_id ELSE new.cause_id END, CASE WHEN new.root_id IS NULL THEN found.root_id ELSE new.root_id END, greatest(new.hop, found.hop), CASE WHEN new.root_id IS NULL THEN found.originator_id ELSE new.originator_id END, CASE WHEN new.root_id IS NULL THEN found.originator_kind ELSE new.originator_kind END, CASE WHEN new.root_id IS NULL
    AND (found.ambiguous_cause OR found.root_id IS NULL
      AND new.hop IS NOT NULL) THEN TRUE END, CASE WHEN new.root_id IS NULL
    AND found.traceparent IS NOT NULL
    AND (new.traceparent IS NULL OR substr(new.traceparent, 37, 16) = substr(new.id::text, 20, 4) || substr(new.id::text, 25)) THEN substr(found.traceparent, 1, 36) || substr(new.id::text, 20, 4) || substr(new.id::text, 25) || substr(found.traceparent, 53) ELSE new.traceparent END, CASE WHEN found.is_foreign OR new.is_foreign
    AND (new.root_id IS NOT NULL OR found.root_id IS NULL) THEN new.labels_foreign END
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21) AS new (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, cause_id, root_id, hop, originator_id, originator_kind, traceparent, is_foreign, labels_foreign, counts_attempts)
    CROSS JOIN LATERAL (WITH here AS MATERIALIZED
      (SELECT deliveries.chat_id, deliveries.sequence, (deliveries.failed_at IS NULL
          AND deliveries.current_attempt > 0
          AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0)) AS is_open, TRUE AS is_here
        FROM deliveries
        WHERE new.counts_attempts
        AND deliveries.agent_id = new.sender_id
        AND deliveries.chat_id = new.chat_id
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.current_attempt > 0
        ORDER BY deliveries.sequence DESC
        LIMIT 100)
      SELECT CASE WHEN open = 1
      AND is_complete THEN cause_id END AS cause_id, CASE WHEN open = 1
      AND is_complete THEN root_id END AS root_id, CASE WHEN open > 0 OR NOT is_complete THEN coalesce(hop, 0) END AS hop, CASE WHEN open = 1
      AND is_complete THEN originator_id END AS originator_id, CASE WHEN open = 1
      AND is_complete THEN originator_kind END AS originator_kind, CASE WHEN open > 1 OR NOT is_complete THEN TRUE END AS ambiguous_cause, CASE WHEN open = 1
      AND is_complete THEN traceparent END AS traceparent, coalesce(is_foreign, FALSE) AS is_foreign
      FROM
      (SELECT (array_agg(place.cause_id) FILTER
          (WHERE place.id IS NOT NULL))[1] AS cause_id, (array_agg(place.root_id) FILTER
          (WHERE place.id IS NOT NULL))[1] AS root_id, max(place.hop) AS hop, (array_agg(place.originator_id) FILTER
          (WHERE place.id IS NOT NULL))[1] AS originator_id, max(place.originator_kind) AS originator_kind, max(place.traceparent) AS traceparent, bool_or(place.is_foreign) AS is_foreign, count(place.id) AS open, count(*) < 100 OR coalesce(bool_or(is_here
            AND is_open), FALSE) AS is_complete
        FROM
        (SELECT *
          FROM here
          UNION ALL
          (SELECT deliveries.chat_id, deliveries.sequence, (deliveries.failed_at IS NULL
              AND deliveries.current_attempt > 0
              AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0))
            AND coalesce((SELECT 1 = 1
                FROM participants
                JOIN chats
                ON chats.id = participants.chat_id
                WHERE participants.chat_id = deliveries.chat_id
                AND participants.participant_id = deliveries.agent_id
                AND participants.left_at IS NULL
                AND chats.deleted_at IS NULL
                AND chats.organization_id IS NOT DISTINCT
                FROM
                (SELECT organization_id
                  FROM chats AS own
                  WHERE own.id = new.chat_id)
                LIMIT 1), 1 = 0) AS is_open, FALSE AS is_here
            FROM deliveries
            WHERE new.counts_attempts
            AND deliveries.agent_id = new.sender_id
            AND deliveries.chat_id <> new.chat_id
            AND
            (SELECT count(*) < 100
              FROM here)
            AND NOT EXISTS
            (SELECT
              FROM here
              WHERE here.is_open)
            AND deliveries.processed_at IS NULL
            AND deliveries.dead_at IS NULL
            AND deliveries.current_attempt > 0
            LIMIT 100)) AS examined
        LEFT JOIN LATERAL
        (SELECT id, id AS cause_id, coalesce(root_id, id) AS root_id, least(coalesce(hop, 0), 2147483646) + 1 AS hop, coalesce(originator_id, sender_id) AS originator_id, coalesce(originator_kind, sender_kind) AS originator_kind, traceparent, foreign_origin IS NOT NULL AS is_foreign
          FROM messages
          WHERE messages.chat_id = examined.chat_id
          AND messages.sequence = examined.sequence OFFSET 0) AS place
        ON examined.is_open) AS attempts) AS found
    RETURNING id, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin)
  SELECT id, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin
  FROM message
  WHERE message.root_id IS NOT NULL OR message.ambiguous_cause;
UPDATE chats
  SET last_sequence = new.last_sequence, updated_at = new.at, last_message_at = new.at, content_bytes = new.bytes, texts = new.texts
  FROM unnest($1, $2, $3, $4, $5) AS new (id, last_sequence, at, bytes, texts)
  WHERE chats.id = new.id
  RETURNING chats.xmin::text;

-- the next one
SELECT "participants"."participant_id", "participants"."kind", "participants"."role", "participants"."status", "participants"."joined_at", "participants"."account_id", "users"."handle", "users"."first_name", "users"."last_name", "agents"."handle", "agents"."name", "agents"."description", "agents"."kind"
  FROM (("participants"
      LEFT OUTER JOIN "users"
      ON (("participants"."kind" = $1)
        AND ("users"."id" = "participants"."participant_id")))
    LEFT OUTER JOIN "agents"
    ON (("participants"."kind" = $2)
      AND ("agents"."id" = "participants"."participant_id")))
  WHERE (("participants"."chat_id" = $3)
    AND ("participants"."left_at" IS NULL))
  ORDER BY "participants"."joined_at", "participants"."participant_id";
WITH durable AS MATERIALIZED
  (SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') = 'off'), locked AS MATERIALIZED
  (SELECT chats.id, chats.organization_id, seen.max_hops, seen.foreign_policy
    FROM unnest($1, $2, $3, $4) AS seen (id, version, max_hops, foreign_policy)
    JOIN chats
    ON chats.id = seen.id
    WHERE chats.xmin::text = seen.version
    AND chats.deleted_at IS NULL
    FOR NO KEY UPDATE OF chats SKIP LOCKED), guard AS MATERIALIZED
  (SELECT
    (SELECT count(*)
      FROM locked) = $5
    AND
    (SELECT count(*)
      FROM durable) >= 0
    AND NOT EXISTS
    (SELECT 1
      FROM
      (SELECT DISTINCT organization_id AS id, max_hops, foreign_policy
        FROM locked) AS own
      JOIN organizations
      ON organizations.id = own.id
      JOIN plans
      ON plans.name = organizations.plan
      WHERE plans.messages IS NOT NULL OR organizations.content_bytes >= plans.bytes OR organizations.paused_at IS NOT NULL OR organizations.max_hops IS DISTINCT
      FROM own.max_hops OR coalesce(organizations.foreign_policy, 'label') <> own.foreign_policy) AS is_current,
    (SELECT 1
      FROM unnest($6) AS sender (id)
      CROSS JOIN LATERAL
      (SELECT
        FROM deliveries
        WHERE agent_id = sender.id
        AND processed_at IS NULL
        AND dead_at IS NULL
        AND current_attempt > 0
        LIMIT 1) AS open
      LIMIT 1) IS NULL
    AND
    (SELECT 1
      FROM unnest($7) AS pair (id)
      CROSS JOIN LATERAL
      (SELECT
        FROM holds
        WHERE subject_id = pair.id
        AND held_by = 'max_pair_messages'
        AND held_at IS NOT NULL
        LIMIT 1) AS hold
      LIMIT 1) IS NULL
    AND
    (SELECT 1
      FROM organizations
      WHERE foreign_policy = 'hold'
      LIMIT 1) IS NULL AS is_short), message AS (INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, updated_at, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin)
    SELECT new.id, new.chat_id, new.sequence, new.kind, new.content, new.sender_id, new.sender_kind, new.sender_name, new.mentions, new.metadata, new.respond_by, new.created_at, new.created_at, new.cause_id, new.root_id, new.hop, new.originator_id, new.originator_kind, NULL::boolean, new.traceparent, CASE WHEN new.is_foreign THEN new.labels_foreign END
    FROM unnest($8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28) AS new (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, cause_id, root_id, hop, originator_id, originator_kind, traceparent, is_foreign, labels_foreign, counts_attempts)
    WHERE
    (SELECT is_current
      AND is_short
      FROM guard)), delivery AS (INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt)
    SELECT agent_id, chat_id, sequence, TRUE, 0
    FROM unnest($29, $30, $31) AS new (agent_id, chat_id, sequence)
    WHERE
    (SELECT is_current
      AND is_short
      FROM guard)), chat AS (UPDATE chats
    SET last_sequence = new.last_sequence, updated_at = new.at, last_message_at = new.at, content_bytes = new.bytes, texts = new.texts
    FROM unnest($32, $33, $34, $35, $36) AS new (id, last_sequence, at, bytes, texts)
    WHERE chats.id = new.id
    AND
    (SELECT is_current
      AND is_short
      FROM guard)
    RETURNING chats.xmin)
  SELECT
  (SELECT xmin::text
    FROM chat
    LIMIT 1), is_current
  FROM guard;
WITH durable AS MATERIALIZED
  (SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') = 'off'), locked AS MATERIALIZED
  (SELECT chats.id, chats.organization_id, seen.max_hops, seen.foreign_policy
    FROM unnest($1, $2, $3, $4) AS seen (id, version, max_hops, foreign_policy)
    JOIN chats
    ON chats.id = seen.id
    WHERE chats.xmin::text = seen.version
    AND chats.deleted_at IS NULL
    FOR NO KEY UPDATE OF chats SKIP LOCKED), guard AS MATERIALIZED
  (SELECT
    (SELECT count(*)
      FROM locked) = $5
    AND
    (SELECT count(*)
      FROM durable) >= 0
    AND NOT EXISTS
    (SELECT 1
      FROM
      (SELECT DISTINCT organization_id AS id, max_hops, foreign_policy
        FROM locked) AS own
      JOIN organizations
      ON organizations.id = own.id
      JOIN plans
      ON plans.name = organizations.plan
      WHERE plans.messages IS NOT NULL OR organizations.content_bytes >= plans.bytes OR organizations.paused_at IS NOT NULL OR organizations.max_hops IS DISTINCT
      FROM own.max_hops OR coalesce(organizations.foreign_policy, 'label') <> own.foreign_policy)
    AND NOT EXISTS
    (SELECT addressed.id, organizations.id, coalesce(organizations.foreign_policy = 'hold', FALSE)
      FROM
      (SELECT mentioned.id,
        (SELECT organization_id
          FROM users
          WHERE users.id =
          (SELECT owner_id
            FROM agents
            WHERE agents.id = mentioned.id)) AS organization_id
        FROM unnest($6) AS mentioned (id) OFFSET 0) AS addressed
      JOIN organizations
      ON organizations.id = addressed.organization_id
      AND (organizations.foreign_policy = 'hold' OR organizations.id = ANY($7))
      WHERE cardinality($8) > 0 OR
      (SELECT 1
        FROM organizations AS any_other
        WHERE any_other.foreign_policy = 'hold'
        LIMIT 1) IS NOT NULL) AS may_write), message AS (INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, updated_at, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin)
    SELECT new.id, new.chat_id, new.sequence, new.kind, new.content, new.sender_id, new.sender_kind, new.sender_name, new.mentions, new.metadata, new.respond_by, new.created_at, new.created_at, CASE WHEN new.root_id IS NULL THEN found.cause_id ELSE new.cause_id END, CASE WHEN new.root_id IS NULL THEN found.root_id ELSE new.root_id END, greatest(new.hop, found.hop), CASE WHEN new.root_id IS NULL THEN found.originator_id ELSE new.originator_id END, CASE WHEN new.root_id IS NULL THEN found.originator_kind ELSE new.originator_kind END, CASE WHEN new.root_id IS NULL
    AND (found.ambiguous_cause OR found.root_id IS NULL
      AND new.hop IS NOT NULL) THEN TRUE END, CASE WHEN new.root_id IS NULL
    AND found.traceparent IS NOT NULL
    AND (new.traceparent IS NULL OR substr(new.traceparent, 37, 16) = substr(new.id::text, 20, 4) || substr(new.id::text, 25)) THEN substr(found.traceparent, 1, 36) || substr(new.id::text, 20, 4) || substr(new.id::text, 25) || substr(found.traceparent, 53) ELSE new.traceparent END, CASE WHEN found.is_foreign OR new.is_foreign
    AND (new.root_id IS NOT NULL OR found.root_id IS NULL) THEN new.labels_foreign END
    FROM unnest($9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29) AS new (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, respond_by, created_at, cause_id, root_id, hop, originator_id, originator_kind, traceparent, is_foreign, labels_foreign, counts_attempts)
    CROSS JOIN LATERAL (WITH here AS MATERIALIZED
      (SELECT deliveries.chat_id, deliveries.sequence, (deliveries.failed_at IS NULL
          AND deliveries.current_attempt > 0
          AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0)) AS is_open, TRUE AS is_here
        FROM deliveries
        WHERE new.counts_attempts
        AND deliveries.agent_id = new.sender_id
        AND deliveries.chat_id = new.chat_id
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.current_attempt > 0
        ORDER BY deliveries.sequence DESC
        LIMIT 100)
      SELECT CASE WHEN open = 1
      AND is_complete THEN cause_id END AS cause_id, CASE WHEN open = 1
      AND is_complete THEN root_id END AS root_id, CASE WHEN open > 0 OR NOT is_complete THEN coalesce(hop, 0) END AS hop, CASE WHEN open = 1
      AND is_complete THEN originator_id END AS originator_id, CASE WHEN open = 1
      AND is_complete THEN originator_kind END AS originator_kind, CASE WHEN open > 1 OR NOT is_complete THEN TRUE END AS ambiguous_cause, CASE WHEN open = 1
      AND is_complete THEN traceparent END AS traceparent, coalesce(is_foreign, FALSE) AS is_foreign
      FROM
      (SELECT (array_agg(place.cause_id) FILTER
          (WHERE place.id IS NOT NULL))[1] AS cause_id, (array_agg(place.root_id) FILTER
          (WHERE place.id IS NOT NULL))[1] AS root_id, max(place.hop) AS hop, (array_agg(place.originator_id) FILTER
          (WHERE place.id IS NOT NULL))[1] AS originator_id, max(place.originator_kind) AS originator_kind, max(place.traceparent) AS traceparent, bool_or(place.is_foreign) AS is_foreign, count(place.id) AS open, count(*) < 100 OR coalesce(bool_or(is_here
            AND is_open), FALSE) AS is_complete
        FROM
        (SELECT *
          FROM here
          UNION ALL
          (SELECT deliveries.chat_id, deliveries.sequence, (deliveries.failed_at IS NULL
              AND deliveries.current_attempt > 0
              AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0))
            AND coalesce((SELECT 1 = 1
                FROM participants
                JOIN chats
                ON chats.id = participants.chat_id
                WHERE participants.chat_id = deliveries.chat_id
                AND participants.participant_id = deliveries.agent_id
                AND participants.left_at IS NULL
                AND chats.deleted_at IS NULL
                AND chats.organization_id IS NOT DISTINCT
                FROM
                (SELECT organization_id
                  FROM chats AS own
                  WHERE own.id = new.chat_id)
                LIMIT 1), 1 = 0) AS is_open, FALSE AS is_here
            FROM deliveries
            WHERE new.counts_attempts
            AND deliveries.agent_id = new.sender_id
            AND deliveries.chat_id <> new.chat_id
            AND
            (SELECT count(*) < 100
              FROM here)
            AND NOT EXISTS
            (SELECT
              FROM here
              WHERE here.is_open)
            AND deliveries.processed_at IS NULL
            AND deliveries.dead_at IS NULL
            AND deliveries.current_attempt > 0
            LIMIT 100)) AS examined
        LEFT JOIN LATERAL
        (SELECT id, id AS cause_id, coalesce(root_id, id) AS root_id, least(coalesce(hop, 0), 2147483646) + 1 AS hop, coalesce(originator_id, sender_id) AS originator_id, coalesce(originator_kind, sender_kind) AS originator_kind, traceparent, foreign_origin IS NOT NULL AS is_foreign
          FROM messages
          WHERE messages.chat_id = examined.chat_id
          AND messages.sequence = examined.sequence OFFSET 0) AS place
        ON examined.is_open) AS attempts) AS found
    WHERE
    (SELECT may_write
      FROM guard)
    RETURNING id, chat_id, sequence, created_at, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin), held AS MATERIALIZED
  (SELECT message.id, message.chat_id, message.sequence, message.created_at, coalesce(message.root_id, message.chat_id) AS subject_id, limited.max_hops, CASE WHEN message.hop > limited.max_hops
    AND message.hop > coalesce(deep.allowed, 0) THEN 'max_hops' WHEN full_tree.subject_id IS NOT NULL THEN 'max_tree_messages' ELSE 'max_pair_messages' END AS held_by
    FROM message
    JOIN unnest($30, $31) AS limited (id, max_hops)
    ON limited.id = message.id
    LEFT JOIN holds AS deep
    ON deep.subject_id = coalesce(message.root_id, message.chat_id)
    AND deep.held_by = 'max_hops'
    LEFT JOIN holds AS full_tree
    ON full_tree.subject_id = message.root_id
    AND full_tree.held_by = 'max_tree_messages'
    AND full_tree.held_at IS NOT NULL
    LEFT JOIN
    (SELECT paired.id, max(holds.held_at) AS held_at
      FROM unnest($32, $33) AS paired (id, subject_id)
      JOIN holds
      ON holds.subject_id = paired.subject_id
      AND holds.held_by = 'max_pair_messages' GROUP BY paired.id) AS pair
    ON pair.id = message.id
    AND message.root_id IS NULL
    AND pair.held_at > message.created_at - interval '600 seconds'
    WHERE message.hop > limited.max_hops
    AND message.hop > coalesce(deep.allowed, 0) OR full_tree.subject_id IS NOT NULL OR pair.id IS NOT NULL), hold AS (INSERT INTO holds (subject_id, held_by, chat_id, message_id, bound, held_at)
    SELECT DISTINCT
    ON (subject_id) subject_id, held_by, chat_id, id, max_hops, created_at
    FROM held
    WHERE held_by = 'max_hops'
    ORDER BY subject_id, created_at, sequence
    ON CONFLICT (subject_id, held_by) DO UPDATE
    SET chat_id = excluded.chat_id, message_id = excluded.message_id, bound = excluded.bound, held_at = excluded.held_at, noticed_at = NULL
    WHERE holds.held_at IS NULL OR holds.held_by = 'max_pair_messages'
    AND holds.held_at <= excluded.held_at - interval '600 seconds'), delivery AS (INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, dead_at, dead_reason, held_by)
    SELECT new.agent_id, new.chat_id, new.sequence, TRUE, 0, held.created_at, CASE held.held_by WHEN 'max_hops' THEN 'held: too many messages lead from the first one to this one' WHEN 'max_tree_messages' THEN 'held: too many messages have followed from the first one' WHEN 'max_pair_messages' THEN 'held: two agents have sent each other too many messages' END, held.held_by
    FROM unnest($34, $35, $36) AS new (agent_id, chat_id, sequence)
    LEFT JOIN held
    ON held.chat_id = new.chat_id
    AND held.sequence = new.sequence
    WHERE
    (SELECT may_write
      FROM guard)), chat AS (UPDATE chats
    SET last_sequence = new.last_sequence, updated_at = new.at, last_message_at = new.at, content_bytes = new.bytes, texts = new.texts
    FROM unnest($37, $38, $39, $40, $41) AS new (id, last_sequence, at, bytes, texts)
    WHERE chats.id = new.id
    AND
    (SELECT may_write
      FROM guard)
    RETURNING chats.xmin)
  SELECT xmin::text, message.id, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin, message.held_by
  FROM
  (SELECT xmin
    FROM chat
    LIMIT 1) AS written
  LEFT JOIN
  (SELECT message.*, held.held_by
    FROM message
    LEFT JOIN held
    ON held.id = message.id) AS message
  ON message.root_id IS NOT NULL OR message.ambiguous_cause OR message.held_by IS NOT NULL;

-- context
WITH listed AS
  (SELECT sequence, count(*) OVER () AS number
    FROM
    ((SELECT sequence
        FROM messages
        WHERE chat_id = $1
        AND sender_kind = 'Agent'
        AND (sender_id, sequence) > ($2, $3)
        AND (sender_id, sequence) <= ($4, 9223372036854775807)
        ORDER BY sender_id, sequence
        LIMIT $5)
      UNION
      (SELECT sequence
        FROM deliveries
        WHERE chat_id = $6
        AND agent_id = $7
        AND sequence > $8
        AND addressed
        ORDER BY sequence
        LIMIT $9)
      ORDER BY sequence
      LIMIT $10 OFFSET $11) AS page)
  SELECT part.*
  FROM participants
  LEFT JOIN LATERAL
  (SELECT messages.number, messages.id, messages.chat_id, messages.sequence, messages.kind, messages.content, messages.sender_id, messages.sender_kind, messages.sender_name, messages.mentions, messages.metadata, messages.created_at, messages.updated_at, messages.cause_id, messages.root_id, messages.hop, messages.originator_id, messages.originator_kind, messages.ambiguous_cause, messages.traceparent, messages.foreign_origin, messages.respond_by, messages.attachments, (CASE sender_kind WHEN 'User' THEN
      (SELECT handle
        FROM users
        WHERE users.id = sender_id) ELSE
      (SELECT handle
        FROM agents
        WHERE agents.id = sender_id) END), deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substring(convert_to(deliveries.error, 'UTF8')
      FROM 1
      FOR 513)
    FROM
    (SELECT messages.*, listed.number, sum(800 + octet_length(messages.content) + 2 * octet_length(messages.mentions) + coalesce(octet_length(messages.metadata), 0)) OVER
      (ORDER BY messages.sequence ASC ROWS BETWEEN UNBOUNDED PRECEDING
        AND 1 PRECEDING) AS before
      FROM listed
      CROSS JOIN LATERAL
      (SELECT *
        FROM messages
        WHERE messages.chat_id = $12
        AND messages.sequence = listed.sequence OFFSET 0) AS messages) AS messages
    LEFT JOIN LATERAL
    (SELECT *
      FROM deliveries
      WHERE deliveries.agent_id = $13
      AND deliveries.chat_id = messages.chat_id
      AND deliveries.sequence = messages.sequence OFFSET 0) AS deliveries
    ON TRUE
    WHERE coalesce(messages.before, 0) <= $14) AS part
  ON TRUE
  WHERE participants.chat_id = $15
  AND participants.participant_id = $16
  AND participants.left_at IS NULL
  ORDER BY part.sequence ASC;

-- a page of messages
SELECT "participants"."chat_id", "participants"."participant_id", "participants"."kind", "participants"."role", "participants"."status", "chats"."id", "chats"."title", "chats"."task_id", "chats"."kind", "chats"."status", "chats"."created_at", "chats"."updated_at", "chats"."last_message_at", "chats"."respond_within", "chats"."max_hops", "chats"."last_sequence"
  FROM ("participants"
    INNER JOIN "chats"
    ON ("participants"."chat_id" = "chats"."id"))
  WHERE (((("participants"."chat_id" = $1)
        AND ("participants"."left_at" IS NULL))
      AND ("chats"."deleted_at" IS NULL))
    AND ("participants"."account_id" = $2))
  ORDER BY "participants"."participant_id";
SELECT sequence
  FROM messages
  WHERE chat_id = $1
  AND sequence > $2
  AND sequence < $3
  ORDER BY sequence DESC
  LIMIT $4 OFFSET $5;
SELECT messages.id, messages.chat_id, messages.sequence, messages.kind, messages.content, messages.sender_id, messages.sender_kind, messages.sender_name, messages.mentions, messages.metadata, messages.created_at, messages.updated_at, messages.cause_id, messages.root_id, messages.hop, messages.originator_id, messages.originator_kind, messages.ambiguous_cause, messages.traceparent, messages.foreign_origin, messages.respond_by, messages.attachments, (CASE sender_kind WHEN 'User' THEN
    (SELECT handle
      FROM users
      WHERE users.id = sender_id) ELSE
    (SELECT handle
      FROM agents
      WHERE agents.id = sender_id) END)
  FROM
  (SELECT messages.*, sum(800 + octet_length(messages.content) + 2 * octet_length(messages.mentions) + coalesce(octet_length(messages.metadata), 0)) OVER
    (ORDER BY messages.sequence DESC ROWS BETWEEN UNBOUNDED PRECEDING
      AND 1 PRECEDING) AS before
    FROM messages
    WHERE chat_id = $1
    AND sequence = ANY($2)) AS messages
  WHERE coalesce(before, 0) <= $3
  ORDER BY sequence DESC;
SELECT messages.id, deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until, substring(convert_to(deliveries.error, 'UTF8')
    FROM 1
    FOR 513)
  FROM messages
  CROSS JOIN LATERAL
  (SELECT deliveries.*
    FROM json_array_elements(messages.mentions::json) AS mention
    CROSS JOIN LATERAL
    (SELECT *
      FROM deliveries
      WHERE deliveries.agent_id = (mention ->> 'id')::uuid
      AND deliveries.chat_id = messages.chat_id
      AND deliveries.sequence = messages.sequence
      AND deliveries.addressed OFFSET 0) AS deliveries
    WHERE mention ->> 'of' = 'Agent'
    UNION ALL
    SELECT *
    FROM deliveries
    WHERE NOT deliveries.addressed
    AND deliveries.chat_id = messages.chat_id
    AND deliveries.sequence = messages.sequence) AS deliveries
  WHERE messages.chat_id = $1
  AND messages.sequence = ANY($2)
  ORDER BY deliveries.agent_id;
