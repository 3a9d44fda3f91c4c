-- Written by a test, with PARLANCE_UPDATE_SQL=1.

-- read the agents
SELECT webhooks.agent_id, agents.owner_id, users.organization_id
  FROM webhooks
  JOIN agents
  ON agents.id = webhooks.agent_id
  JOIN users
  ON users.id = agents.owner_id
  WHERE webhooks.disabled_at IS NULL;
-- SCAN webhooks;
-- SEARCH agents USING INDEX sqlite_autoindex_agents_1 (id=?);
-- SEARCH users USING INDEX sqlite_autoindex_users_1 (id=?);
SELECT EXISTS
  (SELECT `organization_webhooks`.`organization_id`, `organization_webhooks`.`url`, `organization_webhooks`.`secret`, `organization_webhooks`.`previous_secret`, `organization_webhooks`.`previous_until`, `organization_webhooks`.`earlier_secret`, `organization_webhooks`.`earlier_until`, `organization_webhooks`.`failing_since`, `organization_webhooks`.`warned_at`, `organization_webhooks`.`disabled_at`, `organization_webhooks`.`disabled_reason`, `organization_webhooks`.`created_at`, `organization_webhooks`.`updated_at`, `organization_webhooks`.`events`, `organization_webhooks`.`seen_number`
    FROM `organization_webhooks`
    WHERE (`organization_webhooks`.`disabled_at` IS NULL));
-- SCAN CONSTANT ROW;
-- SCALAR SUBQUERY 1;
-- SCAN organization_webhooks;

-- find a webhook
SELECT `webhooks`.`agent_id`, `webhooks`.`url`, `webhooks`.`secret`, `webhooks`.`previous_secret`, `webhooks`.`previous_until`, `webhooks`.`earlier_secret`, `webhooks`.`earlier_until`, `webhooks`.`failing_since`, `webhooks`.`warned_at`, `webhooks`.`disabled_at`, `webhooks`.`disabled_reason`, `webhooks`.`created_at`, `webhooks`.`updated_at`
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);

-- find rooms with new messages
WITH RECURSIVE room (agent_id, chat_id, found) AS
  (SELECT webhooks.agent_id,
    (SELECT deliveries.chat_id
      FROM deliveries INDEXED BY deliveries_open
      WHERE deliveries.agent_id = webhooks.agent_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      ORDER BY deliveries.chat_id
      LIMIT 1), 0
    FROM webhooks
    CROSS JOIN agents
    CROSS JOIN users
    WHERE agents.id = webhooks.agent_id
    AND agents.deleted_at IS NULL
    AND agents.disabled_at IS NULL
    AND users.id = agents.owner_id
    AND users.disabled_at IS NULL
    AND webhooks.disabled_at IS NULL
    UNION ALL
    SELECT room.agent_id,
    (SELECT deliveries.chat_id
      FROM deliveries INDEXED BY deliveries_open
      WHERE deliveries.agent_id = room.agent_id
      AND deliveries.chat_id > room.chat_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      ORDER BY deliveries.chat_id
      LIMIT 1), room.found + CASE WHEN
    (SELECT 1
      FROM participants
      JOIN chats
      ON chats.id = participants.chat_id
      AND chats.deleted_at IS NULL
      LEFT JOIN organizations
      ON organizations.id = chats.organization_id
      WHERE participants.chat_id = room.chat_id
      AND participants.participant_id = room.agent_id
      AND participants.left_at IS NULL
      AND participants.stopped_at IS NULL
      AND participants.agent_paused_at IS NULL
      AND organizations.paused_at IS NULL
      LIMIT 1) IS NOT NULL
    AND
    ((SELECT 1
        FROM webhook_deliveries AS begun
        WHERE begun.agent_id = room.agent_id
        AND begun.chat_id = room.chat_id
        AND begun.ended_at IS NULL
        AND (begun.leased_until IS NOT NULL OR EXISTS
          (SELECT 1
            FROM deliveries AS kept
            WHERE kept.agent_id = begun.agent_id
            AND kept.chat_id = begun.chat_id
            AND kept.sequence = begun.sequence
            AND kept.processed_at IS NULL
            AND kept.dead_at IS NULL
            AND (kept.restarted_at IS NULL OR begun.created_at >= kept.restarted_at)))
        LIMIT 1) IS NULL
      AND EXISTS
      (SELECT deliveries.sequence
        FROM deliveries INDEXED BY deliveries_open
        WHERE deliveries.agent_id = room.agent_id
        AND deliveries.chat_id = room.chat_id
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.addressed = 1
        AND deliveries.sequence > coalesce((SELECT sent.sequence
            FROM webhook_deliveries AS sent
            WHERE sent.agent_id = room.agent_id
            AND sent.chat_id = room.chat_id
            ORDER BY sent.sequence DESC
            LIMIT 1), 0)) OR EXISTS
      (SELECT deliveries.sequence
        FROM deliveries INDEXED BY deliveries_offered_again
        WHERE deliveries.agent_id = room.agent_id
        AND deliveries.chat_id = room.chat_id
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.addressed = 1
        AND deliveries.restarted_at IS NOT NULL
        AND
        (SELECT 1
          FROM webhook_deliveries AS sent
          WHERE sent.agent_id = deliveries.agent_id
          AND sent.chat_id = deliveries.chat_id
          AND sent.sequence = deliveries.sequence
          AND sent.created_at >= deliveries.restarted_at
          LIMIT 1) IS NULL
        AND
        (SELECT 1
          FROM webhook_deliveries AS begun
          WHERE begun.agent_id = room.agent_id
          AND begun.chat_id = room.chat_id
          AND begun.ended_at IS NULL
          AND (begun.leased_until IS NOT NULL OR begun.sequence <= deliveries.sequence
            AND EXISTS
            (SELECT 1
              FROM deliveries AS kept
              WHERE kept.agent_id = begun.agent_id
              AND kept.chat_id = begun.chat_id
              AND kept.sequence = begun.sequence
              AND kept.processed_at IS NULL
              AND kept.dead_at IS NULL
              AND (kept.restarted_at IS NULL OR begun.created_at >= kept.restarted_at)))
          LIMIT 1) IS NULL)) THEN 1 ELSE 0 END
    FROM room
    WHERE room.chat_id IS NOT NULL
    AND room.found < 16)
  SELECT room.agent_id, room.chat_id
  FROM room
  WHERE room.chat_id IS NOT NULL
  AND room.found < 16
  AND CASE WHEN
  (SELECT 1
    FROM participants
    JOIN chats
    ON chats.id = participants.chat_id
    AND chats.deleted_at IS NULL
    LEFT JOIN organizations
    ON organizations.id = chats.organization_id
    WHERE participants.chat_id = room.chat_id
    AND participants.participant_id = room.agent_id
    AND participants.left_at IS NULL
    AND participants.stopped_at IS NULL
    AND participants.agent_paused_at IS NULL
    AND organizations.paused_at IS NULL
    LIMIT 1) IS NOT NULL
  AND
  ((SELECT 1
      FROM webhook_deliveries AS begun
      WHERE begun.agent_id = room.agent_id
      AND begun.chat_id = room.chat_id
      AND begun.ended_at IS NULL
      AND (begun.leased_until IS NOT NULL OR EXISTS
        (SELECT 1
          FROM deliveries AS kept
          WHERE kept.agent_id = begun.agent_id
          AND kept.chat_id = begun.chat_id
          AND kept.sequence = begun.sequence
          AND kept.processed_at IS NULL
          AND kept.dead_at IS NULL
          AND (kept.restarted_at IS NULL OR begun.created_at >= kept.restarted_at)))
      LIMIT 1) IS NULL
    AND EXISTS
    (SELECT deliveries.sequence
      FROM deliveries INDEXED BY deliveries_open
      WHERE deliveries.agent_id = room.agent_id
      AND deliveries.chat_id = room.chat_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.sequence > coalesce((SELECT sent.sequence
          FROM webhook_deliveries AS sent
          WHERE sent.agent_id = room.agent_id
          AND sent.chat_id = room.chat_id
          ORDER BY sent.sequence DESC
          LIMIT 1), 0)) OR EXISTS
    (SELECT deliveries.sequence
      FROM deliveries INDEXED BY deliveries_offered_again
      WHERE deliveries.agent_id = room.agent_id
      AND deliveries.chat_id = room.chat_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.restarted_at IS NOT NULL
      AND
      (SELECT 1
        FROM webhook_deliveries AS sent
        WHERE sent.agent_id = deliveries.agent_id
        AND sent.chat_id = deliveries.chat_id
        AND sent.sequence = deliveries.sequence
        AND sent.created_at >= deliveries.restarted_at
        LIMIT 1) IS NULL
      AND
      (SELECT 1
        FROM webhook_deliveries AS begun
        WHERE begun.agent_id = room.agent_id
        AND begun.chat_id = room.chat_id
        AND begun.ended_at IS NULL
        AND (begun.leased_until IS NOT NULL OR begun.sequence <= deliveries.sequence
          AND EXISTS
          (SELECT 1
            FROM deliveries AS kept
            WHERE kept.agent_id = begun.agent_id
            AND kept.chat_id = begun.chat_id
            AND kept.sequence = begun.sequence
            AND kept.processed_at IS NULL
            AND kept.dead_at IS NULL
            AND (kept.restarted_at IS NULL OR begun.created_at >= kept.restarted_at)))
        LIMIT 1) IS NULL)) THEN 1 ELSE 0 END = 1
  LIMIT ?;
-- CO-ROUTINE room;
-- SETUP;
-- SCAN webhooks;
-- SEARCH agents USING INDEX sqlite_autoindex_agents_1 (id=?);
-- SEARCH users USING INDEX sqlite_autoindex_users_1 (id=?);
-- CORRELATED SCALAR SUBQUERY 1;
-- SEARCH deliveries USING INDEX deliveries_open (agent_id=?);
-- RECURSIVE STEP;
-- SCAN room;
-- CORRELATED SCALAR SUBQUERY 3;
-- SEARCH deliveries USING INDEX deliveries_open (agent_id=?, chat_id>?);
-- CORRELATED SCALAR SUBQUERY 4;
-- SEARCH participants USING PRIMARY KEY (chat_id=?, participant_id=?);
-- SEARCH chats USING INDEX sqlite_autoindex_chats_1 (id=?);
-- SEARCH organizations USING INDEX sqlite_autoindex_organizations_1 (id=?) LEFT-JOIN;
-- CORRELATED SCALAR SUBQUERY 6;
-- SEARCH begun USING INDEX webhook_deliveries_in_room (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 5;
-- SEARCH kept USING PRIMARY KEY (agent_id=?, chat_id=?, sequence=?);
-- CORRELATED SCALAR SUBQUERY 8;
-- SEARCH deliveries USING INDEX deliveries_open (agent_id=?, chat_id=?, sequence>?);
-- CORRELATED SCALAR SUBQUERY 7;
-- SEARCH sent USING COVERING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 12;
-- SEARCH deliveries USING INDEX deliveries_offered_again (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 9;
-- SEARCH sent USING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?, sequence=?);
-- CORRELATED SCALAR SUBQUERY 11;
-- SEARCH begun USING INDEX webhook_deliveries_in_room (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 10;
-- SEARCH kept USING PRIMARY KEY (agent_id=?, chat_id=?, sequence=?);
-- SCAN room;
-- CORRELATED SCALAR SUBQUERY 14;
-- SEARCH participants USING PRIMARY KEY (chat_id=?, participant_id=?);
-- SEARCH chats USING INDEX sqlite_autoindex_chats_1 (id=?);
-- SEARCH organizations USING INDEX sqlite_autoindex_organizations_1 (id=?) LEFT-JOIN;
-- CORRELATED SCALAR SUBQUERY 16;
-- SEARCH begun USING INDEX webhook_deliveries_in_room (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 15;
-- SEARCH kept USING PRIMARY KEY (agent_id=?, chat_id=?, sequence=?);
-- CORRELATED SCALAR SUBQUERY 18;
-- SEARCH deliveries USING INDEX deliveries_open (agent_id=?, chat_id=?, sequence>?);
-- CORRELATED SCALAR SUBQUERY 17;
-- SEARCH sent USING COVERING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 22;
-- SEARCH deliveries USING INDEX deliveries_offered_again (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 19;
-- SEARCH sent USING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?, sequence=?);
-- CORRELATED SCALAR SUBQUERY 21;
-- SEARCH begun USING INDEX webhook_deliveries_in_room (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 20;
-- SEARCH kept USING PRIMARY KEY (agent_id=?, chat_id=?, sequence=?);

-- take a new message
SELECT `webhooks`.`agent_id`, `webhooks`.`url`, `webhooks`.`secret`, `webhooks`.`previous_secret`, `webhooks`.`previous_until`, `webhooks`.`earlier_secret`, `webhooks`.`earlier_until`, `webhooks`.`failing_since`, `webhooks`.`warned_at`, `webhooks`.`disabled_at`, `webhooks`.`disabled_reason`, `webhooks`.`created_at`, `webhooks`.`updated_at`
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);
SELECT `webhook_deliveries`.`id`, `webhook_deliveries`.`agent_id`, `webhook_deliveries`.`chat_id`, `webhook_deliveries`.`sequence`, `webhook_deliveries`.`message_id`, `webhook_deliveries`.`created_at`, `webhook_deliveries`.`attempts`, `webhook_deliveries`.`next_attempt_at`, `webhook_deliveries`.`leased_until`, `webhook_deliveries`.`attempted_at`, `webhook_deliveries`.`status`, `webhook_deliveries`.`error`, `webhook_deliveries`.`ended_at`, `webhook_deliveries`.`outcome`
  FROM `webhook_deliveries`
  WHERE (((`webhook_deliveries`.`agent_id` = ?)
      AND (`webhook_deliveries`.`chat_id` = ?))
    AND (`webhook_deliveries`.`ended_at` IS NULL));
-- SEARCH webhook_deliveries USING INDEX webhook_deliveries_in_room (agent_id=?, chat_id=?);
SELECT min(unsent.sequence) AS sequence
  FROM
  (SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries INDEXED BY deliveries_open
      WHERE deliveries.agent_id = ?
      AND deliveries.chat_id = ?
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.sequence > coalesce((SELECT sent.sequence
          FROM webhook_deliveries AS sent
          WHERE sent.agent_id = ?
          AND sent.chat_id = ?
          ORDER BY sent.sequence DESC
          LIMIT 1), 0)
      ORDER BY deliveries.sequence
      LIMIT 1) AS fresh
    UNION ALL
    SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries INDEXED BY deliveries_offered_again
      WHERE deliveries.agent_id = ?
      AND deliveries.chat_id = ?
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.restarted_at IS NOT NULL
      AND
      (SELECT 1
        FROM webhook_deliveries AS sent
        WHERE sent.agent_id = deliveries.agent_id
        AND sent.chat_id = deliveries.chat_id
        AND sent.sequence = deliveries.sequence
        AND sent.created_at >= deliveries.restarted_at
        LIMIT 1) IS NULL
      ORDER BY deliveries.sequence
      LIMIT 1) AS again) AS unsent;
-- CO-ROUTINE unsent;
-- COMPOUND QUERY;
-- LEFT-MOST SUBQUERY;
-- CO-ROUTINE fresh;
-- SEARCH deliveries USING INDEX deliveries_open (agent_id=?, chat_id=?, sequence>?);
-- SCALAR SUBQUERY 1;
-- SEARCH sent USING COVERING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?);
-- SCAN fresh;
--
  UNION ALL;
-- CO-ROUTINE again;
-- SEARCH deliveries USING INDEX deliveries_offered_again (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 4;
-- SEARCH sent USING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?, sequence=?);
-- SCAN again;
-- SEARCH unsent;

-- renew leases
UPDATE `webhook_deliveries`
  SET `leased_until` = ?, `next_attempt_at` = ?
  WHERE (((`webhook_deliveries`.`id` = ?)
      AND (`webhook_deliveries`.`attempts` = ?))
    AND (`webhook_deliveries`.`leased_until` IS NOT NULL));
-- SEARCH webhook_deliveries USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
UPDATE `organization_webhook_deliveries`
  SET `leased_until` = ?, `next_attempt_at` = ?
  WHERE (((`organization_webhook_deliveries`.`id` = ?)
      AND (`organization_webhook_deliveries`.`attempts` = ?))
    AND (`organization_webhook_deliveries`.`leased_until` IS NOT NULL));
-- SEARCH organization_webhook_deliveries USING INDEX sqlite_autoindex_organization_webhook_deliveries_1 (id=?);

-- settle
SELECT `webhook_deliveries`.`id`, `webhook_deliveries`.`agent_id`, `webhook_deliveries`.`chat_id`, `webhook_deliveries`.`sequence`, `webhook_deliveries`.`message_id`, `webhook_deliveries`.`created_at`, `webhook_deliveries`.`attempts`, `webhook_deliveries`.`next_attempt_at`, `webhook_deliveries`.`leased_until`, `webhook_deliveries`.`attempted_at`, `webhook_deliveries`.`status`, `webhook_deliveries`.`error`, `webhook_deliveries`.`ended_at`, `webhook_deliveries`.`outcome`
  FROM `webhook_deliveries`
  WHERE (`webhook_deliveries`.`id` = ?);
-- SEARCH webhook_deliveries USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
SELECT `webhooks`.`agent_id`, `webhooks`.`url`, `webhooks`.`secret`, `webhooks`.`previous_secret`, `webhooks`.`previous_until`, `webhooks`.`earlier_secret`, `webhooks`.`earlier_until`, `webhooks`.`failing_since`, `webhooks`.`warned_at`, `webhooks`.`disabled_at`, `webhooks`.`disabled_reason`, `webhooks`.`created_at`, `webhooks`.`updated_at`
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);
UPDATE `webhook_deliveries`
  SET `agent_id` = ?, `chat_id` = ?, `sequence` = ?, `message_id` = ?, `created_at` = ?, `attempts` = ?, `next_attempt_at` = ?, `leased_until` = ?, `attempted_at` = ?, `status` = ?, `error` = ?, `ended_at` = ?, `outcome` = ?
  WHERE (`webhook_deliveries`.`id` = ?);
-- SEARCH webhook_deliveries USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
UPDATE `webhooks`
  SET `url` = ?, `secret` = ?, `previous_secret` = ?, `previous_until` = ?, `earlier_secret` = ?, `earlier_until` = ?, `failing_since` = ?, `warned_at` = ?, `disabled_at` = ?, `disabled_reason` = ?, `created_at` = ?, `updated_at` = ?
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);

-- count what waits
SELECT count(*) AS deliveries, min(webhook_deliveries.created_at) AS oldest
  FROM webhooks
  CROSS JOIN webhook_deliveries
  WHERE webhook_deliveries.agent_id = webhooks.agent_id
  AND webhook_deliveries.ended_at IS NULL
  AND webhooks.disabled_at IS NULL;
-- SCAN webhooks;
-- SEARCH webhook_deliveries USING INDEX webhook_deliveries_due (agent_id=?);
SELECT count(*) AS deliveries, min(organization_webhook_deliveries.created_at) AS oldest
  FROM organization_webhooks
  CROSS JOIN organization_webhook_deliveries
  WHERE organization_webhook_deliveries.organization_id = organization_webhooks.organization_id
  AND organization_webhook_deliveries.ended_at IS NULL
  AND organization_webhooks.disabled_at IS NULL;
-- SCAN organization_webhooks;
-- SEARCH organization_webhook_deliveries USING INDEX organization_webhook_deliveries_begun (organization_id=?);

-- find rooms that are due
SELECT one.agent_id, one.chat_id
  FROM webhooks
  JOIN webhook_deliveries AS one
  ON one.id IN
  (SELECT one.id
    FROM webhook_deliveries AS one
    WHERE one.agent_id = webhooks.agent_id
    AND one.ended_at IS NULL
    AND one.next_attempt_at <= ?
    ORDER BY one.next_attempt_at
    LIMIT ?)
  WHERE webhooks.agent_id > ?
  AND webhooks.disabled_at IS NULL
  ORDER BY webhooks.agent_id
  LIMIT ?;
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id>?);
-- SEARCH one USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
-- CORRELATED LIST SUBQUERY 1;
-- SEARCH one USING INDEX webhook_deliveries_due (agent_id=?, next_attempt_at<?);

-- take a message again
SELECT `webhooks`.`agent_id`, `webhooks`.`url`, `webhooks`.`secret`, `webhooks`.`previous_secret`, `webhooks`.`previous_until`, `webhooks`.`earlier_secret`, `webhooks`.`earlier_until`, `webhooks`.`failing_since`, `webhooks`.`warned_at`, `webhooks`.`disabled_at`, `webhooks`.`disabled_reason`, `webhooks`.`created_at`, `webhooks`.`updated_at`
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);
SELECT `webhook_deliveries`.`id`, `webhook_deliveries`.`agent_id`, `webhook_deliveries`.`chat_id`, `webhook_deliveries`.`sequence`, `webhook_deliveries`.`message_id`, `webhook_deliveries`.`created_at`, `webhook_deliveries`.`attempts`, `webhook_deliveries`.`next_attempt_at`, `webhook_deliveries`.`leased_until`, `webhook_deliveries`.`attempted_at`, `webhook_deliveries`.`status`, `webhook_deliveries`.`error`, `webhook_deliveries`.`ended_at`, `webhook_deliveries`.`outcome`
  FROM `webhook_deliveries`
  WHERE (((`webhook_deliveries`.`agent_id` = ?)
      AND (`webhook_deliveries`.`chat_id` = ?))
    AND (`webhook_deliveries`.`ended_at` IS NULL));
-- SEARCH webhook_deliveries USING INDEX webhook_deliveries_in_room (agent_id=?, chat_id=?);
SELECT min(unsent.sequence) AS sequence
  FROM
  (SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries INDEXED BY deliveries_open
      WHERE deliveries.agent_id = ?
      AND deliveries.chat_id = ?
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.sequence > coalesce((SELECT sent.sequence
          FROM webhook_deliveries AS sent
          WHERE sent.agent_id = ?
          AND sent.chat_id = ?
          ORDER BY sent.sequence DESC
          LIMIT 1), 0)
      ORDER BY deliveries.sequence
      LIMIT 1) AS fresh
    UNION ALL
    SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries INDEXED BY deliveries_offered_again
      WHERE deliveries.agent_id = ?
      AND deliveries.chat_id = ?
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.restarted_at IS NOT NULL
      AND
      (SELECT 1
        FROM webhook_deliveries AS sent
        WHERE sent.agent_id = deliveries.agent_id
        AND sent.chat_id = deliveries.chat_id
        AND sent.sequence = deliveries.sequence
        AND sent.created_at >= deliveries.restarted_at
        LIMIT 1) IS NULL
      ORDER BY deliveries.sequence
      LIMIT 1) AS again) AS unsent;
-- CO-ROUTINE unsent;
-- COMPOUND QUERY;
-- LEFT-MOST SUBQUERY;
-- CO-ROUTINE fresh;
-- SEARCH deliveries USING INDEX deliveries_open (agent_id=?, chat_id=?, sequence>?);
-- SCALAR SUBQUERY 1;
-- SEARCH sent USING COVERING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?);
-- SCAN fresh;
--
  UNION ALL;
-- CO-ROUTINE again;
-- SEARCH deliveries USING INDEX deliveries_offered_again (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 4;
-- SEARCH sent USING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?, sequence=?);
-- SCAN again;
-- SEARCH unsent;
UPDATE `webhook_deliveries`
  SET `agent_id` = ?, `chat_id` = ?, `sequence` = ?, `message_id` = ?, `created_at` = ?, `attempts` = ?, `next_attempt_at` = ?, `leased_until` = ?, `attempted_at` = ?, `status` = ?, `error` = ?, `ended_at` = ?, `outcome` = ?
  WHERE (`webhook_deliveries`.`id` = ?);
-- SEARCH webhook_deliveries USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);

-- settle a success
SELECT `webhook_deliveries`.`id`, `webhook_deliveries`.`agent_id`, `webhook_deliveries`.`chat_id`, `webhook_deliveries`.`sequence`, `webhook_deliveries`.`message_id`, `webhook_deliveries`.`created_at`, `webhook_deliveries`.`attempts`, `webhook_deliveries`.`next_attempt_at`, `webhook_deliveries`.`leased_until`, `webhook_deliveries`.`attempted_at`, `webhook_deliveries`.`status`, `webhook_deliveries`.`error`, `webhook_deliveries`.`ended_at`, `webhook_deliveries`.`outcome`
  FROM `webhook_deliveries`
  WHERE (`webhook_deliveries`.`id` = ?);
-- SEARCH webhook_deliveries USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
SELECT `webhooks`.`agent_id`, `webhooks`.`url`, `webhooks`.`secret`, `webhooks`.`previous_secret`, `webhooks`.`previous_until`, `webhooks`.`earlier_secret`, `webhooks`.`earlier_until`, `webhooks`.`failing_since`, `webhooks`.`warned_at`, `webhooks`.`disabled_at`, `webhooks`.`disabled_reason`, `webhooks`.`created_at`, `webhooks`.`updated_at`
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);
UPDATE `webhook_deliveries`
  SET `agent_id` = ?, `chat_id` = ?, `sequence` = ?, `message_id` = ?, `created_at` = ?, `attempts` = ?, `next_attempt_at` = ?, `leased_until` = ?, `attempted_at` = ?, `status` = ?, `error` = ?, `ended_at` = ?, `outcome` = ?
  WHERE (`webhook_deliveries`.`id` = ?);
-- SEARCH webhook_deliveries USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
UPDATE `webhooks`
  SET `url` = ?, `secret` = ?, `previous_secret` = ?, `previous_until` = ?, `earlier_secret` = ?, `earlier_until` = ?, `failing_since` = ?, `warned_at` = ?, `disabled_at` = ?, `disabled_reason` = ?, `created_at` = ?, `updated_at` = ?
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);

-- take nothing
SELECT `webhooks`.`agent_id`, `webhooks`.`url`, `webhooks`.`secret`, `webhooks`.`previous_secret`, `webhooks`.`previous_until`, `webhooks`.`earlier_secret`, `webhooks`.`earlier_until`, `webhooks`.`failing_since`, `webhooks`.`warned_at`, `webhooks`.`disabled_at`, `webhooks`.`disabled_reason`, `webhooks`.`created_at`, `webhooks`.`updated_at`
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);
SELECT `webhook_deliveries`.`id`, `webhook_deliveries`.`agent_id`, `webhook_deliveries`.`chat_id`, `webhook_deliveries`.`sequence`, `webhook_deliveries`.`message_id`, `webhook_deliveries`.`created_at`, `webhook_deliveries`.`attempts`, `webhook_deliveries`.`next_attempt_at`, `webhook_deliveries`.`leased_until`, `webhook_deliveries`.`attempted_at`, `webhook_deliveries`.`status`, `webhook_deliveries`.`error`, `webhook_deliveries`.`ended_at`, `webhook_deliveries`.`outcome`
  FROM `webhook_deliveries`
  WHERE (((`webhook_deliveries`.`agent_id` = ?)
      AND (`webhook_deliveries`.`chat_id` = ?))
    AND (`webhook_deliveries`.`ended_at` IS NULL));
-- SEARCH webhook_deliveries USING INDEX webhook_deliveries_in_room (agent_id=?, chat_id=?);
SELECT min(unsent.sequence) AS sequence
  FROM
  (SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries INDEXED BY deliveries_open
      WHERE deliveries.agent_id = ?
      AND deliveries.chat_id = ?
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.sequence > coalesce((SELECT sent.sequence
          FROM webhook_deliveries AS sent
          WHERE sent.agent_id = ?
          AND sent.chat_id = ?
          ORDER BY sent.sequence DESC
          LIMIT 1), 0)
      ORDER BY deliveries.sequence
      LIMIT 1) AS fresh
    UNION ALL
    SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries INDEXED BY deliveries_offered_again
      WHERE deliveries.agent_id = ?
      AND deliveries.chat_id = ?
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.restarted_at IS NOT NULL
      AND
      (SELECT 1
        FROM webhook_deliveries AS sent
        WHERE sent.agent_id = deliveries.agent_id
        AND sent.chat_id = deliveries.chat_id
        AND sent.sequence = deliveries.sequence
        AND sent.created_at >= deliveries.restarted_at
        LIMIT 1) IS NULL
      ORDER BY deliveries.sequence
      LIMIT 1) AS again) AS unsent;
-- CO-ROUTINE unsent;
-- COMPOUND QUERY;
-- LEFT-MOST SUBQUERY;
-- CO-ROUTINE fresh;
-- SEARCH deliveries USING INDEX deliveries_open (agent_id=?, chat_id=?, sequence>?);
-- SCALAR SUBQUERY 1;
-- SEARCH sent USING COVERING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?);
-- SCAN fresh;
--
  UNION ALL;
-- CO-ROUTINE again;
-- SEARCH deliveries USING INDEX deliveries_offered_again (agent_id=?, chat_id=?);
-- CORRELATED SCALAR SUBQUERY 4;
-- SEARCH sent USING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?, sequence=?);
-- SCAN again;
-- SEARCH unsent;

-- list deliveries
SELECT `webhook_deliveries`.`id`, `webhook_deliveries`.`agent_id`, `webhook_deliveries`.`chat_id`, `webhook_deliveries`.`sequence`, `webhook_deliveries`.`message_id`, `webhook_deliveries`.`created_at`, `webhook_deliveries`.`attempts`, `webhook_deliveries`.`next_attempt_at`, `webhook_deliveries`.`leased_until`, `webhook_deliveries`.`attempted_at`, `webhook_deliveries`.`status`, `webhook_deliveries`.`error`, `webhook_deliveries`.`ended_at`, `webhook_deliveries`.`outcome`
  FROM `webhook_deliveries`
  WHERE (`webhook_deliveries`.`agent_id` = ?)
  ORDER BY `webhook_deliveries`.`created_at` DESC, `webhook_deliveries`.`id` DESC
  LIMIT ? OFFSET ?;
-- SEARCH webhook_deliveries USING INDEX webhook_deliveries_of_agent (agent_id=?);
SELECT `webhook_deliveries`.`id`, `webhook_deliveries`.`agent_id`, `webhook_deliveries`.`chat_id`, `webhook_deliveries`.`sequence`, `webhook_deliveries`.`message_id`, `webhook_deliveries`.`created_at`, `webhook_deliveries`.`attempts`, `webhook_deliveries`.`next_attempt_at`, `webhook_deliveries`.`leased_until`, `webhook_deliveries`.`attempted_at`, `webhook_deliveries`.`status`, `webhook_deliveries`.`error`, `webhook_deliveries`.`ended_at`, `webhook_deliveries`.`outcome`
  FROM `webhook_deliveries`
  WHERE (((`webhook_deliveries`.`agent_id` = ?)
      AND (`webhook_deliveries`.`created_at` <= ?))
    AND ((`webhook_deliveries`.`created_at` < ?) OR ((`webhook_deliveries`.`created_at` = ?)
        AND (`webhook_deliveries`.`id` < ?))))
  ORDER BY `webhook_deliveries`.`created_at` DESC, `webhook_deliveries`.`id` DESC
  LIMIT ? OFFSET ?;
-- SEARCH webhook_deliveries USING INDEX webhook_deliveries_of_agent (agent_id=?, created_at<?);

-- resend
SELECT `webhook_deliveries`.`id`, `webhook_deliveries`.`agent_id`, `webhook_deliveries`.`chat_id`, `webhook_deliveries`.`sequence`, `webhook_deliveries`.`message_id`, `webhook_deliveries`.`created_at`, `webhook_deliveries`.`attempts`, `webhook_deliveries`.`next_attempt_at`, `webhook_deliveries`.`leased_until`, `webhook_deliveries`.`attempted_at`, `webhook_deliveries`.`status`, `webhook_deliveries`.`error`, `webhook_deliveries`.`ended_at`, `webhook_deliveries`.`outcome`
  FROM `webhook_deliveries`
  WHERE ((`webhook_deliveries`.`id` = ?)
    AND (`webhook_deliveries`.`agent_id` = ?));
-- SEARCH webhook_deliveries USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
SELECT `webhook_deliveries`.`id`, `webhook_deliveries`.`agent_id`, `webhook_deliveries`.`chat_id`, `webhook_deliveries`.`sequence`, `webhook_deliveries`.`message_id`, `webhook_deliveries`.`created_at`, `webhook_deliveries`.`attempts`, `webhook_deliveries`.`next_attempt_at`, `webhook_deliveries`.`leased_until`, `webhook_deliveries`.`attempted_at`, `webhook_deliveries`.`status`, `webhook_deliveries`.`error`, `webhook_deliveries`.`ended_at`, `webhook_deliveries`.`outcome`
  FROM `webhook_deliveries`
  WHERE (((`webhook_deliveries`.`agent_id` = ?)
      AND (`webhook_deliveries`.`chat_id` = ?))
    AND (`webhook_deliveries`.`ended_at` IS NULL));
-- SEARCH webhook_deliveries USING INDEX webhook_deliveries_in_room (agent_id=?, chat_id=?);
UPDATE `webhook_deliveries`
  SET `agent_id` = ?, `chat_id` = ?, `sequence` = ?, `message_id` = ?, `created_at` = ?, `attempts` = ?, `next_attempt_at` = ?, `leased_until` = ?, `attempted_at` = ?, `status` = ?, `error` = ?, `ended_at` = ?, `outcome` = ?
  WHERE (`webhook_deliveries`.`id` = ?);
-- SEARCH webhook_deliveries USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);

-- find old deliveries
SELECT one.id
  FROM webhooks
  JOIN webhook_deliveries AS one
  ON one.id IN
  (SELECT one.id
    FROM webhook_deliveries AS one
    WHERE one.agent_id = webhooks.agent_id
    AND one.created_at <= ?
    AND one.ended_at <= ?
    AND one.ended_at IS NOT NULL
    AND
    ((SELECT 1
        FROM webhook_deliveries AS later
        WHERE later.agent_id = one.agent_id
        AND later.chat_id = one.chat_id
        AND later.sequence > one.sequence
        LIMIT 1) IS NOT NULL OR
      (SELECT 1
        FROM deliveries INDEXED BY deliveries_open
        WHERE deliveries.agent_id = one.agent_id
        AND deliveries.chat_id = one.chat_id
        AND deliveries.sequence <= one.sequence
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.addressed = 1
        LIMIT 1) IS NULL)
    AND
    (SELECT 1
      FROM deliveries INDEXED BY deliveries_offered_again
      WHERE deliveries.agent_id = one.agent_id
      AND deliveries.chat_id = one.chat_id
      AND deliveries.sequence = one.sequence
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.restarted_at IS NOT NULL
      LIMIT 1) IS NULL
    LIMIT ?)
  LIMIT ?;
-- SCAN webhooks USING COVERING INDEX sqlite_autoindex_webhooks_1;
-- SEARCH one USING COVERING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
-- CORRELATED LIST SUBQUERY 4;
-- SEARCH one USING INDEX webhook_deliveries_of_agent (agent_id=?, created_at<?);
-- CORRELATED SCALAR SUBQUERY 1;
-- SEARCH later USING COVERING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?, sequence>?);
-- CORRELATED SCALAR SUBQUERY 2;
-- SEARCH deliveries USING INDEX deliveries_open (agent_id=?, chat_id=?, sequence<?);
-- CORRELATED SCALAR SUBQUERY 3;
-- SEARCH deliveries USING INDEX deliveries_offered_again (agent_id=?, chat_id=?, sequence=?);
SELECT one.id
  FROM webhooks
  JOIN webhook_deliveries AS one
  ON one.id IN
  (SELECT one.id
    FROM webhook_deliveries AS one
    WHERE one.agent_id = webhooks.agent_id
    AND one.created_at <
    (SELECT newest.created_at
      FROM webhook_deliveries AS newest
      WHERE newest.agent_id = webhooks.agent_id
      ORDER BY newest.created_at DESC, newest.id DESC
      LIMIT 1 OFFSET ?)
    AND one.ended_at IS NOT NULL
    AND
    ((SELECT 1
        FROM webhook_deliveries AS later
        WHERE later.agent_id = one.agent_id
        AND later.chat_id = one.chat_id
        AND later.sequence > one.sequence
        LIMIT 1) IS NOT NULL OR
      (SELECT 1
        FROM deliveries INDEXED BY deliveries_open
        WHERE deliveries.agent_id = one.agent_id
        AND deliveries.chat_id = one.chat_id
        AND deliveries.sequence <= one.sequence
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.addressed = 1
        LIMIT 1) IS NULL)
    AND
    (SELECT 1
      FROM deliveries INDEXED BY deliveries_offered_again
      WHERE deliveries.agent_id = one.agent_id
      AND deliveries.chat_id = one.chat_id
      AND deliveries.sequence = one.sequence
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed = 1
      AND deliveries.restarted_at IS NOT NULL
      LIMIT 1) IS NULL
    LIMIT ?)
  LIMIT ?;
-- SCAN webhooks USING COVERING INDEX sqlite_autoindex_webhooks_1;
-- SEARCH one USING COVERING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
-- CORRELATED LIST SUBQUERY 5;
-- SEARCH one USING INDEX webhook_deliveries_of_agent (agent_id=?, created_at<?);
-- CORRELATED SCALAR SUBQUERY 1;
-- SEARCH newest USING COVERING INDEX webhook_deliveries_of_agent (agent_id=?);
-- CORRELATED SCALAR SUBQUERY 2;
-- SEARCH later USING COVERING INDEX webhook_deliveries_of_message (agent_id=?, chat_id=?, sequence>?);
-- CORRELATED SCALAR SUBQUERY 3;
-- SEARCH deliveries USING INDEX deliveries_open (agent_id=?, chat_id=?, sequence<?);
-- CORRELATED SCALAR SUBQUERY 4;
-- SEARCH deliveries USING INDEX deliveries_offered_again (agent_id=?, chat_id=?, sequence=?);
SELECT one.id
  FROM organization_webhook_deliveries AS one
  WHERE one.ended_at <= ?
  LIMIT ?;
-- SEARCH one USING INDEX organization_webhook_deliveries_ended (ended_at<?);
SELECT one.id
  FROM organization_webhooks
  CROSS JOIN organization_webhook_deliveries AS one
  WHERE one.organization_id = organization_webhooks.organization_id
  AND one.ended_at IS NOT NULL
  AND one.number <
  (SELECT newest.number
    FROM organization_webhook_deliveries AS newest
    WHERE newest.organization_id = organization_webhooks.organization_id
    ORDER BY newest.number DESC
    LIMIT 1 OFFSET ?)
  LIMIT ?;
-- SCAN organization_webhooks USING COVERING INDEX sqlite_autoindex_organization_webhooks_1;
-- SEARCH one USING INDEX organization_webhook_deliveries_of_entry (organization_id=?, number<?);
-- CORRELATED SCALAR SUBQUERY 1;
-- SEARCH newest USING COVERING INDEX organization_webhook_deliveries_of_entry (organization_id=?);

-- forget deliveries
DELETE
  FROM `webhook_deliveries`
  WHERE ((`webhook_deliveries`.`id` = ?)
    AND (`webhook_deliveries`.`ended_at` IS NOT NULL));
-- SEARCH webhook_deliveries USING INDEX sqlite_autoindex_webhook_deliveries_1 (id=?);
DELETE
  FROM `organization_webhook_deliveries`
  WHERE ((`organization_webhook_deliveries`.`id` = ?)
    AND (`organization_webhook_deliveries`.`ended_at` IS NOT NULL));
-- SEARCH organization_webhook_deliveries USING INDEX sqlite_autoindex_organization_webhook_deliveries_1 (id=?);

-- find failing webhooks
SELECT agents.id, agents.handle, agents.name, webhooks.disabled_reason, coalesce(webhooks.disabled_at, webhooks.warned_at) AS since
  FROM webhooks
  CROSS JOIN agents
  WHERE (webhooks.disabled_at IS NOT NULL OR webhooks.warned_at IS NOT NULL)
  AND agents.id = webhooks.agent_id
  AND agents.owner_id = ?
  AND agents.deleted_at IS NULL
  ORDER BY coalesce(webhooks.disabled_at, webhooks.warned_at), agents.id
  LIMIT ?;
-- SCAN webhooks USING INDEX webhooks_failing;
-- SEARCH agents USING INDEX sqlite_autoindex_agents_1 (id=?);
-- USE TEMP B-TREE
  FOR
  ORDER BY;

-- enable
SELECT `webhooks`.`agent_id`, `webhooks`.`url`, `webhooks`.`secret`, `webhooks`.`previous_secret`, `webhooks`.`previous_until`, `webhooks`.`earlier_secret`, `webhooks`.`earlier_until`, `webhooks`.`failing_since`, `webhooks`.`warned_at`, `webhooks`.`disabled_at`, `webhooks`.`disabled_reason`, `webhooks`.`created_at`, `webhooks`.`updated_at`
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);
UPDATE webhook_deliveries
  SET next_attempt_at = ?
  WHERE agent_id = ?
  AND ended_at IS NULL
  AND (leased_until IS NULL OR leased_until <= ?);
-- SEARCH webhook_deliveries USING INDEX webhook_deliveries_due (agent_id=?);

-- replace the secret
SELECT `webhooks`.`agent_id`, `webhooks`.`url`, `webhooks`.`secret`, `webhooks`.`previous_secret`, `webhooks`.`previous_until`, `webhooks`.`earlier_secret`, `webhooks`.`earlier_until`, `webhooks`.`failing_since`, `webhooks`.`warned_at`, `webhooks`.`disabled_at`, `webhooks`.`disabled_reason`, `webhooks`.`created_at`, `webhooks`.`updated_at`
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);
UPDATE `webhooks`
  SET `url` = ?, `secret` = ?, `previous_secret` = ?, `previous_until` = ?, `earlier_secret` = ?, `earlier_until` = ?, `failing_since` = ?, `warned_at` = ?, `disabled_at` = ?, `disabled_reason` = ?, `created_at` = ?, `updated_at` = ?
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);

-- remove
SELECT `webhooks`.`agent_id`, `webhooks`.`url`, `webhooks`.`secret`, `webhooks`.`previous_secret`, `webhooks`.`previous_until`, `webhooks`.`earlier_secret`, `webhooks`.`earlier_until`, `webhooks`.`failing_since`, `webhooks`.`warned_at`, `webhooks`.`disabled_at`, `webhooks`.`disabled_reason`, `webhooks`.`created_at`, `webhooks`.`updated_at`
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);
DELETE
  FROM `webhooks`
  WHERE (`webhooks`.`agent_id` = ?);
-- SEARCH webhooks USING INDEX sqlite_autoindex_webhooks_1 (agent_id=?);
DELETE
  FROM `webhook_deliveries`
  WHERE (`webhook_deliveries`.`agent_id` = ?);
-- SEARCH webhook_deliveries USING INDEX webhook_deliveries_of_agent (agent_id=?);

-- set that of an organization
SELECT `organization_webhooks`.`organization_id`, `organization_webhooks`.`url`, `organization_webhooks`.`secret`, `organization_webhooks`.`previous_secret`, `organization_webhooks`.`previous_until`, `organization_webhooks`.`earlier_secret`, `organization_webhooks`.`earlier_until`, `organization_webhooks`.`failing_since`, `organization_webhooks`.`warned_at`, `organization_webhooks`.`disabled_at`, `organization_webhooks`.`disabled_reason`, `organization_webhooks`.`created_at`, `organization_webhooks`.`updated_at`, `organization_webhooks`.`events`, `organization_webhooks`.`seen_number`
  FROM `organization_webhooks`
  WHERE (`organization_webhooks`.`organization_id` = ?);
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id=?);
UPDATE organization_webhook_deliveries
  SET next_attempt_at = ?
  WHERE organization_id = ?
  AND ended_at IS NULL
  AND (leased_until IS NULL OR leased_until <= ?);
-- SEARCH organization_webhook_deliveries USING INDEX organization_webhook_deliveries_begun (organization_id=?);

-- read whether there are any
SELECT webhooks.agent_id, agents.owner_id, users.organization_id
  FROM webhooks
  JOIN agents
  ON agents.id = webhooks.agent_id
  JOIN users
  ON users.id = agents.owner_id
  WHERE webhooks.disabled_at IS NULL;
-- SCAN webhooks;
-- SEARCH agents USING INDEX sqlite_autoindex_agents_1 (id=?);
-- SEARCH users USING INDEX sqlite_autoindex_users_1 (id=?);
SELECT EXISTS
  (SELECT `organization_webhooks`.`organization_id`, `organization_webhooks`.`url`, `organization_webhooks`.`secret`, `organization_webhooks`.`previous_secret`, `organization_webhooks`.`previous_until`, `organization_webhooks`.`earlier_secret`, `organization_webhooks`.`earlier_until`, `organization_webhooks`.`failing_since`, `organization_webhooks`.`warned_at`, `organization_webhooks`.`disabled_at`, `organization_webhooks`.`disabled_reason`, `organization_webhooks`.`created_at`, `organization_webhooks`.`updated_at`, `organization_webhooks`.`events`, `organization_webhooks`.`seen_number`
    FROM `organization_webhooks`
    WHERE (`organization_webhooks`.`disabled_at` IS NULL));
-- SCAN CONSTANT ROW;
-- SCALAR SUBQUERY 1;
-- SCAN organization_webhooks;

-- find that of an organization
SELECT `organization_webhooks`.`organization_id`, `organization_webhooks`.`url`, `organization_webhooks`.`secret`, `organization_webhooks`.`previous_secret`, `organization_webhooks`.`previous_until`, `organization_webhooks`.`earlier_secret`, `organization_webhooks`.`earlier_until`, `organization_webhooks`.`failing_since`, `organization_webhooks`.`warned_at`, `organization_webhooks`.`disabled_at`, `organization_webhooks`.`disabled_reason`, `organization_webhooks`.`created_at`, `organization_webhooks`.`updated_at`, `organization_webhooks`.`events`, `organization_webhooks`.`seen_number`
  FROM `organization_webhooks`
  WHERE (`organization_webhooks`.`organization_id` = ?);
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id=?);

-- find organizations with events
SELECT organization_webhooks.organization_id AS id
  FROM organization_webhooks
  WHERE organization_webhooks.organization_id > ?
  AND organization_webhooks.disabled_at IS NULL
  AND coalesce(
    (SELECT begun.next_attempt_at <= ?
      FROM organization_webhook_deliveries AS begun
      WHERE begun.organization_id = organization_webhooks.organization_id
      AND begun.ended_at IS NULL),
    (SELECT 1
      FROM audit
      WHERE audit.organization_id = organization_webhooks.organization_id
      AND audit.number > organization_webhooks.seen_number
      ORDER BY audit.number
      LIMIT 1) IS NOT NULL)
  ORDER BY organization_webhooks.organization_id
  LIMIT ?;
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id>?);
-- CORRELATED SCALAR SUBQUERY 1;
-- SEARCH begun USING INDEX organization_webhook_deliveries_begun (organization_id=?);
-- CORRELATED SCALAR SUBQUERY 2;
-- SEARCH audit USING COVERING INDEX audit_of_organization_by_number (organization_id=?, number>?);

-- take an event
SELECT `organization_webhooks`.`organization_id`, `organization_webhooks`.`url`, `organization_webhooks`.`secret`, `organization_webhooks`.`previous_secret`, `organization_webhooks`.`previous_until`, `organization_webhooks`.`earlier_secret`, `organization_webhooks`.`earlier_until`, `organization_webhooks`.`failing_since`, `organization_webhooks`.`warned_at`, `organization_webhooks`.`disabled_at`, `organization_webhooks`.`disabled_reason`, `organization_webhooks`.`created_at`, `organization_webhooks`.`updated_at`, `organization_webhooks`.`events`, `organization_webhooks`.`seen_number`
  FROM `organization_webhooks`
  WHERE (`organization_webhooks`.`organization_id` = ?);
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id=?);
SELECT `organization_webhook_deliveries`.`id`, `organization_webhook_deliveries`.`organization_id`, `organization_webhook_deliveries`.`number`, `organization_webhook_deliveries`.`action`, `organization_webhook_deliveries`.`created_at`, `organization_webhook_deliveries`.`attempts`, `organization_webhook_deliveries`.`next_attempt_at`, `organization_webhook_deliveries`.`leased_until`, `organization_webhook_deliveries`.`attempted_at`, `organization_webhook_deliveries`.`status`, `organization_webhook_deliveries`.`error`, `organization_webhook_deliveries`.`ended_at`, `organization_webhook_deliveries`.`outcome`
  FROM `organization_webhook_deliveries`
  WHERE ((`organization_webhook_deliveries`.`organization_id` = ?)
    AND (`organization_webhook_deliveries`.`ended_at` IS NULL));
-- SEARCH organization_webhook_deliveries USING INDEX organization_webhook_deliveries_begun (organization_id=?);
UPDATE `organization_webhooks`
  SET `url` = ?, `secret` = ?, `previous_secret` = ?, `previous_until` = ?, `earlier_secret` = ?, `earlier_until` = ?, `failing_since` = ?, `warned_at` = ?, `disabled_at` = ?, `disabled_reason` = ?, `created_at` = ?, `updated_at` = ?, `events` = ?, `seen_number` = ?
  WHERE (`organization_webhooks`.`organization_id` = ?);
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id=?);
UPDATE `organization_webhook_deliveries`
  SET `organization_id` = ?, `number` = ?, `action` = ?, `created_at` = ?, `attempts` = ?, `next_attempt_at` = ?, `leased_until` = ?, `attempted_at` = ?, `status` = ?, `error` = ?, `ended_at` = ?, `outcome` = ?
  WHERE (`organization_webhook_deliveries`.`id` = ?);
-- SEARCH organization_webhook_deliveries USING INDEX sqlite_autoindex_organization_webhook_deliveries_1 (id=?);

-- settle an event
SELECT `organization_webhook_deliveries`.`id`, `organization_webhook_deliveries`.`organization_id`, `organization_webhook_deliveries`.`number`, `organization_webhook_deliveries`.`action`, `organization_webhook_deliveries`.`created_at`, `organization_webhook_deliveries`.`attempts`, `organization_webhook_deliveries`.`next_attempt_at`, `organization_webhook_deliveries`.`leased_until`, `organization_webhook_deliveries`.`attempted_at`, `organization_webhook_deliveries`.`status`, `organization_webhook_deliveries`.`error`, `organization_webhook_deliveries`.`ended_at`, `organization_webhook_deliveries`.`outcome`
  FROM `organization_webhook_deliveries`
  WHERE (`organization_webhook_deliveries`.`id` = ?);
-- SEARCH organization_webhook_deliveries USING INDEX sqlite_autoindex_organization_webhook_deliveries_1 (id=?);
SELECT `organization_webhooks`.`organization_id`, `organization_webhooks`.`url`, `organization_webhooks`.`secret`, `organization_webhooks`.`previous_secret`, `organization_webhooks`.`previous_until`, `organization_webhooks`.`earlier_secret`, `organization_webhooks`.`earlier_until`, `organization_webhooks`.`failing_since`, `organization_webhooks`.`warned_at`, `organization_webhooks`.`disabled_at`, `organization_webhooks`.`disabled_reason`, `organization_webhooks`.`created_at`, `organization_webhooks`.`updated_at`, `organization_webhooks`.`events`, `organization_webhooks`.`seen_number`
  FROM `organization_webhooks`
  WHERE (`organization_webhooks`.`organization_id` = ?);
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id=?);
UPDATE `organization_webhook_deliveries`
  SET `organization_id` = ?, `number` = ?, `action` = ?, `created_at` = ?, `attempts` = ?, `next_attempt_at` = ?, `leased_until` = ?, `attempted_at` = ?, `status` = ?, `error` = ?, `ended_at` = ?, `outcome` = ?
  WHERE (`organization_webhook_deliveries`.`id` = ?);
-- SEARCH organization_webhook_deliveries USING INDEX sqlite_autoindex_organization_webhook_deliveries_1 (id=?);

-- list deliveries of events
SELECT `organization_webhook_deliveries`.`id`, `organization_webhook_deliveries`.`organization_id`, `organization_webhook_deliveries`.`number`, `organization_webhook_deliveries`.`action`, `organization_webhook_deliveries`.`created_at`, `organization_webhook_deliveries`.`attempts`, `organization_webhook_deliveries`.`next_attempt_at`, `organization_webhook_deliveries`.`leased_until`, `organization_webhook_deliveries`.`attempted_at`, `organization_webhook_deliveries`.`status`, `organization_webhook_deliveries`.`error`, `organization_webhook_deliveries`.`ended_at`, `organization_webhook_deliveries`.`outcome`
  FROM `organization_webhook_deliveries`
  WHERE ((`organization_webhook_deliveries`.`organization_id` = ?)
    AND (`organization_webhook_deliveries`.`number` < ?))
  ORDER BY `organization_webhook_deliveries`.`number` DESC
  LIMIT ? OFFSET ?;
-- SEARCH organization_webhook_deliveries USING INDEX organization_webhook_deliveries_of_entry (organization_id=?, number<?);
-- SEARCH organization_webhook_deliveries USING INDEX organization_webhook_deliveries_of_entry (organization_id=?, number<?);

-- resend an event
SELECT `organization_webhooks`.`organization_id`, `organization_webhooks`.`url`, `organization_webhooks`.`secret`, `organization_webhooks`.`previous_secret`, `organization_webhooks`.`previous_until`, `organization_webhooks`.`earlier_secret`, `organization_webhooks`.`earlier_until`, `organization_webhooks`.`failing_since`, `organization_webhooks`.`warned_at`, `organization_webhooks`.`disabled_at`, `organization_webhooks`.`disabled_reason`, `organization_webhooks`.`created_at`, `organization_webhooks`.`updated_at`, `organization_webhooks`.`events`, `organization_webhooks`.`seen_number`
  FROM `organization_webhooks`
  WHERE (`organization_webhooks`.`organization_id` = ?);
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id=?);
SELECT `organization_webhook_deliveries`.`id`, `organization_webhook_deliveries`.`organization_id`, `organization_webhook_deliveries`.`number`, `organization_webhook_deliveries`.`action`, `organization_webhook_deliveries`.`created_at`, `organization_webhook_deliveries`.`attempts`, `organization_webhook_deliveries`.`next_attempt_at`, `organization_webhook_deliveries`.`leased_until`, `organization_webhook_deliveries`.`attempted_at`, `organization_webhook_deliveries`.`status`, `organization_webhook_deliveries`.`error`, `organization_webhook_deliveries`.`ended_at`, `organization_webhook_deliveries`.`outcome`
  FROM `organization_webhook_deliveries`
  WHERE (`organization_webhook_deliveries`.`id` = ?);
-- SEARCH organization_webhook_deliveries USING INDEX sqlite_autoindex_organization_webhook_deliveries_1 (id=?);
SELECT `organization_webhook_deliveries`.`id`, `organization_webhook_deliveries`.`organization_id`, `organization_webhook_deliveries`.`number`, `organization_webhook_deliveries`.`action`, `organization_webhook_deliveries`.`created_at`, `organization_webhook_deliveries`.`attempts`, `organization_webhook_deliveries`.`next_attempt_at`, `organization_webhook_deliveries`.`leased_until`, `organization_webhook_deliveries`.`attempted_at`, `organization_webhook_deliveries`.`status`, `organization_webhook_deliveries`.`error`, `organization_webhook_deliveries`.`ended_at`, `organization_webhook_deliveries`.`outcome`
  FROM `organization_webhook_deliveries`
  WHERE ((`organization_webhook_deliveries`.`organization_id` = ?)
    AND (`organization_webhook_deliveries`.`ended_at` IS NULL));
-- SEARCH organization_webhook_deliveries USING INDEX organization_webhook_deliveries_begun (organization_id=?);
UPDATE `organization_webhook_deliveries`
  SET `organization_id` = ?, `number` = ?, `action` = ?, `created_at` = ?, `attempts` = ?, `next_attempt_at` = ?, `leased_until` = ?, `attempted_at` = ?, `status` = ?, `error` = ?, `ended_at` = ?, `outcome` = ?
  WHERE (`organization_webhook_deliveries`.`id` = ?);
-- SEARCH organization_webhook_deliveries USING INDEX sqlite_autoindex_organization_webhook_deliveries_1 (id=?);

-- enable that of an organization
SELECT `organization_webhooks`.`organization_id`, `organization_webhooks`.`url`, `organization_webhooks`.`secret`, `organization_webhooks`.`previous_secret`, `organization_webhooks`.`previous_until`, `organization_webhooks`.`earlier_secret`, `organization_webhooks`.`earlier_until`, `organization_webhooks`.`failing_since`, `organization_webhooks`.`warned_at`, `organization_webhooks`.`disabled_at`, `organization_webhooks`.`disabled_reason`, `organization_webhooks`.`created_at`, `organization_webhooks`.`updated_at`, `organization_webhooks`.`events`, `organization_webhooks`.`seen_number`
  FROM `organization_webhooks`
  WHERE (`organization_webhooks`.`organization_id` = ?);
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id=?);
UPDATE organization_webhook_deliveries
  SET next_attempt_at = ?
  WHERE organization_id = ?
  AND ended_at IS NULL
  AND (leased_until IS NULL OR leased_until <= ?);
-- SEARCH organization_webhook_deliveries USING INDEX organization_webhook_deliveries_begun (organization_id=?);

-- remove that of an organization
SELECT `organization_webhooks`.`organization_id`, `organization_webhooks`.`url`, `organization_webhooks`.`secret`, `organization_webhooks`.`previous_secret`, `organization_webhooks`.`previous_until`, `organization_webhooks`.`earlier_secret`, `organization_webhooks`.`earlier_until`, `organization_webhooks`.`failing_since`, `organization_webhooks`.`warned_at`, `organization_webhooks`.`disabled_at`, `organization_webhooks`.`disabled_reason`, `organization_webhooks`.`created_at`, `organization_webhooks`.`updated_at`, `organization_webhooks`.`events`, `organization_webhooks`.`seen_number`
  FROM `organization_webhooks`
  WHERE (`organization_webhooks`.`organization_id` = ?);
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id=?);
DELETE
  FROM `organization_webhooks`
  WHERE (`organization_webhooks`.`organization_id` = ?);
-- SEARCH organization_webhooks USING INDEX sqlite_autoindex_organization_webhooks_1 (organization_id=?);
DELETE
  FROM `organization_webhook_deliveries`
  WHERE (`organization_webhook_deliveries`.`organization_id` = ?);
-- SEARCH organization_webhook_deliveries USING INDEX organization_webhook_deliveries_of_entry (organization_id=?);
