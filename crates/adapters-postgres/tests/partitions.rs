//! The script that partitions the largest tables by room. With `PARLANCE_TEST_PARTITIONED`, all other tests of this folder
//! run on stores that it has changed, as `scripts/test --full` does with the contract of the ports.

#[expect(dead_code, reason = "no test here needs all ports")]
mod common;

use common::partition;

/// Messages and deliveries stay, each in the partition of its room, and a second run changes nothing.
#[tokio::test]
async fn the_script_keeps_every_row() {
    let database = common::database().await;
    let (client, connection) = tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let rows = "INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, \
                    created_at, updated_at) \
                SELECT gen_random_uuid(), gen_random_uuid(), n, 'text', n::text, gen_random_uuid(), 'User', 'Ann', '[]', now(), now() \
                FROM generate_series(1, 100) AS n; \
                INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt) \
                SELECT gen_random_uuid(), chat_id, sequence, TRUE, 0 FROM messages";
    client.batch_execute(rows).await.unwrap();
    let content = async || {
        let sum = "SELECT md5(string_agg(content || chat_id || agent_id, ' ' ORDER BY sequence)) \
                   FROM messages JOIN deliveries USING (chat_id, sequence)";
        client.query_one(sum, &[]).await.unwrap().get::<_, String>(0)
    };
    let before = content().await;
    partition(&database.url()).unwrap();
    assert_eq!(content().await, before);
    let parts = "SELECT count(DISTINCT tableoid) FROM messages UNION ALL SELECT count(DISTINCT tableoid) FROM deliveries";
    let parts = client.query(parts, &[]).await.unwrap();
    assert_eq!(parts.iter().map(|row| row.get(0)).collect::<Vec<i64>>(), [4, 4]);
    let again = partition(&database.url()).unwrap_err();
    assert!(again.contains("The table messages is partitioned already."), "{again}");
    assert_eq!(content().await, before);
}
