//! Changes that wait for locks while they run.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod common;

use std::sync::Arc;

use domain::account::{AgentDescription, AgentName, RegisterAgent, RegisterError};
use domain::chat::{CreateChat, CreateChatError};
use domain::message::{MessageContent, SendMessage, SendMessageError};
use domain::plan::{AssignPlan, LimitReached, Plan, PlanName, WhichOrganization};
use testkit::postgres::Database;
use testkit::{TestUser, World, until};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

async fn world() -> (Arc<World>, Database) {
    let (stores, database) = common::store().await;
    (Arc::new(World::on(stores)), database)
}

/// A connection in addition to the store's.
async fn connect(database: &Database) -> Client {
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn count(client: &Client, what: &str) -> i64 {
    client.query_one(&format!("SELECT count(*) FROM {what}"), &[]).await.unwrap().get(0)
}

/// Until so many changes wait for others.
async fn until_waiting(client: &Client, number: i64) {
    let waiting = "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let all_wait = async || count(client, waiting).await == number;
    until(&format!("{number} changes do not wait"), all_wait).await;
}

/// Makes a room.
async fn room(world: &World, ann: &TestUser) -> Option<LimitReached> {
    match world.chats.create(ann.caller, CreateChat::default()).await {
        Ok(_) => None,
        Err(CreateChatError::Limit(reached)) => Some(reached),
        Err(other) => panic!("{other}"),
    }
}

/// Registers an agent.
async fn agent(world: &World, ann: &TestUser, name: &str) -> Option<LimitReached> {
    let (name, description) = (AgentName::new(name).unwrap(), AgentDescription::new("x").unwrap());
    match world.accounts.register_agent(ann.caller, RegisterAgent { name, description }).await {
        Ok(_) => None,
        Err(RegisterError::Limit(reached)) => Some(reached),
        Err(other) => panic!("{other}"),
    }
}

/// The first is made under a wider plan and is not finished when another plan is given, or that plan gets
/// other limits: what is made afterwards counts it, whatever the limits were before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_counts_for_a_plan_that_is_given_meanwhile() {
    let (world, database) = world().await;
    let (holder, watcher) = (connect(&database).await, connect(&database).await);
    let plan = |name: &str, limit| Plan {
        name: PlanName::new(name).unwrap(),
        agents: limit,
        chats: limit,
        ..Plan::enterprise()
    };
    for before in [plan("unlimited", None), plan("wide", Some(9))] {
        for (table, given) in
            [("participants", true), ("agents", true), ("participants", false), ("agents", false)]
        {
            let name = format!("{}-{table}{given}", before.name.as_str());
            let (ann, bob) = (world.user_with_plan(&name, before.clone()).await, format!("{name}-bot"));
            world.plans.configure(vec![before.clone(), plan("one", Some(1))]).await.unwrap();
            let make = async |world: &World, name: &str| match table {
                "agents" => agent(world, &ann, name).await,
                _ => room(world, &ann).await,
            };
            holder.batch_execute(&format!("BEGIN; LOCK TABLE {table} IN SHARE MODE")).await.unwrap();
            let first = make(&world, &bob);
            let then = async {
                until_waiting(&watcher, 1).await;
                if given {
                    let organization = WhichOrganization::OfUser(name.clone());
                    let give = AssignPlan { organization, plan: PlanName::new("one").unwrap() };
                    world.plans.assign(give).await.unwrap().unwrap();
                } else {
                    let narrow = plan(before.name.as_str(), Some(1));
                    world.plans.configure(vec![narrow, plan("one", Some(1))]).await.unwrap();
                }
                make(&world, "Second").await
            };
            let release = async {
                until_waiting(&watcher, 2).await;
                holder.batch_execute("COMMIT").await.unwrap();
            };
            let (first, second, ()) = tokio::join!(first, then, release);
            assert_eq!(first, None);
            let reached = second.unwrap_or_else(|| panic!("{name}: two where one is allowed"));
            assert_eq!((reached.current, reached.limit), (1, 1), "{name}");
        }
    }
}

/// Each of the two takes away what both have in common.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_contacts_that_go_at_once_do_not_stop_each_other() {
    let (world, database) = world().await;
    let (holder, watcher) = (connect(&database).await, connect(&database).await);
    let ann = world.user("ann").await;
    for round in 0..6 {
        let one = world.agent(&ann, &format!("One {round}")).await;
        let other = world.agent(&ann, &format!("Other {round}")).await;
        world.connect((one.caller, &one.handle), (other.caller, &other.handle)).await;
        // Either of their two records stops both, by turns.
        let of = [&one, &other][round % 2].id.uuid();
        let hold = format!("BEGIN; SELECT 1 FROM contacts WHERE owner_id = '{of}' FOR UPDATE");
        holder.batch_execute(&hold).await.unwrap();
        let going = [&one, &other].map(|agent| {
            let (accounts, caller, agent) = (world.accounts.clone(), ann.caller, agent.id);
            tokio::spawn(async move { accounts.delete_agent(caller, agent, true).await.unwrap() })
        });
        until_waiting(&watcher, 2).await;
        holder.batch_execute("COMMIT").await.unwrap();
        let each_other = "pg_stat_activity one, pg_stat_activity other WHERE one.datname = current_database() \
             AND one.wait_event_type = 'Lock' AND other.wait_event_type = 'Lock' \
             AND one.pid = ANY(pg_blocking_pids(other.pid)) AND other.pid = ANY(pg_blocking_pids(one.pid))";
        until("the deletions do not end", async || {
            assert_eq!(count(&watcher, each_other).await, 0, "round {round}: they wait for each other");
            going.iter().all(JoinHandle::is_finished)
        })
        .await;
        for task in going {
            task.await.unwrap();
        }
    }
    assert_eq!(count(&watcher, "contacts").await, 0);
}

/// A message that waits for its room while a plan is given is counted by that plan.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_waits_for_its_room_is_counted_by_the_plan_of_then() {
    let (world, database) = world().await;
    let (holder, watcher) = (connect(&database).await, connect(&database).await);
    let ann = world.user("ann").await;
    let full = Plan { name: PlanName::new("full").unwrap(), messages: Some(0), ..Plan::enterprise() };
    world.plans.configure(vec![full.clone()]).await.unwrap();
    let chat = world.chat(ann.caller, &[]).await;
    holder
        .batch_execute(&format!("BEGIN; SELECT 1 FROM chats WHERE id = '{chat}' FOR UPDATE"))
        .await
        .unwrap();
    let (messages, caller) = (world.messages.clone(), ann.caller);
    let content = MessageContent::new("waits".to_owned()).unwrap();
    let sending = tokio::spawn(async move {
        messages
            .send(
                caller,
                chat,
                SendMessage {
                    content,
                    mentions: Vec::new(),
                    respond_by: None,
                    in_reply_to: None,
                    attachments: Vec::new(),
                },
            )
            .await
    });
    until_waiting(&watcher, 1).await;
    let organization = WhichOrganization::OfUser("ann".to_owned());
    world.plans.assign(AssignPlan { organization, plan: full.name }).await.unwrap().unwrap();
    holder.batch_execute("COMMIT").await.unwrap();
    let refused = sending.await.unwrap().unwrap_err();
    assert!(matches!(refused, SendMessageError::Limit(_)), "{refused}");
}
