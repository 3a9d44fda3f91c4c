use std::sync::Arc;

use domain::delivery::DeliveryStep;
use domain::id::{MessageId, ParticipantId};
use domain::message::{Cause, MaxHops, MessageKind, Place};
use domain::ports::Clock;
use testkit::postgres::server;
use testkit::{Stores, World};

use super::*;
use crate::run::execute;
use crate::{PostgresConfig, PostgresStore};

/// Decides the message with long patience after a commit in doubt of `before`; rolls back.
async fn again(
    store: &PostgresStore,
    new: &NewMessage,
    before: &mut DecidedAppends,
) -> Option<DecidedAppends> {
    let connection = store.pool.acquire().await.unwrap();
    let news = std::slice::from_ref(new);
    let work = Messages::default();
    let decided = work.decide_on(connection.db(), news, LockWait::Long, Some(before)).await.unwrap();
    execute(connection.db(), "ROLLBACK").await.unwrap();
    connection.release();
    decided
}

/// Decides and writes the message; commits it if wanted. Its answer is lost, so its cause is not known.
async fn write(store: &PostgresStore, new: &NewMessage, end: &'static str) -> DecidedAppends {
    let connection = store.pool.acquire().await.unwrap();
    let news = std::slice::from_ref(new);
    let work = Messages::default();
    let decided = work.decide_on(connection.db(), news, LockWait::Brief, None).await.unwrap();
    let mut decided = decided.unwrap();
    work.write_on(connection.db(), news, &mut decided).await.unwrap();
    execute(connection.db(), end).await.unwrap();
    connection.release();
    decided.outcomes[0].as_mut().unwrap().message.cause = Cause::None;
    decided
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_in_doubt_is_found_with_its_cause() {
    let database = server().database();
    let config = PostgresConfig { connections: 4, ..PostgresConfig::at(&database.url()) };
    let store = Arc::new(PostgresStore::open(&config).await.unwrap());
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let asked = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await;
    world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    world.deliveries.advance(bot.caller, chat, asked.id, DeliveryStep::Begin).await.unwrap();

    let new = NewMessage {
        id: MessageId::new(Uuid::from_u128(1)),
        chat,
        sender: ParticipantId::Agent(bot.id),
        sender_name: "Bot".to_owned(),
        sender_handle: "ann/bot".to_owned(),
        kind: MessageKind::Text,
        content: "done".to_owned(),
        mentions: Vec::new(),
        metadata: None,
        cause: Cause::None,
        respond_by: None,
        max_hops: MaxHops::default(),
        is_notice: false,
        keyed: None,
        now: world.clock.now(),
    };
    let mut lost = write(&store, &new, "ROLLBACK").await;
    assert!(again(&store, &new, &mut lost).await.is_some(), "it is not stored");
    let mut kept = write(&store, &new, "COMMIT").await;
    assert!(again(&store, &new, &mut kept).await.is_none());
    let originator = ParticipantId::User(ann.id);
    let place = Place { message: Some(asked.id), root: asked.id, hop: 1, originator };
    assert_eq!(kept.outcomes[0].as_ref().unwrap().message.cause, Cause::Known(place));
}
