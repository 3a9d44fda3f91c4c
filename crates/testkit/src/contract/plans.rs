//! Plans: quotas that hold exactly, and who has which plan.

use std::time::Duration;

use domain::account::{AgentDescription, AgentName, RegisterAgent, RegisterError};
use domain::chat::{
    AddParticipantCommand, AddParticipantError, AddRefused, CreateChat, CreateChatError, Role,
};
use domain::memory::{
    MemoryContent, MemoryMetadata, MemoryScope, MemoryStep, MemoryThought, StoreMemory, StoreMemoryError,
};
use domain::message::{
    Ageing, ChangeMessageError, ChangeMessageRefused, EventContent, EventMetadata, MessageContent,
    MessageKind, PostEvent, Retention, SendMessageError,
};
use domain::plan::{AssignPlan, AssignRefused, LimitReached, Plan, PlanName, Resource, WhichOrganization};
use domain::ports::Clock;
use serde_json::json;

use crate::world::text;
use crate::{TestAgent, TestUser, World};

/// A plan of this name without limits.
pub(super) fn plan(name: &str) -> Plan {
    Plan { name: PlanName::new(name).unwrap(), ..Plan::enterprise() }
}

fn registration(number: u32) -> RegisterAgent {
    RegisterAgent {
        name: AgentName::new(&format!("Agent {number}")).unwrap(),
        description: AgentDescription::new("one of many").unwrap(),
    }
}

/// The number of `attempts` that succeeded; all others must get the same refusal.
async fn granted<T, E>(
    attempts: impl IntoIterator<Item = tokio::task::JoinHandle<Result<T, E>>>,
    reached: impl Fn(E) -> LimitReached,
) -> (u32, Vec<LimitReached>) {
    let (mut count, mut refusals) = (0, Vec::new());
    // Started before any is waited for.
    for attempt in attempts.into_iter().collect::<Vec<_>>() {
        match attempt.await.unwrap() {
            Ok(_) => count += 1,
            Err(error) => refusals.push(reached(error)),
        }
    }
    (count, refusals)
}

fn expect_all(refusals: &[LimitReached], resource: Resource, limit: u32, many: usize) {
    assert_eq!(refusals.len(), many);
    for refused in refusals {
        assert_eq!(
            (refused.resource, refused.limit, refused.current),
            (resource, u64::from(limit), u64::from(limit))
        );
        assert_eq!(refused.plan, "tiny");
        let of_chat = matches!(resource, Resource::Participants | Resource::Messages);
        assert_eq!(refused.scope.is_some(), of_chat);
    }
}

/// Of all users of the organization together; a deleted one makes room.
pub async fn exactly_as_many_agents_as_the_plan_allows(world: World) {
    let ann = world.user_with_plan("ann", Plan { agents: Some(5), ..plan("tiny") }).await;
    let ben = world.colleague("ben", "ann").await;
    let first = world.agent(&ann, "First").await;
    let attempts = (0..20).map(|number| {
        let (accounts, caller) =
            (world.accounts.clone(), if number % 2 == 0 { ann.caller } else { ben.caller });
        tokio::spawn(async move { accounts.register_agent(caller, registration(number)).await })
    });
    let (count, refusals) = granted(attempts, |error| match error {
        RegisterError::Limit(reached) => reached,
        error => panic!("{error}"),
    })
    .await;
    assert_eq!(count, 4);
    expect_all(&refusals, Resource::Agents, 5, 16);
    world.accounts.delete_agent(ann.caller, first.id, false).await.unwrap();
    world.accounts.register_agent(ann.caller, registration(100)).await.unwrap();
    assert!(world.accounts.register_agent(ann.caller, registration(101)).await.is_err());
    // Others have plans of their own.
    let carl = world.user("carl").await;
    world.agent(&carl, "Free").await;
}

/// Of users and agents of the organization together; a deleted one makes room.
pub async fn exactly_as_many_rooms_as_the_plan_allows(world: World) {
    let ann = world.user_with_plan("ann", Plan { chats: Some(4), ..plan("tiny") }).await;
    let bot = world.agent(&ann, "Bot").await;
    let room = world.chat(ann.caller, &[]).await;
    world.publisher.take();
    let attempts = (0..16).map(|number| {
        let chats = world.chats.clone();
        let (user, agent) = (ann.caller, bot.caller);
        tokio::spawn(async move {
            if number % 2 == 0 {
                chats.create(user, CreateChat::default()).await
            } else {
                chats.create(agent, CreateChat::default()).await
            }
        })
    });
    let (count, refusals) = granted(attempts, |error| match error {
        CreateChatError::Limit(reached) => reached,
        error => panic!("{error}"),
    })
    .await;
    assert_eq!(count, 3);
    expect_all(&refusals, Resource::Chats, 4, 13);
    assert_eq!(world.publisher.take().len(), 3, "nothing is told of what was refused");
    world.chats.delete(ann.caller, room).await.unwrap();
    world.chats.create(bot.caller, CreateChat::default()).await.unwrap();
    assert!(world.chats.create(bot.caller, CreateChat::default()).await.is_err());
}

/// A participant who leaves frees a place, and takes it again by returning.
pub async fn exactly_as_many_participants_as_the_plan_allows(world: World) {
    let ann = world.user_with_plan("ann", Plan { participants: Some(3), ..plan("tiny") }).await;
    let mut agents = Vec::new();
    for number in 0..8 {
        agents.push(world.agent(&ann, &format!("Agent {number}")).await);
    }
    let chat = world.chat(ann.caller, &[]).await;
    let add = |world: &World, agent: &TestAgent| {
        let (chats, caller, candidate) = (world.chats.clone(), ann.caller, agent.id.into());
        let command = AddParticipantCommand { candidate, role: Role::Member };
        tokio::spawn(async move { chats.add_participant(caller, chat, command).await })
    };
    let reached = |error| match error {
        AddParticipantError::Refused(AddRefused::Limit(reached)) => reached,
        error => panic!("{error}"),
    };
    let (count, refusals) = granted(agents.iter().map(|agent| add(&world, agent)), reached).await;
    assert_eq!(count, 2);
    expect_all(&refusals, Resource::Participants, 3, 6);
    let roster = world.chats.roster(ann.caller, chat).await.unwrap();
    let inside = roster.participants.iter().filter_map(|one| one.id.agent()).collect::<Vec<_>>();
    assert_eq!(inside.len(), 2);
    world.chats.remove_participant(ann.caller, chat, inside[0]).await.unwrap();
    let outside = agents.iter().find(|agent| !inside.contains(&agent.id)).unwrap();
    assert!(add(&world, outside).await.unwrap().is_ok());
    let back = agents.iter().find(|agent| agent.id == inside[0]).unwrap();
    assert!(add(&world, back).await.unwrap().is_err());
}

/// Texts and events of all senders in a room together, by the plan of the room's creator.
pub async fn exactly_as_many_messages_as_the_plan_allows(world: World) {
    let ann = world.user_with_plan("ann", Plan { messages: Some(6), ..plan("tiny") }).await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let event = PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::new(serde_json::Map::new()).unwrap(),
        in_reply_to: None,
    };
    world.messages.post_event(bot.caller, chat, event).await.unwrap();
    world.publisher.take();
    let say = |world: &World, user: &TestUser, number: u32| {
        let (messages, caller) = (world.messages.clone(), user.caller);
        let command = text(&number.to_string(), &[]);
        tokio::spawn(async move { messages.send(caller, chat, command).await })
    };
    let reached = |error| match error {
        SendMessageError::Limit(reached) => reached,
        error => panic!("{error}"),
    };
    let (count, refusals) = granted((0..24).map(|number| say(&world, &ann, number)), reached).await;
    assert_eq!(count, 5);
    expect_all(&refusals, Resource::Messages, 6, 19);
    let published = world.publisher.take();
    assert_eq!(
        published.len(),
        5,
        "five texts, none of which gives a title that the agent would see: {published:?}"
    );
    // Quotas of another plan hold at once.
    let organization = WhichOrganization::OfUser("ann".to_owned());
    let assigned =
        world.plans.assign(AssignPlan { organization, plan: PlanName::enterprise() }).await.unwrap();
    assert_eq!(assigned.unwrap().plan, PlanName::enterprise());
    assert!(say(&world, &ann, 100).await.unwrap().is_ok());
}

/// In all its rooms, from all senders; deleted and erased messages do not count, and edited ones count as they
/// are.
pub async fn stored_bytes_are_counted_and_limited(world: World) {
    let ann = world.user_with_plan("ann", Plan { bytes: Some(100), ..plan("tiny") }).await;
    let ben = world.user("ben").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let guests = world.chat(ben.caller, &[]).await;
    world.send(ben.caller, guests, &"x".repeat(1000), &[]).await;
    let event = PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::new(json!({ "a": 1 }).as_object().cloned().unwrap()).unwrap(),
        in_reply_to: None,
    };
    world.messages.post_event(bot.caller, chat, event).await.unwrap();
    let first = world.send(ann.caller, chat, &"é".repeat(20), &[]).await.id;
    assert_eq!(world.plans.count_bytes().await.unwrap(), 1000 + 9 + 40);
    let kept = async || {
        let all = world.plans.organizations().await.unwrap();
        all.into_iter().map(|organization| organization.bytes).min().unwrap()
    };
    assert_eq!(kept().await, 49);
    let say = async |text: &str| world.messages.send(ann.caller, chat, self::text(text, &[])).await;
    // The sum is as old as the last count.
    say(&"y".repeat(60)).await.unwrap();
    assert_eq!(world.plans.count_bytes().await.unwrap(), 1000 + 49 + 60);
    let other_room = world.chat(ann.caller, &[]).await;
    let refused = world.messages.send(ann.caller, other_room, text("z", &[])).await;
    let Err(SendMessageError::Limit(reached)) = refused else { panic!("{refused:?}") };
    assert_eq!((reached.resource, reached.limit, reached.current), (Resource::Bytes, 100, 109));
    assert_eq!((reached.plan.as_str(), reached.scope), ("tiny", None));
    assert!(say("z").await.is_err());
    let longer = MessageContent::new("z".repeat(41)).unwrap();
    let refused = world.messages.edit(ann.caller, chat, first, longer).await;
    assert!(
        matches!(refused, Err(ChangeMessageError::Refused(ChangeMessageRefused::Limit(_)))),
        "{refused:?}"
    );
    world.send(ben.caller, guests, "others go on", &[]).await;

    let content = MessageContent::new("z".to_owned()).unwrap();
    world.messages.edit(ann.caller, chat, first, content).await.unwrap();
    assert_eq!(world.plans.count_bytes().await.unwrap(), 1012 + 109 - 39);
    assert_eq!(kept().await, 70);
    say("z").await.unwrap();
    world.messages.delete(ann.caller, chat, first).await.unwrap();
    world.plans.count_bytes().await.unwrap();
    assert_eq!(kept().await, 70);

    world.chats.delete(ann.caller, chat).await.unwrap();
    world.plans.count_bytes().await.unwrap();
    assert_eq!(kept().await, 70, "the messages of a deleted room are still there");
    world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
    for ageing in [Ageing::Texts, Ageing::Events] {
        let mut walk = Retention::days(ageing, 2);
        while world.messages.erase_old(&mut walk, world.clock.now()).await.unwrap().is_some() {}
        assert_eq!(world.plans.count_bytes().await.unwrap(), if ageing == Ageing::Texts { 9 } else { 0 });
    }
}

/// Memories are kept by their organization too, until they are deleted.
pub async fn memories_count_towards_the_bytes_of_their_organization(world: World) {
    let ann = world.user_with_plan("ann", Plan { bytes: Some(100), ..plan("tiny") }).await;
    let (bot, other) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Other").await);
    let stranger = world.agent(&world.user("ben").await, "Stranger").await;
    let remember = async |agent: &TestAgent, content: &str, scope| {
        let command = StoreMemory {
            content: MemoryContent::new(content.to_owned()).unwrap(),
            system: None,
            kind: None,
            segment: None,
            scope: Some(scope),
            subject: None,
            thought: MemoryThought::new("why".to_owned()).unwrap(),
            metadata: MemoryMetadata::new(json!({ "a": 1 }).as_object().cloned().unwrap()).unwrap(),
        };
        world.memories.store(agent.caller, command).await
    };
    let first = remember(&bot, &"é".repeat(20), MemoryScope::Agent).await.unwrap();
    let shared = remember(&other, &"x".repeat(40), MemoryScope::Organization).await.unwrap();
    let private = remember(&other, "z", MemoryScope::Agent).await.unwrap();
    let mine = 40 + 10 + 40 + 10 + 1 + 10;
    assert_eq!(world.plans.count_bytes().await.unwrap(), mine);
    let refused = remember(&bot, "y", MemoryScope::Agent).await;
    let Err(StoreMemoryError::Limit(reached)) = refused else { panic!("{refused:?}") };
    assert_eq!((reached.resource, reached.limit, reached.current), (Resource::Bytes, 100, mine));
    assert_eq!((reached.plan.as_str(), reached.scope), ("tiny", None));
    let chat = world.chat(ann.caller, &[]).await;
    let say = async || world.messages.send(ann.caller, chat, text("z", &[])).await;
    assert!(matches!(say().await, Err(SendMessageError::Limit(_))), "messages and memories are one sum");
    remember(&stranger, "others go on", MemoryScope::Agent).await.unwrap();
    world.memories.change(bot.caller, first.id, MemoryStep::Supersede).await.unwrap();
    assert_eq!(world.plans.count_bytes().await.unwrap(), mine + 22, "it is still there");

    world.memories.delete(ann.caller, first.id).await.unwrap();
    assert_eq!(world.plans.count_bytes().await.unwrap(), 61 + 22);
    say().await.unwrap();
    world.accounts.delete_agent(ann.caller, other.id, true).await.unwrap();
    assert_eq!(world.plans.count_bytes().await.unwrap(), 50 + 1 + 22, "private ones go with their agent");
    assert!(world.memories.find(bot.caller, private.id).await.is_err());
    assert_eq!(world.memories.find(bot.caller, shared.id).await.unwrap().source, None);
    remember(&bot, "y", MemoryScope::Agent).await.unwrap();
}

/// Configured plans exist; others are removed unless an organization uses them.
pub async fn configured_plans_replace_all_but_those_in_use(world: World) {
    let names = |plans: Vec<domain::plan::PlanInUse>| {
        plans
            .into_iter()
            .map(|row| (row.plan.name.as_str().to_owned(), row.organizations))
            .collect::<Vec<_>>()
    };
    let (free, pro) = (Plan { agents: Some(1), memories: false, ..plan("free") }, plan("pro"));
    assert_eq!(world.plans.configure(vec![free.clone(), pro.clone()]).await.unwrap(), []);
    world.user("ann").await;
    let organization = || WhichOrganization::Named("ANN".to_owned());
    let give = |name: &str| AssignPlan { organization: organization(), plan: PlanName::new(name).unwrap() };
    assert_eq!(world.plans.assign(give("free")).await.unwrap().unwrap().plan.as_str(), "free");
    assert_eq!(world.plans.assign(give("gone")).await.unwrap(), Err(AssignRefused::NoSuchPlan));
    let nobody = AssignPlan {
        organization: WhichOrganization::OfUser("zoe".to_owned()),
        plan: PlanName::enterprise(),
    };
    assert_eq!(world.plans.assign(nobody).await.unwrap(), Err(AssignRefused::NoSuchOrganization));
    let listed = world.plans.list().await.unwrap();
    assert!(listed.iter().any(|row| row.plan == free));
    assert_eq!(names(listed), [("enterprise".to_owned(), 0), ("free".to_owned(), 1), ("pro".to_owned(), 0)]);

    let left = world.plans.configure(Vec::new()).await.unwrap();
    assert_eq!(left, [PlanName::new("free").unwrap()]);
    assert_eq!(
        names(world.plans.list().await.unwrap()),
        [("enterprise".to_owned(), 0), ("free".to_owned(), 1)]
    );
    let changed = Plan { agents: Some(9), ..free };
    world.plans.configure(vec![changed.clone()]).await.unwrap();
    assert!(world.plans.list().await.unwrap().iter().any(|row| row.plan == changed));
}

/// In any case; who names one joins it, and who is on their own gets a name that is free.
pub async fn organizations_are_named_once(world: World) {
    let ann = world.colleague("ann", "Acme").await;
    let ben = world.colleague("ben", "ACME").await;
    assert_eq!(ann.caller.organization, ben.caller.organization);
    let acme = world.user("acme").await;
    assert_ne!(acme.caller.organization, ann.caller.organization);
    let listed = world.plans.organizations().await.unwrap();
    let listed = listed.iter().map(|row| (row.name.as_str(), row.users)).collect::<Vec<_>>();
    assert_eq!(listed, [("Acme", 2), ("acme-2", 1)]);
    let permits = world.accounts.authenticate(&ann.key).await.unwrap().permits;
    assert!(permits.human_interface && permits.memories);
    let mute = Plan { human_interface: false, memories: false, ..plan("mute") };
    world.plans.configure(vec![mute]).await.unwrap();
    let organization = WhichOrganization::Named("acme".to_owned());
    let command = AssignPlan { organization, plan: PlanName::new("mute").unwrap() };
    world.plans.assign(command).await.unwrap().unwrap();
    let permits = world.accounts.authenticate(&ben.key).await.unwrap().permits;
    assert!(!permits.human_interface && !permits.memories);
    // Case is that of ASCII letters, whatever the locale of the store.
    let one = world.colleague("carl", "ÄRZTE").await.caller.organization;
    assert_eq!(world.colleague("dora", "Ärzte").await.caller.organization, one);
    assert_ne!(world.colleague("erik", "ärzte").await.caller.organization, one);
}
