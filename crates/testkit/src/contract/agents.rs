//! Changing and deleting agents; a human's own record.

use domain::account::{
    AgentBio, AgentChanges, AgentDescription, AgentKind, AgentListing, AgentMarks, AgentName, AgentTag,
    AuthenticateError, CreatePlatformAgent, DeleteAgentError, ModelType, PersonNamePart, ProfileChanges,
    UpdateAgentError, UserRole,
};
use domain::chat::membership::successor;
use domain::chat::{AddParticipantCommand, ChatStatus, ChatTitle, CreateChat, CreateChatError, Role};
use domain::contact::{Handle, SendRefused, SendRequest, SendRequestError};
use domain::delivery::{Claims, DeliveryStatus, MaxAttempts};
use domain::event::DomainEvent;
use domain::id::ParticipantId;
use domain::message::HistoryFilter;
use domain::page::{PageRequest, Slice};
use domain::plan::{Plan, PlanName};

use crate::World;

const FIRST: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 50 }, count: false };

/// Every part by itself; a name is free for itself, not for a sibling; the handle stays.
pub async fn what_is_changed_of_an_agent_is_read_again(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    world.agent(&ann, "Other").await;
    let changes = AgentChanges {
        name: Some(AgentName::new("Robot").unwrap()),
        description: Some(AgentDescription::new("Does more").unwrap()),
        model_type: Some(Some(ModelType::new("large").unwrap())),
        bio: Some(Some(AgentBio::new("Born\nin a test").unwrap())),
        tags: Some(vec![AgentTag::new("weather").unwrap(), AgentTag::new("ünïcode").unwrap()]),
        listed_in_directory: Some(true),
        registry_access: Some(false),
        shared_with_organization: Some(true),
        foreign_access: Some(true),
        max_attempts: Some(MaxAttempts::new(3)),
        claims: Some(Claims::Exclusive),
        a2a: Some(true),
    };
    world.clock.advance(std::time::Duration::from_secs(5));
    let answered = world.accounts.update_agent(ann.caller, bot.id, changes.clone()).await.unwrap();
    let read = world.stores.accounts.find_agent(bot.id).await.unwrap().unwrap();
    assert_eq!(read, answered);
    assert_eq!((read.name.as_str(), read.handle.as_str()), ("Robot", "ann/bot"));
    assert_eq!((read.model_type.as_deref(), read.bio.as_deref()), (Some("large"), Some("Born\nin a test")));
    assert_eq!(read.tags, ["weather", "ünïcode"]);
    assert!(read.listed_in_directory && !read.registry_access && read.shared_with_organization);
    assert!(read.foreign_access && read.a2a);
    assert_eq!((read.max_attempts, read.claims), (MaxAttempts::new(3), Claims::Exclusive));
    assert!(read.updated_at > read.created_at);

    let cleared = AgentChanges {
        model_type: Some(None),
        bio: Some(None),
        max_attempts: Some(None),
        a2a: Some(false),
        ..AgentChanges::default()
    };
    let read = world.accounts.update_agent(ann.caller, bot.id, cleared).await.unwrap();
    assert_eq!((read.model_type, read.bio, read.tags.len(), read.max_attempts), (None, None, 2, None));
    assert!(read.foreign_access && !read.a2a);
    let same = AgentChanges { name: Some(AgentName::new("Robot").unwrap()), ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, bot.id, same).await.unwrap();
    let taken = AgentChanges { name: Some(AgentName::new("Other").unwrap()), ..AgentChanges::default() };
    let refused = world.accounts.update_agent(ann.caller, bot.id, taken).await;
    assert!(matches!(refused, Err(UpdateAgentError::NameTaken)), "{refused:?}");
    let refused = world.accounts.update_agent(ben.caller, bot.id, changes).await;
    assert!(matches!(refused, Err(UpdateAgentError::AgentNotFound)), "{refused:?}");
}

/// Its key is dead, it is in no room, its name is free and its handle is not; what it said stays.
pub async fn a_deleted_agent_leaves_nothing_open(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    let idle = world.agent(&ann, "Idle").await;
    let chat = world.chat(ann.caller, &[bot.id.into(), idle.id.into()]).await;
    world.send(bot.caller, chat, "hello", &[ParticipantId::User(ann.id)]).await;
    world.send(ann.caller, chat, "hello", &[ParticipantId::Agent(bot.id)]).await;

    let refused = world.accounts.delete_agent(ann.caller, bot.id, false).await;
    assert!(matches!(refused, Err(DeleteAgentError::HasWorked { executions: 1 })), "{refused:?}");
    let refused = world.accounts.delete_agent(ben.caller, bot.id, true).await;
    assert!(matches!(refused, Err(DeleteAgentError::AgentNotFound)), "{refused:?}");
    assert!(world.accounts.authenticate(&bot.key).await.is_ok());
    // Who was only there has nothing to lose.
    assert_eq!(world.accounts.delete_agent(ann.caller, idle.id, false).await.unwrap().executions, 0);

    let deleted = world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    assert_eq!((deleted.agent.id, deleted.executions), (bot.id, 1));
    let key = world.accounts.authenticate(&bot.key).await;
    assert!(matches!(key, Err(AuthenticateError::Unauthorized)), "{key:?}");
    let again = world.accounts.delete_agent(ann.caller, bot.id, true).await;
    assert!(matches!(again, Err(DeleteAgentError::AgentNotFound)), "{again:?}");
    let roster = world.chats.roster(ann.caller, chat).await.unwrap();
    assert_eq!(roster.participants.len(), 1);
    let history = world.messages.history(ann.caller, chat, HistoryFilter::default(), FIRST).await.unwrap();
    assert_eq!(
        history.rows.iter().map(|row| row.sender_name.as_str()).collect::<Vec<_>>(),
        ["ann Example", "Bot"]
    );
    let next = world.agent(&ann, "Bot").await;
    assert_eq!(next.handle, "ann/bot-2");
    let platform = CreatePlatformAgent {
        name: AgentName::new("Inside").unwrap(),
        description: None,
        model_type: Some(ModelType::new("m").unwrap()),
    };
    let platform = world.accounts.create_platform_agent(ann.caller, platform).await.unwrap();
    assert_eq!((platform.kind, platform.description.as_str()), (AgentKind::Platform, ""));
    let page = world.accounts.list_agents(ann.caller, AgentListing::default(), FIRST).await.unwrap();
    assert_eq!(page.rows.len(), 2);
}

/// To an admin, a human, or a member; not if an owner is left; an empty room is closed.
pub async fn the_rooms_of_a_deleted_agent_pass_on(world: World) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let (old, young) = (world.agent(&ann, "Old").await, world.agent(&ann, "Young").await);
    let second = std::time::Duration::from_secs(1);
    let to_admin = world.chat(bot.caller, &[old.id.into(), ann.id.into()]).await;
    world.add(bot.caller, to_admin, young.id.into(), Role::Admin).await;
    let to_human = world.chat(bot.caller, &[old.id.into()]).await;
    world.clock.advance(second);
    world.add(bot.caller, to_human, ann.id.into(), Role::Member).await;
    let to_oldest = world.chat(bot.caller, &[old.id.into()]).await;
    world.clock.advance(second);
    world.add(bot.caller, to_oldest, young.id.into(), Role::Member).await;
    let shared = world.chat(bot.caller, &[ann.id.into()]).await;
    world.add(bot.caller, shared, old.id.into(), Role::Owner).await;
    let member = world.chat(ann.caller, &[bot.id.into()]).await;
    let alone = world.chat(bot.caller, &[]).await;
    world.publisher.take();

    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    for (chat, viewer, owner) in [
        (to_admin, ParticipantId::User(ann.id), ParticipantId::Agent(young.id)),
        (to_human, ParticipantId::User(ann.id), ParticipantId::User(ann.id)),
        (to_oldest, ParticipantId::Agent(old.id), ParticipantId::Agent(old.id)),
        (shared, ParticipantId::User(ann.id), ParticipantId::Agent(old.id)),
        (member, ParticipantId::User(ann.id), ParticipantId::User(ann.id)),
    ] {
        let roster = world.stores.chats.roster(viewer, chat).await.unwrap().unwrap();
        let owners = roster.participants.iter().filter(|participant| participant.role == Role::Owner);
        assert_eq!(owners.map(|participant| participant.id).collect::<Vec<_>>(), [owner]);
        assert_eq!(world.stores.chats.find(viewer, chat).await.unwrap().unwrap().status, ChatStatus::Active);
    }
    let bot = ParticipantId::Agent(bot.id);
    assert_eq!(world.stores.chats.find(bot, alone).await.unwrap(), None);
    // Of every room it is told that it left, the newest first, and then that it is gone.
    let published = world.publisher.take();
    assert_eq!(published.len(), 2 * 6 + 1);
    let published = published.into_iter().filter_map(|event| match event {
        DomainEvent::ParticipantRemoved { chat_id, .. } => Some(chat_id),
        _ => None,
    });
    assert_eq!(published.collect::<Vec<_>>(), [alone, member, shared, to_oldest, to_human, to_admin]);
}

/// First its own requests, then those to it, then its contacts, each in the order in which they were made.
pub async fn what_ends_with_an_agent_is_told_in_order(world: World) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let mut others = Vec::new();
    for number in 1..=9 {
        others.push(world.user(&format!("other{number}")).await);
    }
    // Neither the order of who they are nor its reverse.
    let mixed = [2, 0, 1].map(|place| [&others[place], &others[place + 3], &others[place + 6]]);
    let (mut sent, mut received, mut met) = (Vec::new(), Vec::new(), Vec::new());
    for [one, two, three] in mixed {
        received.push(world.ask(one.caller, &bot.handle).await.id);
        sent.push(world.ask(bot.caller, &two.handle).await.id);
        world.connect((bot.caller, &bot.handle), (three.caller, &three.handle)).await;
        met.push(ParticipantId::User(three.id));
    }
    world.publisher.take();
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    let (mut requests, mut owners) = (Vec::new(), Vec::new());
    for event in world.publisher.take() {
        match event {
            DomainEvent::ContactRequestUpdated { request } => requests.push(request.id),
            DomainEvent::ContactRemoved { owner, .. } => owners.push(owner),
            _ => {}
        }
    }
    assert_eq!(requests, [sent, received].concat());
    assert_eq!(owners, met);
}

/// For all remaining participants, roles, and times of joining, the owner is the one that the rule names.
pub async fn the_successor_of_an_owner_follows_the_rule(world: World) {
    const ROOMS: usize = 48;
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let mut candidates = vec![ann.id.into()];
    for name in ["One", "Two", "Three"] {
        candidates.push(world.agent(&ann, name).await.id.into());
    }
    let ben = world.user("ben").await;
    world.connect((bot.caller, &bot.handle), (ben.caller, "ben")).await;
    candidates.push(ben.id.into());
    let mut chance = 1_u32;
    let mut below = |bound: usize| {
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (chance >> 16) as usize % bound
    };
    let mut rooms = Vec::new();
    for _ in 0..ROOMS {
        let chat = world.chat(bot.caller, &[]).await;
        let mut waiting = candidates.clone();
        for _ in 0..=below(candidates.len() - 1) {
            let candidate = waiting.swap_remove(below(waiting.len()));
            let role = [Role::Member, Role::Member, Role::Member, Role::Admin, Role::Admin, Role::Owner];
            let many_owners = rooms.len() % 4 == 0;
            let role = role[below(if many_owners { 6 } else { 5 })];
            world.add(bot.caller, chat, candidate, role).await;
            // Some come at the same instant.
            world.clock.advance(std::time::Duration::from_secs(below(2) as u64));
        }
        let roster = world.stores.chats.roster(ParticipantId::Agent(bot.id), chat).await.unwrap().unwrap();
        let others = roster.participants.into_iter().filter(|who| who.id != ParticipantId::Agent(bot.id));
        rooms.push((chat, others.collect::<Vec<_>>()));
    }
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    for (chat, mut left) in rooms {
        let next = successor(&left);
        if let Some(next) = next {
            left.iter_mut().find(|who| who.id == next).unwrap().role = Role::Owner;
        }
        let roster = world.stores.chats.roster(left[0].id, chat).await.unwrap().unwrap();
        assert_eq!(roster.participants, left, "{next:?}");
    }
}

/// Though its key was good when the request came in.
pub async fn a_deleted_agent_makes_nothing_more(world: World) {
    let plan = Plan { name: PlanName::new("two").unwrap(), chats: Some(2), ..Plan::enterprise() };
    let ann = world.user_with_plan("ann", plan).await;
    let bot = world.agent(&ann, "Bot").await;
    let room = world.chat(ann.caller, &[bot.id.into()]).await;
    let to_bot = [ParticipantId::Agent(bot.id)];
    let sent = world.send(ann.caller, room, "hello", &to_bot).await.id;
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    world.publisher.take();

    let made = world.chats.create(bot.caller, CreateChat::default()).await;
    assert!(matches!(made, Err(CreateChatError::CreatorGone)), "{made:?}");
    let ask = SendRequest { to: Handle::new("ann").unwrap(), message: None };
    let asked = world.contacts.send(bot.caller, ask).await;
    let gone = |error: &SendRequestError| {
        matches!(error, SendRequestError::Refused { refused: SendRefused::RequesterGone, .. })
    };
    assert!(asked.as_ref().is_err_and(gone), "{asked:?}");
    assert!(world.contacts.received_by_user(ann.caller, FIRST).await.unwrap().rows.is_empty());
    let add = AddParticipantCommand { candidate: bot.id.into(), role: Role::Member };
    assert!(world.chats.add_participant(bot.caller, room, add).await.is_err());
    let title = ChatTitle::renamed("Mine").unwrap();
    assert!(world.chats.rename(bot.caller, room, title).await.is_err());
    let begin = domain::delivery::DeliveryStep::Begin;
    assert!(world.deliveries.advance(bot.caller, room, sent, begin).await.is_err());
    assert!(world.publisher.take().is_empty());
    // Its owner has the place that is left.
    world.chat(ann.caller, &[]).await;
}

/// In steps, completely, and only that of the agent.
pub async fn work_is_erased_little_by_little(world: World) {
    let ann = world.user("ann").await;
    let (bot, other) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Other").await);
    let chat = world.chat(ann.caller, &[bot.id.into(), other.id.into()]).await;
    let both = [ParticipantId::Agent(bot.id), ParticipantId::Agent(other.id)];
    for number in 0..5 {
        let sent = world.send(ann.caller, chat, &format!("{number}"), &both).await.id;
        let begin = domain::delivery::DeliveryStep::Begin;
        world.deliveries.advance(bot.caller, chat, sent, begin.clone()).await.unwrap();
        world.deliveries.advance(other.caller, chat, sent, begin).await.unwrap();
    }
    let own = world.send(bot.caller, chat, "mine", &[ParticipantId::User(ann.id)]).await.id;
    world.deliveries.advance(bot.caller, chat, own, domain::delivery::DeliveryStep::Begin).await.unwrap();
    assert!(!world.stores.accounts.erase_work(2).await.unwrap());
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    let mut steps = 0;
    while world.stores.accounts.erase_work(2).await.unwrap() {
        steps += 1;
    }
    assert_eq!(steps, 3 + 1, "three for six, of which one was not addressed, and one to be done");
    let history = world.messages.history(ann.caller, chat, HistoryFilter::default(), FIRST).await.unwrap();
    let left = history.rows.iter().flat_map(|row| &row.deliveries).collect::<Vec<_>>();
    assert_eq!(left.len(), 5);
    assert!(
        left.iter()
            .all(|delivery| delivery.agent() == other.id && delivery.status() == DeliveryStatus::Processing)
    );
}

/// By handle; what is not named stays.
pub async fn the_operator_marks_agents(world: World) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let marks = AgentMarks { is_global: Some(true), ..AgentMarks::default() };
    let marked = world.accounts.mark_agent("ann/bot", marks).await.unwrap().unwrap();
    assert!(marked.is_global && !marked.listed_in_directory && !marked.shared_with_organization);
    assert!(!marked.a2a);
    let marks = AgentMarks {
        listed_in_directory: Some(true),
        shared_with_organization: Some(true),
        a2a: Some(true),
        ..AgentMarks::default()
    };
    let marked = world.accounts.mark_agent("ann/bot", marks).await.unwrap().unwrap();
    assert!(marked.is_global && marked.listed_in_directory && marked.shared_with_organization && marked.a2a);
    assert_eq!(world.stores.accounts.find_agent(bot.id).await.unwrap(), Some(marked));
    assert_eq!(world.accounts.mark_agent("ann/none", marks).await.unwrap(), None);
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    assert_eq!(world.accounts.mark_agent("ann/bot", marks).await.unwrap(), None);
}

/// First and last name by themselves; the role is none of the user's business.
pub async fn a_profile_is_changed_in_parts(world: World) {
    let ann = world.user("ann").await;
    let part = |text| PersonNamePart::new(text).unwrap();
    let changes = ProfileChanges { first_name: Some(part("Anna")), last_name: None };
    let user = world.accounts.update_profile(ann.caller, changes).await.unwrap().unwrap();
    assert_eq!((user.name.full().as_str(), user.role), ("Anna Example", UserRole::User));
    let changes = ProfileChanges { first_name: None, last_name: Some(None) };
    let user = world.accounts.update_profile(ann.caller, changes).await.unwrap().unwrap();
    assert_eq!(user.name.full(), "Anna");
    assert_eq!(world.accounts.profile(ann.caller).await.unwrap(), Some(user));
}
