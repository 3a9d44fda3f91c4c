//! What is told is found however much there is.

use testkit::notification_walk::walk;

use super::fill::Size;
use super::*;

const SIZE: Size = Size { messages: 100_000, rooms: 100, users: 100 };

/// One for each message outside the large chat, all of which were sent.
const FILL: &str = "INSERT INTO notifications (id, channel_id, user_id, kind, chat_id, message_id, created_at, due_at, is_gathered, \
         attempts, ended_at, outcome) \
     SELECT id, chat_id, sender_id, 'mention', chat_id, id, created_at, created_at, FALSE, 1, now() + interval '100 years', \
         'delivered' \
     FROM messages WHERE chat_id <> '{chat}'";

#[tokio::test]
async fn notifications_are_found_along_indexes() {
    let mut watched = Watched::open_with(SIZE).await;
    let (ann, bot, chat) = (watched.ann.clone(), watched.bot.clone(), watched.chat);
    watched.client.batch_execute(&FILL.replace("{chat}", &chat.uuid().to_string())).await.unwrap();
    for _ in ["before the tables are analysed", "after"] {
        let world = World::on(Stores::of(&watched.store, PostgresStore::close));
        world.clock.advance(Duration::from_secs(if watched.is_analysed { 3000 } else { 2000 }));
        if watched.is_analysed {
            watched.analyse().await;
        }
        watched.plans().await;
        let mut before = watched.read().await;
        walk(&world, &ann, &bot, chat, async |what| {
            // The newest texts of each room that have not been read are looked at, and each room of the user.
            let rows = if what.starts_with("make those") { 30_000 } else { 400 };
            watched.note(what, rows, &mut before).await;
        })
        .await;
        watched.is_analysed = true;
    }
    watched.end();
}
