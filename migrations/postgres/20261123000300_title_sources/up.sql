-- The room's first text, if no title was given when it came: what the title was made from. Where that text is not for
-- every agent in the room, or has gone, the title is null and stays so.
ALTER TABLE chats ADD COLUMN titled_by uuid;

-- Rooms whose title was made from one of their first texts: it is a line of it without the markers of mentions, white
-- space apart, and cut where it ends in an ellipsis. Behind handles it may begin within the line.
UPDATE chats SET titled_by = (
    WITH plain AS (
        SELECT id, sequence,
            E'\n' || regexp_replace(regexp_replace(text, '@\[\[.{36}\]\]', '', 'g'), '[ \t\r]', '', 'g') || E'\n' AS text,
            replace(rtrim(chats.title, '…'), ' ', '')
                || CASE WHEN chats.title LIKE '%…' THEN '' ELSE E'\n' END AS title
        FROM (
            SELECT id, sequence, left(content, 8000) AS text FROM messages
            WHERE messages.chat_id = chats.id AND messages.kind = 'text'
            ORDER BY messages.sequence LIMIT 3
        ) AS first_texts
    )
    SELECT id FROM plain
    WHERE strpos(text, E'\n' || title) > 0 OR (text LIKE E'\n@%' AND strpos(text, title) > 0)
    ORDER BY sequence LIMIT 1
) WHERE title IS NOT NULL;

-- A title that an agent in the room may not read is taken away.
UPDATE chats SET title = NULL
WHERE title IS NOT NULL AND titled_by IS NOT NULL AND EXISTS (
    SELECT 1 FROM participants
    WHERE participants.chat_id = chats.id AND participants.kind = 'Agent' AND participants.left_at IS NULL
    AND participants.participant_id <> (SELECT sender_id FROM messages WHERE messages.id = chats.titled_by)
    AND NOT EXISTS (
        SELECT 1 FROM deliveries
        WHERE deliveries.message_id = chats.titled_by AND deliveries.agent_id = participants.participant_id
        AND deliveries.addressed
    )
);
