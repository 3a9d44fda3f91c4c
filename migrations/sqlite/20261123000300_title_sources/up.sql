-- The room's first text, if no title was given when it came: what the title was made from. Where that text is not for
-- every agent in the room, or has gone, the title is null and stays so.
ALTER TABLE chats ADD COLUMN titled_by BLOB;

-- Rooms whose title was made from one of their first texts: it is a line of it without the markers of mentions, white
-- space apart, and cut where it ends in an ellipsis. Behind handles it may begin within the line.
UPDATE chats SET titled_by = (
    WITH RECURSIVE plain (id, sequence, text) AS (
        SELECT id, sequence, text FROM (
            SELECT id, sequence, substr(content, 1, 8000) AS text FROM messages
            WHERE messages.chat_id = chats.id AND messages.kind = 'text'
            ORDER BY messages.sequence LIMIT 3
        )
        UNION ALL
        SELECT id, sequence, substr(text, 1, instr(text, '@[[') - 1) || substr(text, instr(text, '@[[') + 41)
        FROM plain
        WHERE instr(text, '@[[') > 0 AND substr(text, instr(text, '@[[') + 39, 2) = ']]'
    ),
    lines (id, sequence, text, title) AS (
        SELECT id, sequence,
            char(10) || replace(replace(replace(text, ' ', ''), char(9), ''), char(13), '') || char(10),
            replace(rtrim(chats.title, '…'), ' ', '') || CASE WHEN chats.title LIKE '%…' THEN '' ELSE char(10) END
        FROM plain
    )
    SELECT id FROM lines
    WHERE instr(text, char(10) || title) > 0 OR (text LIKE char(10) || '@%' AND instr(text, title) > 0)
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
