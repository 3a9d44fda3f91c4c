use std::sync::Arc;

use domain::delivery::DeliveryStep;
use domain::id::ParticipantId;
use domain::message::{Cause, Place};
use testkit::postgres::server;
use testkit::{Stores, World};

use super::*;
use crate::group_commit::tests::{decide_again, write_once};
use crate::{PostgresConfig, PostgresStore};

/// Writes the message. The answer is lost, so its cause is not known.
async fn write(store: &PostgresStore, new: &NewMessage, end: &'static str) -> DecidedAppends {
    let mut decided = write_once(store, &Messages::default(), new, end).await;
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

    let new = world.new_text(chat, ParticipantId::Agent(bot.id), "done");
    let work = Messages::default();
    let mut lost = write(&store, &new, "ROLLBACK").await;
    assert!(decide_again(&store, &work, &new, &mut lost).await.is_some(), "it is not stored");
    let mut kept = write(&store, &new, "COMMIT").await;
    assert!(decide_again(&store, &work, &new, &mut kept).await.is_none());
    let originator = ParticipantId::User(ann.id);
    let place = Place { message: Some(asked.id), root: asked.id, hop: 1, originator };
    assert_eq!(kept.outcomes[0].as_ref().unwrap().message.cause, Cause::Known(place));
}
