//! Whether frequent statements could run where rooms are distributed: they say of which room they read.

use std::collections::BTreeSet;

/// Frequent statements, which another test compares with those that run.
const HOT: &str = include_str!("hot.sql");

/// Where messages and deliveries are read without their room: by the ids of messages, and by the agent whose open attempts
/// may be the cause of a message.
const WITHOUT_ROOM: [&str; 8] = [
    "FROM deliveries WHERE agent_id = sender.id AND processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0 LIMIT 1",
    "FROM deliveries WHERE new.counts_attempts AND deliveries.agent_id = new.sender_id \
     AND deliveries.chat_id <> new.chat_id AND () AND NOT EXISTS () AND deliveries.processed_at IS NULL \
     AND deliveries.dead_at IS NULL AND deliveries.current_attempt > 0 LIMIT 100",
    "FROM messages CROSS JOIN LATERAL () AS deliveries WHERE messages.id = ANY() ORDER BY deliveries.agent_id",
    "FROM messages WHERE id = ANY()",
    "FROM messages WHERE id = ANY() ORDER BY chat_id, sequence",
    "FROM messages WHERE id = ANY() ORDER BY id FOR NO KEY UPDATE",
    "FROM messages WHERE id = ANY() ORDER BY id FOR NO KEY UPDATE SKIP LOCKED",
    "FROM messages WHERE messages.id = given.message_id OFFSET 0",
];

/// From here to the end of the query, without what is in parentheses, of which [`Self::conditions`] are kept.
struct Access {
    text: String,
    conditions: String,
}

impl Access {
    fn of(from: &str) -> Self {
        let (mut depth, mut text, mut conditions) = (0, String::new(), String::new());
        for letter in from.chars() {
            match letter {
                ';' => break,
                ')' if depth == 0 => break,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                text.push(letter);
            } else {
                conditions.push(letter);
            }
            if letter == '(' {
                depth += 1;
            }
        }
        Self { text: text.trim().to_owned(), conditions }
    }

    /// diesel puts all conditions into parentheses.
    fn names_room(&self) -> bool {
        self.text.contains("chat_id = ") || self.conditions.contains("\"messages\".\"chat_id\" = ")
    }
}

#[test]
fn frequent_statements_name_the_room() {
    let flat = HOT.split_whitespace().collect::<Vec<_>>().join(" ");
    let tables = ["messages", "\"messages\"", "deliveries", "\"deliveries\"", "attempts", "\"attempts\""];
    let read = tables.iter().flat_map(|table| ["FROM", "UPDATE"].map(|word| format!("{word} {table} ")));
    let read = read.flat_map(|begin| {
        let found = flat.match_indices(&begin).map(|(index, _)| Access::of(&flat[index..]));
        found.collect::<Vec<_>>()
    });
    let read = read.collect::<Vec<_>>();
    assert!(read.len() > 30, "the statements were not found: {}", read.len());
    let without = read.iter().filter(|access| !access.names_room()).map(|access| access.text.as_str());
    assert_eq!(without.collect::<BTreeSet<_>>(), BTreeSet::from(WITHOUT_ROOM));
}
