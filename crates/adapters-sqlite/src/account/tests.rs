//! Revoked keys and deleted agents: no port changes them yet, so the rows are marked by hand.

use std::sync::Arc;

use diesel::connection::SimpleConnection;
use domain::account::{AgentListing, AgentRepository, AuthenticateError};
use domain::page::{PageRequest, Slice};
use testkit::{Stores, World};

use crate::{Location, SqliteStore};

async fn mark(store: &SqliteStore, statement: &'static str) {
    store.alter(move |connection| Ok(connection.batch_execute(statement)?)).await.unwrap();
}

#[tokio::test]
async fn a_revoked_key_opens_nothing() {
    let store = Arc::new(SqliteStore::open(&Location::Memory).unwrap());
    let world = World::on(Stores::of(&store, SqliteStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    mark(&store, "UPDATE api_keys SET revoked_at = 1 WHERE agent_id IS NOT NULL").await;
    let refused = world.accounts.authenticate(&bot.key).await;
    assert!(matches!(refused, Err(AuthenticateError::Unauthorized)), "{refused:?}");
    assert!(store.find_agent(bot.id).await.unwrap().is_some(), "the agent itself is still there");
    assert!(world.accounts.authenticate(&ann.key).await.is_ok(), "other keys are as they were");
}

#[tokio::test]
async fn a_deleted_agent_is_gone_but_its_handle_stays_taken() {
    let store = Arc::new(SqliteStore::open(&Location::Memory).unwrap());
    let world = World::on(Stores::of(&store, SqliteStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[]).await;
    mark(&store, "UPDATE agents SET deleted_at = 1").await;

    let refused = world.accounts.authenticate(&bot.key).await;
    assert!(matches!(refused, Err(AuthenticateError::Unauthorized)), "{refused:?}");
    assert_eq!(store.find_agent(bot.id).await.unwrap(), None);
    let page = PageRequest { slice: Slice::Numbered { number: 1, size: 10 }, count: true };
    let listed = store.list_agents(ann.id, AgentListing::default(), page).await.unwrap();
    assert_eq!((listed.rows.len(), listed.total), (0, Some(0)));
    let command =
        domain::chat::AddParticipantCommand { candidate: bot.id.into(), role: domain::chat::Role::Member };
    assert!(world.chats.add_participant(ann.caller, chat, command).await.is_err());

    let again = world.agent(&ann, "Bot").await;
    assert_eq!(again.handle, "ann/bot-2", "the name is free again, the handle never");
}
