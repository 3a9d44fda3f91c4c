use std::sync::Arc;

use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use domain::delivery::DeliveryRepository;
use domain::id::ParticipantId;
use domain::ports::Clock;
use futures_util::future::join_all;
use testkit::postgres::server;
use testkit::{Stores, World};
use tokio_postgres::{Client, NoTls};

use super::*;
use crate::statement::statement;
use crate::{PostgresConfig, PostgresStore};

/// How often the statements of [`next_on`] have run on the only connection.
async fn runs(store: &PostgresStore) -> i64 {
    let connection = store.pool.acquire().await.unwrap();
    let runs = statement::<BigInt>(
        "SELECT coalesce(sum(generic_plans + custom_plans), 0)::int8 FROM pg_prepared_statements \
         WHERE statement LIKE ?",
    );
    let runs = runs.bind::<Text, _>("% AS asked (agent, chat%");
    let runs = runs.get_result(&mut connection.db()).await.unwrap();
    connection.release();
    runs
}

/// One statement finds the backlogs that are empty, and one more the messages of the others. A message that cannot be read
/// fails alone.
#[tokio::test]
async fn questions_that_wait_share_a_statement_and_fail_alone() {
    let database = server().database();
    let config = PostgresConfig { connections: 1, ..PostgresConfig::at(&database.url()) };
    let store = Arc::new(PostgresStore::open(&config).await.unwrap());
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let mut agents = Vec::new();
    for number in 0..10 {
        agents.push(world.agent(&ann, &format!("Bot {number}")).await);
    }
    let chat = world.chat(ann.caller, &agents.iter().map(|agent| agent.id.into()).collect::<Vec<_>>()).await;
    let all = async || {
        let before = runs(&store).await;
        let next = agents.iter().map(|agent| store.next(agent.id, chat, world.clock.now()));
        let found = join_all(next).await;
        let found = found.into_iter().map(|found| found.map(|found| found.unwrap().message));
        (found.collect::<Vec<_>>(), runs(&store).await - before)
    };

    let (found, runs) = all().await;
    assert!(found.into_iter().all(|found| found.unwrap().is_none()));
    assert_eq!(runs, 1);

    let mut sent = Vec::new();
    for agent in &agents[..3] {
        sent.push(world.send(ann.caller, chat, "work", &[ParticipantId::Agent(agent.id)]).await.id);
    }
    let (found, runs) = all().await;
    let found = found.into_iter().filter_map(Result::unwrap).map(|message| message.id);
    assert_eq!((found.collect::<Vec<_>>(), runs), (sent.clone(), 2));

    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let damage = "UPDATE messages SET mentions = 'none' WHERE id = $1::text::uuid";
    Client::execute(&client, damage, &[&sent[1].uuid().to_string()]).await.unwrap();
    let (mut found, _) = all().await;
    assert!(matches!(found.remove(1), Err(StoreError::Broken(_))));
    assert_eq!(found.into_iter().filter_map(Result::unwrap).count(), 2);
}

/// While the database does not answer, requests for the next message leave connections to everything else.
#[tokio::test]
async fn a_slow_database_does_not_give_all_connections_to_groups() {
    let database = server().database();
    let config = PostgresConfig { connections: 4, ..PostgresConfig::at(&database.url()) };
    let store = Arc::new(PostgresStore::open(&config).await.unwrap());
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let sent = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;

    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    Client::batch_execute(&client, "BEGIN; LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut asked = Vec::new();
    // Each begins when the group before it has had its turn.
    for _ in 0..2 * config.connections {
        let mut next = Box::pin(store.next(bot.id, chat, world.clock.now()));
        assert!(timeout(TURN * 4, &mut next).await.is_err(), "it waits for the lock");
        asked.push(next);
    }
    let others = join_all((1..config.connections).map(|_| store.pool.acquire())).await;
    for connection in others {
        connection.unwrap().release();
    }
    Client::batch_execute(&client, "COMMIT").await.unwrap();
    for found in join_all(asked).await {
        assert_eq!(found.unwrap().unwrap().message.unwrap().id, sent);
    }
}
