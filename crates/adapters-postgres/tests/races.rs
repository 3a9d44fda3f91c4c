//! Concurrent changes of accounts and plans, each of which would be allowed alone.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod common;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use domain::account::{
    AgentChanges, AgentDescription, AgentName, CreateUser, CreateUserError, DeleteAgentError,
    InitialOrganization, RegisterAgent, RegisterError, UpdateAgentError, UserHandle, parse_email,
    parse_person_name,
};
use domain::chat::{AddParticipantCommand, AddParticipantError, CreateChat, CreateChatError, Role};
use domain::id::{MessageId, ParticipantId};
use domain::message::{Ageing, EraseOld, MessageRepository, Retention};
use domain::organization::OrganizationRole;
use domain::plan::{OrganizationName, Plan, PlanName};
use domain::ports::Clock;
use domain::time::Timestamp;
use testkit::World;
use testkit::postgres::Database;
use tokio::task::JoinHandle;

async fn world() -> (World, Database) {
    let (stores, database) = common::store().await;
    (World::on(stores), database)
}

/// What all came to; they were started before any is waited for.
async fn all<T>(started: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    let mut done = Vec::new();
    for task in started.into_iter().collect::<Vec<_>>() {
        done.push(task.await.unwrap());
    }
    done
}

/// How many rows there are that must not be.
async fn count(database: &Database, text: &str) -> i64 {
    let (client, connection) = tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.query_one(text, &[]).await.unwrap().get(0)
}

/// What was refused must have been refused for this reason.
fn granted<T, E: Debug>(outcomes: Vec<Result<T, E>>, reason: impl Fn(&E) -> bool) -> Vec<T> {
    let known = |outcome: Result<T, E>| match outcome {
        Ok(done) => Some(done),
        Err(error) if reason(&error) => None,
        Err(error) => panic!("{error:?}"),
    };
    outcomes.into_iter().filter_map(known).collect()
}

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_of_one_owner_never_share_a_name_or_a_handle() {
    let (world, _database) = world().await;
    let ann = world.user("ann").await;
    let names = ["Bot", "BOT", "bot", "Bot", "b-o-t", "Bot", "bOt", "Bot"];
    let started = names.map(|text| {
        let (accounts, caller) = (world.accounts.clone(), ann.caller);
        let command = RegisterAgent { name: name(text), description: AgentDescription::new("x").unwrap() };
        tokio::spawn(async move { accounts.register_agent(caller, command).await })
    });
    let made = granted(all(started).await, |error| matches!(error, RegisterError::NameTaken));
    assert_eq!(made.len(), 5, "one 'Bot', and each of the others");
    let mut handles = made.iter().map(|made| made.agent.handle.as_str()).collect::<Vec<_>>();
    handles.sort_unstable();
    assert_eq!(handles, ["ann/b-o-t", "ann/bot", "ann/bot-2", "ann/bot-3", "ann/bot-4"]);

    let started = made.iter().map(|made| {
        let (accounts, caller, agent) = (world.accounts.clone(), ann.caller, made.agent.id);
        let changes = AgentChanges { name: Some(name("Same")), ..AgentChanges::default() };
        tokio::spawn(async move { accounts.update_agent(caller, agent, changes).await })
    });
    let renamed = granted(all(started).await, |error| matches!(error, UpdateAgentError::NameTaken));
    assert_eq!(renamed.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_and_organizations_are_named_once() {
    let (world, _database) = world().await;
    let started = (0..12).map(|number| {
        let accounts = world.accounts.clone();
        let named = OrganizationName::new(if number % 2 == 0 { "Acme" } else { "ACME" }).unwrap();
        let command = CreateUser {
            // Each handle is wished for three times, with one address in two cases.
            handle: UserHandle::new(&format!("user-{}", number / 3)).unwrap(),
            email: parse_email(&format!("{}{}@example.org", ["u", "U", "u"][number % 3], number / 3))
                .unwrap(),
            name: parse_person_name("One").unwrap(),
            initial_organization: if number < 6 {
                InitialOrganization::Own
            } else {
                InitialOrganization::Named(named, OrganizationRole::Member)
            },
            plan: PlanName::enterprise(),
        };
        tokio::spawn(async move { accounts.create_user(command).await })
    });
    let taken =
        |error: &CreateUserError| matches!(error, CreateUserError::HandleTaken | CreateUserError::EmailTaken);
    assert_eq!(granted(all(started).await, taken).len(), 4);
    let listed = world.plans.organizations().await.unwrap();
    let users = listed.iter().map(|row| (row.name.to_lowercase(), row.users)).collect::<Vec<_>>();
    assert_eq!(
        users,
        [("acme".to_owned(), 2), ("user-0".to_owned(), 1), ("user-1".to_owned(), 1)],
        "two on their own, two together"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_has_a_plan_that_is_taken_away() {
    let (world, database) = world().await;
    let world = Arc::new(world);
    for round in 0..12 {
        let plan = Plan { name: PlanName::new("brief").unwrap(), ..Plan::enterprise() };
        world.plans.configure(vec![plan.clone()]).await.unwrap();
        let plans = world.plans.clone();
        let taking = tokio::spawn(async move { plans.configure(Vec::new()).await.unwrap() });
        let accounts = world.accounts.clone();
        let command = CreateUser {
            handle: UserHandle::new(&format!("user-{round}")).unwrap(),
            email: parse_email(&format!("{round}@example.org")).unwrap(),
            name: parse_person_name("One").unwrap(),
            initial_organization: InitialOrganization::Own,
            plan: plan.name,
        };
        let creating = tokio::spawn(async move { accounts.create_user(command).await });
        let (_, created) = (taking.await.unwrap(), creating.await.unwrap());
        granted(vec![created], |error| matches!(error, CreateUserError::NoSuchPlan));
        let without = "SELECT count(*) FROM organizations WHERE plan NOT IN (SELECT name FROM plans)";
        assert_eq!(count(&database, without).await, 0);
        // The next round begins with a plan that nobody has.
        count(&database, "WITH moved AS (UPDATE organizations SET plan = 'enterprise') SELECT 0::bigint")
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rooms_pass_on_to_somebody_who_stays() {
    let (world, _database) = world().await;
    let ann = world.user("ann").await;
    for round in 0..6 {
        let mut bots = Vec::new();
        for number in 0..4 {
            bots.push(world.agent(&ann, &format!("Bot {round} {number}")).await);
        }
        let mut rooms = Vec::new();
        for turn in 0..bots.len() {
            // Each is the owner of a room, and the first or last heir in the others'.
            let room = world.chat(bots[turn].caller, &[ann.id.into()]).await;
            for next in 1..bots.len() {
                let heir = bots[(turn + next) % bots.len()].id.into();
                world.add(bots[turn].caller, room, heir, Role::Admin).await;
            }
            rooms.push(room);
        }
        let twice = bots.iter().chain(&bots);
        let started = twice.map(|bot| {
            let (accounts, caller, agent) = (world.accounts.clone(), ann.caller, bot.id);
            tokio::spawn(async move { accounts.delete_agent(caller, agent, true).await })
        });
        let gone = |error: &DeleteAgentError| matches!(error, DeleteAgentError::AgentNotFound);
        assert_eq!(granted(all(started).await, gone).len(), bots.len());
        for room in rooms {
            let roster = world.chats.roster(ann.caller, room).await.unwrap();
            let left = roster.participants.iter().map(|one| (one.id, one.role)).collect::<Vec<_>>();
            assert_eq!(left, [(ParticipantId::User(ann.id), Role::Owner)]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_goes_is_left_in_no_room() {
    let (world, database) = world().await;
    let ann = world.user("ann").await;
    for round in 0..8 {
        let bot = world.agent(&ann, &format!("Bot {round}")).await;
        world.chat(bot.caller, &[ann.id.into()]).await;
        let mut rooms = Vec::new();
        for _ in 0..4 {
            rooms.push(world.chat(ann.caller, &[]).await);
        }
        let adding = rooms.into_iter().map(|room| {
            let (chats, caller, candidate) = (world.chats.clone(), ann.caller, bot.id.into());
            let command = AddParticipantCommand { candidate, role: Role::Member };
            tokio::spawn(async move { chats.add_participant(caller, room, command).await.map(|_| ()) })
        });
        let adding = adding.collect::<Vec<_>>();
        let making = [(); 3].map(|()| {
            let (chats, caller) = (world.chats.clone(), bot.caller);
            tokio::spawn(async move { chats.create(caller, CreateChat::default()).await.map(|_| ()) })
        });
        let (accounts, caller, agent) = (world.accounts.clone(), ann.caller, bot.id);
        let deleting = tokio::spawn(async move { accounts.delete_agent(caller, agent, true).await.unwrap() });
        deleting.await.unwrap();
        granted(all(making).await, |error| matches!(error, CreateChatError::CreatorGone));
        granted(all(adding).await, |error| !matches!(error, AddParticipantError::Store(_)));
    }
    let still_there = "SELECT count(*) FROM participants JOIN agents ON agents.id = participant_id \
         WHERE left_at IS NULL AND agents.deleted_at IS NOT NULL";
    assert_eq!(count(&database, still_there).await, 0);
    let without_owner = "SELECT count(*) FROM chats WHERE status <> 'closed' AND NOT EXISTS (\
         SELECT 1 FROM participants WHERE chat_id = chats.id AND left_at IS NULL AND role = 'owner')";
    assert_eq!(count(&database, without_owner).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_is_erased_side_by_side() {
    let (world, database) = world().await;
    let ann = world.user("ann").await;
    let stays = world.agent(&ann, "Stays").await;
    for number in 0..3 {
        let bot = world.agent(&ann, &format!("Bot {number}")).await;
        let room = world.chat(ann.caller, &[bot.id.into(), stays.id.into()]).await;
        let to = [ParticipantId::Agent(bot.id), ParticipantId::Agent(stays.id)];
        for _ in 0..5 {
            world.send(ann.caller, room, "work", &to).await;
        }
        world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    }
    let other = common::open(&database).await;
    let started = (0..6).map(|number| {
        let store: Arc<dyn domain::account::AccountRepository> =
            if number % 2 == 0 { other.clone() } else { world.stores.accounts.clone() };
        tokio::spawn(async move { while store.erase_work(2).await.unwrap() {} })
    });
    all(started).await;
    assert_eq!(count(&database, "SELECT count(*) FROM deletion_jobs").await, 0);
    assert_eq!(count(&database, "SELECT count(*) FROM deliveries").await, 15, "those of who stays");
}

/// Two servers erase what is too old, others delete and send: what a room counts is what it has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_erased_is_counted_once() {
    let (world, database) = world().await;
    let ann = world.user("ann").await;
    let (mut rooms, mut old) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let room = world.chat(ann.caller, &[]).await;
        for _ in 0..40 {
            old.push((room, world.send(ann.caller, room, "old", &[]).await.id));
        }
        rooms.push(room);
    }
    world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
    let other = common::open(&database).await;
    let before = {
        let now = world.clock.now().unix_millis();
        MessageId::new(uuid::Builder::from_unix_timestamp_millis(now, &[0; 10]).into_uuid())
    };
    let walks = (0..4).map(|number| {
        let store: Arc<dyn MessageRepository> =
            if number % 2 == 0 { other.clone() } else { world.stores.messages.clone() };
        tokio::spawn(async move {
            let (mut after, mut all) = (None, 0);
            loop {
                let (now, unattached) = (Timestamp::from_micros(0), Duration::ZERO);
                let step = EraseOld { which: Ageing::Texts, after, before, now, unattached, limit: 7 };
                // A room that is held for a while is tried again.
                let Ok(done) = store.erase_old(step).await else { continue };
                all += done.erased;
                let Some(last) = done.last else { return all };
                after = Some(last);
            }
        })
    });
    let walks = walks.collect::<Vec<_>>();
    let deleting = old.into_iter().rev().step_by(3).map(|(room, message)| {
        let (messages, caller) = (world.messages.clone(), ann.caller);
        tokio::spawn(async move { u64::from(messages.delete(caller, room, message).await.is_ok()) })
    });
    let deleting = deleting.collect::<Vec<_>>();
    for room in rooms.iter().cycle().take(60) {
        world.send(ann.caller, *room, "new", &[]).await;
    }
    let gone = all(walks).await.into_iter().chain(all(deleting).await).sum::<u64>();
    assert_eq!(gone, 120);
    let wrong = "SELECT count(*) FROM chats WHERE last_sequence - deleted_messages <> \
         (SELECT count(*) FROM messages WHERE chat_id = chats.id) OR deleted_messages <> 40";
    assert_eq!(count(&database, wrong).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_attempts_is_erased_in_slices() {
    let (world, database) = world().await;
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let room = world.chat(ann.caller, &[bot.id.into()]).await;
    world.send(ann.caller, room, "old", &[ParticipantId::Agent(bot.id)]).await;
    let many = "WITH made AS (INSERT INTO attempts (agent_id, chat_id, sequence, number, started_at, completed_at, error) \
         SELECT agent_id, chat_id, sequence, number, now(), now(), 'no' \
         FROM deliveries, generate_series(1, 12000) AS number RETURNING 1) SELECT count(*) FROM made";
    assert_eq!(count(&database, many).await, 12_000);
    world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
    let mut walk = Retention::days(Ageing::Texts, 2);
    let mut erased = Vec::new();
    while let Some(some) = world.messages.erase_old(&mut walk, world.clock.now()).await.unwrap() {
        erased.push(some);
    }
    assert_eq!(erased, [0, 0, 1]);
    assert_eq!(count(&database, "SELECT count(*) FROM attempts").await, 0);
    assert_eq!(count(&database, "SELECT count(*) FROM deliveries").await, 0);
}
