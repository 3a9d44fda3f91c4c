//! Configurations of push notifications are found however many there are.

use domain::push::PushTask;
use testkit::push_walk::walk;

use super::fill::Size;
use super::*;

const SIZE: Size = Size { messages: 100_000, rooms: 100, users: 100 };

/// One for each message outside the large chat, all of tasks that have ended, and none of them due.
const FILL: &str = "INSERT INTO push_configs (id, chat_id, message_id, agent_id, name, caller_kind, caller_id, user_id, url, \
         ended_at, is_final, created_at, news_at, attempts, failures, next_at) \
     SELECT id, chat_id, id, '{bot}', 'one', 'User', '{ann}', '{ann}', 'https://a.example/', \
         created_at, TRUE, created_at, created_at, 1, 0, now() + interval '100 years' \
     FROM messages WHERE chat_id <> '{chat}'";

#[tokio::test]
async fn push_configurations_are_found_along_indexes() {
    let mut watched = Watched::open_with(SIZE).await;
    let (ann, bot, chat) = (watched.ann.clone(), watched.bot.clone(), watched.chat);
    let fill = FILL
        .replace("{bot}", &bot.id.uuid().to_string())
        .replace("{ann}", &ann.id.uuid().to_string())
        .replace("{chat}", &chat.uuid().to_string());
    watched.client.batch_execute(&fill).await.unwrap();
    for _ in ["before the tables are analysed", "after"] {
        let world = World::on(Stores::of(&watched.store, PostgresStore::close));
        world.clock.advance(Duration::from_secs(if watched.is_analysed { 3000 } else { 2000 }));
        if watched.is_analysed {
            watched.analyse().await;
        }
        let first = world.send(ann.caller, chat, "hello", &[ParticipantId::Agent(bot.id)]).await.id;
        watched.plans().await;
        let mut before = watched.read().await;
        walk(&world, &ann, PushTask { chat, first, agent: bot.id }, async |what| {
            watched.note(what, 300, &mut before).await;
        })
        .await;
        watched.is_analysed = true;
    }
    watched.end();
}
