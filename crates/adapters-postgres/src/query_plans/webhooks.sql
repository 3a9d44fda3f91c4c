-- Written by a test, with PARLANCE_UPDATE_SQL=1.

-- read the agents
SELECT webhooks.agent_id, agents.owner_id, users.organization_id
  FROM webhooks
  JOIN agents
  ON agents.id = webhooks.agent_id
  JOIN users
  ON users.id = agents.owner_id
  WHERE webhooks.disabled_at IS NULL;
SELECT EXISTS
  (SELECT "organization_webhooks"."organization_id", "organization_webhooks"."url", "organization_webhooks"."secret", "organization_webhooks"."previous_secret", "organization_webhooks"."previous_until", "organization_webhooks"."earlier_secret", "organization_webhooks"."earlier_until", "organization_webhooks"."failing_since", "organization_webhooks"."warned_at", "organization_webhooks"."disabled_at", "organization_webhooks"."disabled_reason", "organization_webhooks"."created_at", "organization_webhooks"."updated_at", "organization_webhooks"."events", "organization_webhooks"."seen_number"
    FROM "organization_webhooks"
    WHERE ("organization_webhooks"."disabled_at" IS NULL));

-- find a webhook
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2;

-- find rooms with new messages
WITH RECURSIVE room (agent_id, chat_id, found) AS
  (SELECT webhooks.agent_id,
    (SELECT deliveries.chat_id
      FROM deliveries
      WHERE deliveries.agent_id = webhooks.agent_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
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
      FROM deliveries
      WHERE deliveries.agent_id = room.agent_id
      AND deliveries.chat_id > room.chat_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
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
        FROM deliveries
        WHERE deliveries.agent_id = room.agent_id
        AND deliveries.chat_id = room.chat_id
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.addressed
        AND deliveries.sequence > coalesce((SELECT sent.sequence
            FROM webhook_deliveries AS sent
            WHERE sent.agent_id = room.agent_id
            AND sent.chat_id = room.chat_id
            ORDER BY sent.sequence DESC
            LIMIT 1), 0)) OR EXISTS
      (SELECT deliveries.sequence
        FROM deliveries
        WHERE deliveries.agent_id = room.agent_id
        AND deliveries.chat_id = room.chat_id
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.addressed
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
      FROM deliveries
      WHERE deliveries.agent_id = room.agent_id
      AND deliveries.chat_id = room.chat_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
      AND deliveries.sequence > coalesce((SELECT sent.sequence
          FROM webhook_deliveries AS sent
          WHERE sent.agent_id = room.agent_id
          AND sent.chat_id = room.chat_id
          ORDER BY sent.sequence DESC
          LIMIT 1), 0)) OR EXISTS
    (SELECT deliveries.sequence
      FROM deliveries
      WHERE deliveries.agent_id = room.agent_id
      AND deliveries.chat_id = room.chat_id
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
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
  LIMIT $1;

-- take a new message
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2
  FOR UPDATE;
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2;
SELECT "webhook_deliveries"."id", "webhook_deliveries"."agent_id", "webhook_deliveries"."chat_id", "webhook_deliveries"."sequence", "webhook_deliveries"."message_id", "webhook_deliveries"."created_at", "webhook_deliveries"."attempts", "webhook_deliveries"."next_attempt_at", "webhook_deliveries"."leased_until", "webhook_deliveries"."attempted_at", "webhook_deliveries"."status", "webhook_deliveries"."error", "webhook_deliveries"."ended_at", "webhook_deliveries"."outcome"
  FROM "webhook_deliveries"
  WHERE ((("webhook_deliveries"."agent_id" = $1)
      AND ("webhook_deliveries"."chat_id" = $2))
    AND ("webhook_deliveries"."ended_at" IS NULL))
  LIMIT $3
  FOR UPDATE;
SELECT min(unsent.sequence) AS sequence
  FROM
  (SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries
      WHERE deliveries.agent_id = $1
      AND deliveries.chat_id = $2
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
      AND deliveries.sequence > coalesce((SELECT sent.sequence
          FROM webhook_deliveries AS sent
          WHERE sent.agent_id = $3
          AND sent.chat_id = $4
          ORDER BY sent.sequence DESC
          LIMIT 1), 0)
      ORDER BY deliveries.sequence
      LIMIT 1) AS fresh
    UNION ALL
    SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries
      WHERE deliveries.agent_id = $5
      AND deliveries.chat_id = $6
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
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

-- renew leases
UPDATE webhook_deliveries AS sent
  SET leased_until = $1, next_attempt_at = $2
  FROM unnest($3, $4) AS lease (id, attempt)
  WHERE sent.id = lease.id
  AND sent.attempts = lease.attempt
  AND sent.leased_until IS NOT NULL;
UPDATE organization_webhook_deliveries AS sent
  SET leased_until = $1, next_attempt_at = $2
  FROM unnest($3, $4) AS lease (id, attempt)
  WHERE sent.id = lease.id
  AND sent.attempts = lease.attempt
  AND sent.leased_until IS NOT NULL;

-- settle
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2
  FOR UPDATE;
SELECT "webhook_deliveries"."agent_id"
  FROM "webhook_deliveries"
  WHERE ("webhook_deliveries"."id" = $1)
  LIMIT $2;
SELECT "webhook_deliveries"."id", "webhook_deliveries"."agent_id", "webhook_deliveries"."chat_id", "webhook_deliveries"."sequence", "webhook_deliveries"."message_id", "webhook_deliveries"."created_at", "webhook_deliveries"."attempts", "webhook_deliveries"."next_attempt_at", "webhook_deliveries"."leased_until", "webhook_deliveries"."attempted_at", "webhook_deliveries"."status", "webhook_deliveries"."error", "webhook_deliveries"."ended_at", "webhook_deliveries"."outcome"
  FROM "webhook_deliveries"
  WHERE ("webhook_deliveries"."id" = $1)
  LIMIT $2
  FOR UPDATE;

-- count what waits
SELECT count(*) AS deliveries, min(webhook_deliveries.created_at) AS oldest
  FROM webhooks
  CROSS JOIN webhook_deliveries
  WHERE webhook_deliveries.agent_id = webhooks.agent_id
  AND webhook_deliveries.ended_at IS NULL
  AND webhooks.disabled_at IS NULL;
SELECT count(*) AS deliveries, min(organization_webhook_deliveries.created_at) AS oldest
  FROM organization_webhooks
  CROSS JOIN organization_webhook_deliveries
  WHERE organization_webhook_deliveries.organization_id = organization_webhooks.organization_id
  AND organization_webhook_deliveries.ended_at IS NULL
  AND organization_webhooks.disabled_at IS NULL;

-- find rooms that are due
SELECT one.agent_id, one.chat_id
  FROM webhooks
  JOIN LATERAL
  (SELECT one.id, one.agent_id, one.chat_id
    FROM webhook_deliveries AS one
    WHERE one.agent_id = webhooks.agent_id
    AND one.ended_at IS NULL
    AND one.next_attempt_at <= $1
    ORDER BY one.next_attempt_at
    LIMIT $2) AS one
  ON TRUE
  WHERE webhooks.agent_id > $3
  AND webhooks.disabled_at IS NULL
  ORDER BY webhooks.agent_id
  LIMIT $4;

-- take a message again
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2;
SELECT "webhook_deliveries"."id", "webhook_deliveries"."agent_id", "webhook_deliveries"."chat_id", "webhook_deliveries"."sequence", "webhook_deliveries"."message_id", "webhook_deliveries"."created_at", "webhook_deliveries"."attempts", "webhook_deliveries"."next_attempt_at", "webhook_deliveries"."leased_until", "webhook_deliveries"."attempted_at", "webhook_deliveries"."status", "webhook_deliveries"."error", "webhook_deliveries"."ended_at", "webhook_deliveries"."outcome"
  FROM "webhook_deliveries"
  WHERE ((("webhook_deliveries"."agent_id" = $1)
      AND ("webhook_deliveries"."chat_id" = $2))
    AND ("webhook_deliveries"."ended_at" IS NULL))
  LIMIT $3
  FOR UPDATE;
SELECT min(unsent.sequence) AS sequence
  FROM
  (SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries
      WHERE deliveries.agent_id = $1
      AND deliveries.chat_id = $2
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
      AND deliveries.sequence > coalesce((SELECT sent.sequence
          FROM webhook_deliveries AS sent
          WHERE sent.agent_id = $3
          AND sent.chat_id = $4
          ORDER BY sent.sequence DESC
          LIMIT 1), 0)
      ORDER BY deliveries.sequence
      LIMIT 1) AS fresh
    UNION ALL
    SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries
      WHERE deliveries.agent_id = $5
      AND deliveries.chat_id = $6
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
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

-- settle a success
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2
  FOR UPDATE;
SELECT "webhook_deliveries"."agent_id"
  FROM "webhook_deliveries"
  WHERE ("webhook_deliveries"."id" = $1)
  LIMIT $2;
SELECT "webhook_deliveries"."id", "webhook_deliveries"."agent_id", "webhook_deliveries"."chat_id", "webhook_deliveries"."sequence", "webhook_deliveries"."message_id", "webhook_deliveries"."created_at", "webhook_deliveries"."attempts", "webhook_deliveries"."next_attempt_at", "webhook_deliveries"."leased_until", "webhook_deliveries"."attempted_at", "webhook_deliveries"."status", "webhook_deliveries"."error", "webhook_deliveries"."ended_at", "webhook_deliveries"."outcome"
  FROM "webhook_deliveries"
  WHERE ("webhook_deliveries"."id" = $1)
  LIMIT $2
  FOR UPDATE;

-- take nothing
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2
  FOR UPDATE;
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2;
SELECT "webhook_deliveries"."id", "webhook_deliveries"."agent_id", "webhook_deliveries"."chat_id", "webhook_deliveries"."sequence", "webhook_deliveries"."message_id", "webhook_deliveries"."created_at", "webhook_deliveries"."attempts", "webhook_deliveries"."next_attempt_at", "webhook_deliveries"."leased_until", "webhook_deliveries"."attempted_at", "webhook_deliveries"."status", "webhook_deliveries"."error", "webhook_deliveries"."ended_at", "webhook_deliveries"."outcome"
  FROM "webhook_deliveries"
  WHERE ((("webhook_deliveries"."agent_id" = $1)
      AND ("webhook_deliveries"."chat_id" = $2))
    AND ("webhook_deliveries"."ended_at" IS NULL))
  LIMIT $3
  FOR UPDATE;
SELECT min(unsent.sequence) AS sequence
  FROM
  (SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries
      WHERE deliveries.agent_id = $1
      AND deliveries.chat_id = $2
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
      AND deliveries.sequence > coalesce((SELECT sent.sequence
          FROM webhook_deliveries AS sent
          WHERE sent.agent_id = $3
          AND sent.chat_id = $4
          ORDER BY sent.sequence DESC
          LIMIT 1), 0)
      ORDER BY deliveries.sequence
      LIMIT 1) AS fresh
    UNION ALL
    SELECT *
    FROM
    (SELECT deliveries.sequence
      FROM deliveries
      WHERE deliveries.agent_id = $5
      AND deliveries.chat_id = $6
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
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

-- list deliveries
SELECT "webhook_deliveries"."id", "webhook_deliveries"."agent_id", "webhook_deliveries"."chat_id", "webhook_deliveries"."sequence", "webhook_deliveries"."message_id", "webhook_deliveries"."created_at", "webhook_deliveries"."attempts", "webhook_deliveries"."next_attempt_at", "webhook_deliveries"."leased_until", "webhook_deliveries"."attempted_at", "webhook_deliveries"."status", "webhook_deliveries"."error", "webhook_deliveries"."ended_at", "webhook_deliveries"."outcome"
  FROM "webhook_deliveries"
  WHERE ("webhook_deliveries"."agent_id" = $1)
  ORDER BY "webhook_deliveries"."created_at" DESC, "webhook_deliveries"."id" DESC
  LIMIT $2 OFFSET $3;
SELECT "webhook_deliveries"."id", "webhook_deliveries"."agent_id", "webhook_deliveries"."chat_id", "webhook_deliveries"."sequence", "webhook_deliveries"."message_id", "webhook_deliveries"."created_at", "webhook_deliveries"."attempts", "webhook_deliveries"."next_attempt_at", "webhook_deliveries"."leased_until", "webhook_deliveries"."attempted_at", "webhook_deliveries"."status", "webhook_deliveries"."error", "webhook_deliveries"."ended_at", "webhook_deliveries"."outcome"
  FROM "webhook_deliveries"
  WHERE ((("webhook_deliveries"."agent_id" = $1)
      AND ("webhook_deliveries"."created_at" <= $2))
    AND (("webhook_deliveries"."created_at" < $3) OR (("webhook_deliveries"."created_at" = $4)
        AND ("webhook_deliveries"."id" < $5))))
  ORDER BY "webhook_deliveries"."created_at" DESC, "webhook_deliveries"."id" DESC
  LIMIT $6 OFFSET $7;

-- resend
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2
  FOR UPDATE;
SELECT "webhook_deliveries"."id", "webhook_deliveries"."agent_id", "webhook_deliveries"."chat_id", "webhook_deliveries"."sequence", "webhook_deliveries"."message_id", "webhook_deliveries"."created_at", "webhook_deliveries"."attempts", "webhook_deliveries"."next_attempt_at", "webhook_deliveries"."leased_until", "webhook_deliveries"."attempted_at", "webhook_deliveries"."status", "webhook_deliveries"."error", "webhook_deliveries"."ended_at", "webhook_deliveries"."outcome"
  FROM "webhook_deliveries"
  WHERE ((("webhook_deliveries"."agent_id" = $1)
      AND ("webhook_deliveries"."chat_id" = $2))
    AND ("webhook_deliveries"."ended_at" IS NULL))
  LIMIT $3
  FOR UPDATE;
SELECT "webhook_deliveries"."id", "webhook_deliveries"."agent_id", "webhook_deliveries"."chat_id", "webhook_deliveries"."sequence", "webhook_deliveries"."message_id", "webhook_deliveries"."created_at", "webhook_deliveries"."attempts", "webhook_deliveries"."next_attempt_at", "webhook_deliveries"."leased_until", "webhook_deliveries"."attempted_at", "webhook_deliveries"."status", "webhook_deliveries"."error", "webhook_deliveries"."ended_at", "webhook_deliveries"."outcome"
  FROM "webhook_deliveries"
  WHERE (("webhook_deliveries"."id" = $1)
    AND ("webhook_deliveries"."agent_id" = $2))
  LIMIT $3
  FOR UPDATE;

-- find old deliveries
SELECT one.id
  FROM webhooks
  JOIN LATERAL
  (SELECT one.id, one.agent_id, one.chat_id
    FROM webhook_deliveries AS one
    WHERE one.agent_id = webhooks.agent_id
    AND one.created_at <= $1
    AND one.ended_at <= $2
    AND one.ended_at IS NOT NULL
    AND
    ((SELECT 1
        FROM webhook_deliveries AS later
        WHERE later.agent_id = one.agent_id
        AND later.chat_id = one.chat_id
        AND later.sequence > one.sequence
        LIMIT 1) IS NOT NULL OR
      (SELECT 1
        FROM deliveries
        WHERE deliveries.agent_id = one.agent_id
        AND deliveries.chat_id = one.chat_id
        AND deliveries.sequence <= one.sequence
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.addressed
        LIMIT 1) IS NULL)
    AND
    (SELECT 1
      FROM deliveries
      WHERE deliveries.agent_id = one.agent_id
      AND deliveries.chat_id = one.chat_id
      AND deliveries.sequence = one.sequence
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
      AND deliveries.restarted_at IS NOT NULL
      LIMIT 1) IS NULL
    LIMIT $3) AS one
  ON TRUE
  LIMIT $4;
SELECT one.id
  FROM webhooks
  JOIN LATERAL
  (SELECT one.id, one.agent_id, one.chat_id
    FROM webhook_deliveries AS one
    WHERE one.agent_id = webhooks.agent_id
    AND one.created_at <
    (SELECT newest.created_at
      FROM webhook_deliveries AS newest
      WHERE newest.agent_id = webhooks.agent_id
      ORDER BY newest.created_at DESC, newest.id DESC
      LIMIT 1 OFFSET $1)
    AND one.ended_at IS NOT NULL
    AND
    ((SELECT 1
        FROM webhook_deliveries AS later
        WHERE later.agent_id = one.agent_id
        AND later.chat_id = one.chat_id
        AND later.sequence > one.sequence
        LIMIT 1) IS NOT NULL OR
      (SELECT 1
        FROM deliveries
        WHERE deliveries.agent_id = one.agent_id
        AND deliveries.chat_id = one.chat_id
        AND deliveries.sequence <= one.sequence
        AND deliveries.processed_at IS NULL
        AND deliveries.dead_at IS NULL
        AND deliveries.addressed
        LIMIT 1) IS NULL)
    AND
    (SELECT 1
      FROM deliveries
      WHERE deliveries.agent_id = one.agent_id
      AND deliveries.chat_id = one.chat_id
      AND deliveries.sequence = one.sequence
      AND deliveries.processed_at IS NULL
      AND deliveries.dead_at IS NULL
      AND deliveries.addressed
      AND deliveries.restarted_at IS NOT NULL
      LIMIT 1) IS NULL
    LIMIT $2) AS one
  ON TRUE
  LIMIT $3;
SELECT one.id
  FROM organization_webhook_deliveries AS one
  WHERE one.ended_at <= $1
  LIMIT $2;
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
    LIMIT 1 OFFSET $1)
  LIMIT $2;

-- forget deliveries
DELETE
  FROM "webhook_deliveries"
  WHERE (("webhook_deliveries"."id" = ANY($1))
    AND ("webhook_deliveries"."ended_at" IS NOT NULL));
DELETE
  FROM organization_webhook_deliveries
  WHERE id IN (
    SELECT id
    FROM organization_webhook_deliveries
    WHERE id = ANY($1)
    AND ended_at IS NOT NULL
    ORDER BY id
    FOR UPDATE SKIP LOCKED);

-- find failing webhooks
SELECT agents.id, agents.handle, agents.name, webhooks.disabled_reason, coalesce(webhooks.disabled_at, webhooks.warned_at) AS since
  FROM webhooks
  CROSS JOIN agents
  WHERE (webhooks.disabled_at IS NOT NULL OR webhooks.warned_at IS NOT NULL)
  AND agents.id = webhooks.agent_id
  AND agents.owner_id = $1
  AND agents.deleted_at IS NULL
  ORDER BY coalesce(webhooks.disabled_at, webhooks.warned_at), agents.id
  LIMIT $2;

-- enable
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2
  FOR UPDATE;
UPDATE webhook_deliveries
  SET next_attempt_at = $1
  WHERE agent_id = $2
  AND ended_at IS NULL
  AND (leased_until IS NULL OR leased_until <= $3);

-- replace the secret
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2
  FOR UPDATE;

-- remove
SELECT "webhooks"."agent_id", "webhooks"."url", "webhooks"."secret", "webhooks"."previous_secret", "webhooks"."previous_until", "webhooks"."earlier_secret", "webhooks"."earlier_until", "webhooks"."failing_since", "webhooks"."warned_at", "webhooks"."disabled_at", "webhooks"."disabled_reason", "webhooks"."created_at", "webhooks"."updated_at"
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1)
  LIMIT $2
  FOR UPDATE;
DELETE
  FROM "webhooks"
  WHERE ("webhooks"."agent_id" = $1);
DELETE
  FROM "webhook_deliveries"
  WHERE ("webhook_deliveries"."agent_id" = $1);

-- set that of an organization
SELECT "organization_webhooks"."organization_id", "organization_webhooks"."url", "organization_webhooks"."secret", "organization_webhooks"."previous_secret", "organization_webhooks"."previous_until", "organization_webhooks"."earlier_secret", "organization_webhooks"."earlier_until", "organization_webhooks"."failing_since", "organization_webhooks"."warned_at", "organization_webhooks"."disabled_at", "organization_webhooks"."disabled_reason", "organization_webhooks"."created_at", "organization_webhooks"."updated_at", "organization_webhooks"."events", "organization_webhooks"."seen_number"
  FROM "organization_webhooks"
  WHERE ("organization_webhooks"."organization_id" = $1)
  LIMIT $2
  FOR UPDATE;
UPDATE organization_webhook_deliveries
  SET next_attempt_at = $1
  WHERE organization_id = $2
  AND ended_at IS NULL
  AND (leased_until IS NULL OR leased_until <= $3);

-- read whether there are any
SELECT webhooks.agent_id, agents.owner_id, users.organization_id
  FROM webhooks
  JOIN agents
  ON agents.id = webhooks.agent_id
  JOIN users
  ON users.id = agents.owner_id
  WHERE webhooks.disabled_at IS NULL;
SELECT EXISTS
  (SELECT "organization_webhooks"."organization_id", "organization_webhooks"."url", "organization_webhooks"."secret", "organization_webhooks"."previous_secret", "organization_webhooks"."previous_until", "organization_webhooks"."earlier_secret", "organization_webhooks"."earlier_until", "organization_webhooks"."failing_since", "organization_webhooks"."warned_at", "organization_webhooks"."disabled_at", "organization_webhooks"."disabled_reason", "organization_webhooks"."created_at", "organization_webhooks"."updated_at", "organization_webhooks"."events", "organization_webhooks"."seen_number"
    FROM "organization_webhooks"
    WHERE ("organization_webhooks"."disabled_at" IS NULL));

-- find that of an organization
SELECT "organization_webhooks"."organization_id", "organization_webhooks"."url", "organization_webhooks"."secret", "organization_webhooks"."previous_secret", "organization_webhooks"."previous_until", "organization_webhooks"."earlier_secret", "organization_webhooks"."earlier_until", "organization_webhooks"."failing_since", "organization_webhooks"."warned_at", "organization_webhooks"."disabled_at", "organization_webhooks"."disabled_reason", "organization_webhooks"."created_at", "organization_webhooks"."updated_at", "organization_webhooks"."events", "organization_webhooks"."seen_number"
  FROM "organization_webhooks"
  WHERE ("organization_webhooks"."organization_id" = $1)
  LIMIT $2;

-- find organizations with events
SELECT organization_webhooks.organization_id AS id
  FROM organization_webhooks
  WHERE organization_webhooks.organization_id > $1
  AND organization_webhooks.disabled_at IS NULL
  AND coalesce(
    (SELECT begun.next_attempt_at <= $2
      FROM organization_webhook_deliveries AS begun
      WHERE begun.organization_id = organization_webhooks.organization_id
      AND begun.ended_at IS NULL),
    (SELECT 1
      FROM audit
      WHERE audit.organization_id BETWEEN organization_webhooks.organization_id
      AND organization_webhooks.organization_id
      AND audit.number > organization_webhooks.seen_number
      ORDER BY audit.organization_id, audit.number
      LIMIT 1) IS NOT NULL)
  ORDER BY organization_webhooks.organization_id
  LIMIT $3;

-- take an event
SELECT "organization_webhooks"."organization_id", "organization_webhooks"."url", "organization_webhooks"."secret", "organization_webhooks"."previous_secret", "organization_webhooks"."previous_until", "organization_webhooks"."earlier_secret", "organization_webhooks"."earlier_until", "organization_webhooks"."failing_since", "organization_webhooks"."warned_at", "organization_webhooks"."disabled_at", "organization_webhooks"."disabled_reason", "organization_webhooks"."created_at", "organization_webhooks"."updated_at", "organization_webhooks"."events", "organization_webhooks"."seen_number"
  FROM "organization_webhooks"
  WHERE ("organization_webhooks"."organization_id" = $1)
  LIMIT $2
  FOR UPDATE;
SELECT "organization_webhook_deliveries"."id", "organization_webhook_deliveries"."organization_id", "organization_webhook_deliveries"."number", "organization_webhook_deliveries"."action", "organization_webhook_deliveries"."created_at", "organization_webhook_deliveries"."attempts", "organization_webhook_deliveries"."next_attempt_at", "organization_webhook_deliveries"."leased_until", "organization_webhook_deliveries"."attempted_at", "organization_webhook_deliveries"."status", "organization_webhook_deliveries"."error", "organization_webhook_deliveries"."ended_at", "organization_webhook_deliveries"."outcome"
  FROM "organization_webhook_deliveries"
  WHERE (("organization_webhook_deliveries"."organization_id" = $1)
    AND ("organization_webhook_deliveries"."ended_at" IS NULL))
  LIMIT $2
  FOR UPDATE;

-- settle an event
SELECT "organization_webhooks"."organization_id", "organization_webhooks"."url", "organization_webhooks"."secret", "organization_webhooks"."previous_secret", "organization_webhooks"."previous_until", "organization_webhooks"."earlier_secret", "organization_webhooks"."earlier_until", "organization_webhooks"."failing_since", "organization_webhooks"."warned_at", "organization_webhooks"."disabled_at", "organization_webhooks"."disabled_reason", "organization_webhooks"."created_at", "organization_webhooks"."updated_at", "organization_webhooks"."events", "organization_webhooks"."seen_number"
  FROM "organization_webhooks"
  WHERE ("organization_webhooks"."organization_id" = $1)
  LIMIT $2
  FOR UPDATE;
SELECT "organization_webhook_deliveries"."organization_id"
  FROM "organization_webhook_deliveries"
  WHERE ("organization_webhook_deliveries"."id" = $1)
  LIMIT $2;
SELECT "organization_webhook_deliveries"."id", "organization_webhook_deliveries"."organization_id", "organization_webhook_deliveries"."number", "organization_webhook_deliveries"."action", "organization_webhook_deliveries"."created_at", "organization_webhook_deliveries"."attempts", "organization_webhook_deliveries"."next_attempt_at", "organization_webhook_deliveries"."leased_until", "organization_webhook_deliveries"."attempted_at", "organization_webhook_deliveries"."status", "organization_webhook_deliveries"."error", "organization_webhook_deliveries"."ended_at", "organization_webhook_deliveries"."outcome"
  FROM "organization_webhook_deliveries"
  WHERE ("organization_webhook_deliveries"."id" = $1)
  LIMIT $2
  FOR UPDATE;

-- list deliveries of events
SELECT "organization_webhook_deliveries"."id", "organization_webhook_deliveries"."organization_id", "organization_webhook_deliveries"."number", "organization_webhook_deliveries"."action", "organization_webhook_deliveries"."created_at", "organization_webhook_deliveries"."attempts", "organization_webhook_deliveries"."next_attempt_at", "organization_webhook_deliveries"."leased_until", "organization_webhook_deliveries"."attempted_at", "organization_webhook_deliveries"."status", "organization_webhook_deliveries"."error", "organization_webhook_deliveries"."ended_at", "organization_webhook_deliveries"."outcome"
  FROM "organization_webhook_deliveries"
  WHERE (("organization_webhook_deliveries"."organization_id" = $1)
    AND ("organization_webhook_deliveries"."number" < $2))
  ORDER BY "organization_webhook_deliveries"."number" DESC
  LIMIT $3 OFFSET $4;

-- resend an event
SELECT "organization_webhooks"."organization_id", "organization_webhooks"."url", "organization_webhooks"."secret", "organization_webhooks"."previous_secret", "organization_webhooks"."previous_until", "organization_webhooks"."earlier_secret", "organization_webhooks"."earlier_until", "organization_webhooks"."failing_since", "organization_webhooks"."warned_at", "organization_webhooks"."disabled_at", "organization_webhooks"."disabled_reason", "organization_webhooks"."created_at", "organization_webhooks"."updated_at", "organization_webhooks"."events", "organization_webhooks"."seen_number"
  FROM "organization_webhooks"
  WHERE ("organization_webhooks"."organization_id" = $1)
  LIMIT $2
  FOR UPDATE;
SELECT "organization_webhook_deliveries"."id", "organization_webhook_deliveries"."organization_id", "organization_webhook_deliveries"."number", "organization_webhook_deliveries"."action", "organization_webhook_deliveries"."created_at", "organization_webhook_deliveries"."attempts", "organization_webhook_deliveries"."next_attempt_at", "organization_webhook_deliveries"."leased_until", "organization_webhook_deliveries"."attempted_at", "organization_webhook_deliveries"."status", "organization_webhook_deliveries"."error", "organization_webhook_deliveries"."ended_at", "organization_webhook_deliveries"."outcome"
  FROM "organization_webhook_deliveries"
  WHERE (("organization_webhook_deliveries"."organization_id" = $1)
    AND ("organization_webhook_deliveries"."ended_at" IS NULL))
  LIMIT $2
  FOR UPDATE;
SELECT "organization_webhook_deliveries"."id", "organization_webhook_deliveries"."organization_id", "organization_webhook_deliveries"."number", "organization_webhook_deliveries"."action", "organization_webhook_deliveries"."created_at", "organization_webhook_deliveries"."attempts", "organization_webhook_deliveries"."next_attempt_at", "organization_webhook_deliveries"."leased_until", "organization_webhook_deliveries"."attempted_at", "organization_webhook_deliveries"."status", "organization_webhook_deliveries"."error", "organization_webhook_deliveries"."ended_at", "organization_webhook_deliveries"."outcome"
  FROM "organization_webhook_deliveries"
  WHERE ("organization_webhook_deliveries"."id" = $1)
  LIMIT $2
  FOR UPDATE;

-- enable that of an organization
SELECT "organization_webhooks"."organization_id", "organization_webhooks"."url", "organization_webhooks"."secret", "organization_webhooks"."previous_secret", "organization_webhooks"."previous_until", "organization_webhooks"."earlier_secret", "organization_webhooks"."earlier_until", "organization_webhooks"."failing_since", "organization_webhooks"."warned_at", "organization_webhooks"."disabled_at", "organization_webhooks"."disabled_reason", "organization_webhooks"."created_at", "organization_webhooks"."updated_at", "organization_webhooks"."events", "organization_webhooks"."seen_number"
  FROM "organization_webhooks"
  WHERE ("organization_webhooks"."organization_id" = $1)
  LIMIT $2
  FOR UPDATE;
UPDATE organization_webhook_deliveries
  SET next_attempt_at = $1
  WHERE organization_id = $2
  AND ended_at IS NULL
  AND (leased_until IS NULL OR leased_until <= $3);

-- remove that of an organization
SELECT "organization_webhooks"."organization_id", "organization_webhooks"."url", "organization_webhooks"."secret", "organization_webhooks"."previous_secret", "organization_webhooks"."previous_until", "organization_webhooks"."earlier_secret", "organization_webhooks"."earlier_until", "organization_webhooks"."failing_since", "organization_webhooks"."warned_at", "organization_webhooks"."disabled_at", "organization_webhooks"."disabled_reason", "organization_webhooks"."created_at", "organization_webhooks"."updated_at", "organization_webhooks"."events", "organization_webhooks"."seen_number"
  FROM "organization_webhooks"
  WHERE ("organization_webhooks"."organization_id" = $1)
  LIMIT $2
  FOR UPDATE;
DELETE
  FROM "organization_webhooks"
  WHERE ("organization_webhooks"."organization_id" = $1);
DELETE
  FROM "organization_webhook_deliveries"
  WHERE ("organization_webhook_deliveries"."organization_id" = $1);
