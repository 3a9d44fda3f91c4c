//! The use cases on a store in memory, with a fixed clock: their results, and the events that they publish.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::account::{ActAsError, AuthenticateError, IssueToken, IssueTokenError, KeyScope, UserHandle};
use domain::caller::Caller;
use domain::chat::{AddParticipantError, AddRefused, ParticipantStatus, ReadChatError, Role};
use domain::delivery::DeliveryKey;
use domain::event::DomainEvent;
use domain::id::{ChatId, ParticipantId};
use domain::message::{
    EventContent, EventMetadata, HistoryFilter, MentionError, MessageContent, MessageKind, PostEvent,
    PostEventError, SendMessage, SendMessageError,
};
use domain::page::{PageRequest, Slice};
use domain::ports::{Clock, EventPublisher};
use domain::time::Timestamp;
use testkit::{FixedClock, NOON, RecordingPublisher, TestAgent, TestUser, World};

const FIRST: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 10 }, count: false };

/// A short name of an event, with whom it concerns.
fn name(event: &DomainEvent) -> String {
    match event {
        DomainEvent::MessageCreated { recipients, .. } => format!("message created for {}", recipients.len()),
        DomainEvent::MessageUpdated { message } => {
            format!("message updated: {:?}", message.deliveries[0].status())
        }
        DomainEvent::MessageDeleted { .. } => "message deleted".to_owned(),
        DomainEvent::EventCreated { .. } => "event created".to_owned(),
        DomainEvent::RoomAdded { to, owner, .. } => {
            assert_eq!(owner.is_some(), to.agent().is_some());
            format!("room added: {:?}", to.kind())
        }
        DomainEvent::RoomRemoved { from, .. } => format!("room removed: {:?}", from.kind()),
        DomainEvent::ParticipantAdded { participant, .. } => {
            format!("participant added: {}", participant.name)
        }
        DomainEvent::ParticipantRemoved { participant, .. } => {
            format!("participant removed: {}", participant.name)
        }
        DomainEvent::ParticipantUpdated { participant, .. } => {
            format!("participant updated: {}", participant.name)
        }
        DomainEvent::RoomDeleted { .. } => "room deleted".to_owned(),
        DomainEvent::RoomTitleChanged { title, .. } => format!("title: {title}"),
        DomainEvent::AgentCreated { agent } => format!("agent created: {}", agent.name),
        DomainEvent::AgentUpdated { agent } => format!("agent updated: {}", agent.name),
        DomainEvent::AgentDeleted { agent } => format!("agent deleted: {}", agent.name),
        DomainEvent::KeyRevoked { .. } => "key revoked".to_owned(),
        DomainEvent::TokensEnded { .. } => "tokens ended".to_owned(),
        DomainEvent::SessionEnded { .. } => "session ended".to_owned(),
        DomainEvent::UserMoved { .. } => "user moved".to_owned(),
        DomainEvent::ContactRequestReceived { request } => format!("asked by {}", request.requester.handle),
        DomainEvent::ContactRequestUpdated { request } => format!("request {}", request.status.as_str()),
        DomainEvent::ContactAdded { contact } => format!("contact added: {}", contact.contact.with.handle),
        DomainEvent::ContactRemoved { owner, .. } => format!("contact removed: {:?}", owner.kind()),
        DomainEvent::TaskCreated { task } => format!("task created: {}", task.subject),
        DomainEvent::TaskUpdated { task, .. } => format!("task updated: {}", task.subject),
        DomainEvent::BoardUpdated { board } => format!("board updated: {:?}", board.title),
        DomainEvent::RoomUpdated { chat, .. } => format!("room updated: {}", chat.display_title()),
        DomainEvent::RoomRead { unread, .. } => format!("read up to {}", unread.read_sequence.get()),
        DomainEvent::ActivityChanged { activity, .. } => format!("working: {}", activity.working),
        DomainEvent::ActivityReported { activity, .. } => format!("working as before: {}", activity.working),
        DomainEvent::AgentControlled { signal, .. } => format!("signal: {}", signal.mode.as_str()),
    }
}

fn published(world: &World) -> Vec<String> {
    world.publisher.take().iter().map(name).collect()
}

async fn ann_and_bot(world: &World) -> (TestUser, TestAgent) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    world.publisher.take();
    (ann, bot)
}

fn agent(agent: &TestAgent) -> ParticipantId {
    ParticipantId::Agent(agent.id)
}

fn text(content: &str) -> SendMessage {
    SendMessage {
        content: MessageContent::new(content.to_owned()).unwrap(),
        mentions: Vec::new(),
        respond_by: None,
        in_reply_to: None,
        attachments: Vec::new(),
    }
}

#[tokio::test]
async fn a_key_acts_as_itself_and_as_its_owners_agents() {
    let world = World::new();
    let (ann, bot) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    assert_eq!(world.accounts.authenticate(&ann.key).await.unwrap().caller, ann.caller.into());
    assert_eq!(world.accounts.authenticate(&bot.key).await.unwrap().caller, bot.caller.into());
    assert!(matches!(world.accounts.authenticate("thnv_u_x").await, Err(AuthenticateError::Unauthorized)));
    for (caller, granted) in
        [(ann.caller.into(), true), (Caller::from(bot.caller), true), (ben.caller.into(), false)]
    {
        let outcome = world.accounts.act_as(caller, KeyScope::default(), bot.id).await;
        assert_eq!(outcome.is_ok(), granted, "{outcome:?}");
    }
    let sibling = world.agent(&ann, "Sibling").await;
    let outcome = world.accounts.act_as(sibling.caller.into(), KeyScope::default(), bot.id).await;
    assert!(matches!(outcome, Err(ActAsError::NotThisAgent(agent)) if agent == bot.id));
}

#[tokio::test]
async fn a_token_stands_for_its_user_until_it_expires() {
    let world = World::new();
    let (ann, _) = ann_and_bot(&world).await;
    let issue = |handle: &str, seconds: u64| {
        let user = UserHandle::new(handle).unwrap();
        world.tokens.issue(IssueToken { user, lifetime: Duration::from_secs(seconds) })
    };
    let issued = issue("ann", 60).await.unwrap();
    assert_eq!(
        (issued.user.id, issued.claims.expires_at),
        (ann.id, world.clock.now().plus(Duration::from_secs(60)))
    );
    assert_eq!(world.tokens.authenticate(&issued.token).await.unwrap().caller, ann.caller.into());
    world.clock.advance(Duration::from_secs(120));
    let expired = world.tokens.authenticate(&issued.token).await;
    assert!(matches!(expired, Err(AuthenticateError::Unauthorized)), "{expired:?}");
    for seconds in [0, 901] {
        assert!(matches!(issue("ann", seconds).await.err(), Some(IssueTokenError::Lifetime)), "{seconds}");
    }
    assert!(matches!(issue("nobody", 60).await.err(), Some(IssueTokenError::NoSuchUser)));
}

#[tokio::test]
async fn everybody_concerned_hears_of_comings_and_goings() {
    let world = World::new();
    let (ann, bot) = ann_and_bot(&world).await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    assert_eq!(published(&world), ["room added: User", "participant added: Bot", "room added: Agent"]);
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert_eq!(published(&world), ["participant removed: Bot", "room removed: Agent"]);
    world.add(ann.caller, chat, bot.id.into(), Role::Admin).await;
    published(&world);
    world.chats.delete(ann.caller, chat).await.unwrap();
    assert_eq!(published(&world), ["room deleted", "room removed: User", "room removed: Agent"]);
    assert!(matches!(world.chats.find(ann.caller, chat).await, Err(ReadChatError::ChatNotFound)));
}

#[tokio::test]
async fn a_refusal_changes_and_tells_nothing() {
    let world = World::new();
    let (ann, bot) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    published(&world);
    let stranger = world.messages.send(ben.caller, chat, text("hello")).await;
    assert!(matches!(stranger, Err(SendMessageError::ChatNotFound)), "{stranger:?}");
    let nobody = world.messages.send(bot.caller, chat, text("hello")).await;
    assert!(matches!(nobody, Err(SendMessageError::Mention(MentionError::Required))), "{nobody:?}");
    let command = domain::chat::AddParticipantCommand { candidate: ben.id.into(), role: Role::Member };
    let added = world.chats.add_participant(ann.caller, chat, command).await;
    assert!(matches!(added, Err(AddParticipantError::Refused(AddRefused::PeerNotFound))), "{added:?}");
    assert_eq!(published(&world), Vec::<String>::new());
    let history = world.messages.history(ann.caller, chat, HistoryFilter::default(), FIRST).await.unwrap();
    assert_eq!(history.rows, []);
}

#[tokio::test]
async fn the_title_that_a_text_makes_is_told_with_it() {
    let world = World::new();
    let (ann, bot) = ann_and_bot(&world).await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    published(&world);
    let message = world.send(ann.caller, chat, "Plan the week", &[agent(&bot)]).await.id;
    let made = ["title: Plan the week", "room updated: Plan the week"];
    assert_eq!(published(&world), ["message created for 1", made[0], made[1]]);
    world.send(ann.caller, chat, "Something else", &[]).await;
    assert_eq!(published(&world), ["message created for 0"]);
    let content = MessageContent::new("Plan the month".to_owned()).unwrap();
    world.messages.edit(ann.caller, chat, message, content).await.unwrap();
    let followed = ["title: Plan the month", "room updated: Plan the month"];
    assert_eq!(published(&world), ["message updated: New", followed[0], followed[1]]);
    world.messages.delete(ann.caller, chat, message).await.unwrap();
    assert_eq!(published(&world), ["message deleted", "title: Untitled room", "room updated: Untitled room"]);
}

#[tokio::test]
async fn a_membership_becomes_active_when_the_agent_shows_itself() {
    let world = World::new();
    let (ann, bot) = ann_and_bot(&world).await;
    let status = async |chat| {
        let roster = world.chats.roster(ann.caller, chat).await.unwrap();
        roster.find(agent(&bot)).unwrap().status
    };
    let by_next = world.chat(ann.caller, &[bot.id.into()]).await;
    assert_eq!(status(by_next).await, ParticipantStatus::Inactive);
    world.deliveries.next(bot.caller, by_next).await.unwrap();
    assert_eq!(status(by_next).await, ParticipantStatus::Active);

    let by_joining = world.chat(ann.caller, &[bot.id.into()]).await;
    world.chats.enter(bot.caller.into(), by_joining).await.unwrap();
    assert_eq!(status(by_joining).await, ParticipantStatus::Active);
}

#[tokio::test]
async fn events_are_records_for_humans() {
    let world = World::new();
    let (ann, bot) = ann_and_bot(&world).await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    published(&world);
    let event = |kind, metadata: &str| PostEvent {
        kind,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::new(serde_json::from_str(metadata).unwrap()).unwrap(),
        in_reply_to: None,
    };
    let post = |event| world.messages.post_event(bot.caller, chat, event);
    assert!(matches!(post(event(MessageKind::Text, "{}")).await, Err(PostEventError::NotAnEvent)));
    let attention = event(MessageKind::Attention, r#"{"kind":"shout"}"#);
    assert!(matches!(post(attention).await, Err(PostEventError::AttentionKind)));
    post(event(MessageKind::Attention, r#"{"kind":"question"}"#)).await.unwrap();
    let thought = post(event(MessageKind::Thought, "{}")).await.unwrap();
    assert_eq!((thought.sequence.get(), thought.deliveries.len()), (2, 0));
    assert_eq!(published(&world), ["event created", "event created"]);
    assert_eq!(world.chats.find(bot.caller, chat).await.unwrap().title, None, "an event makes no title");
}

#[tokio::test]
async fn indicators_end_by_themselves() {
    let world = World::new();
    let (ann, bot) = ann_and_bot(&world).await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    published(&world);
    let working = || world.activity.working_in(chat).iter().map(|one| one.agent).collect::<Vec<_>>();
    world.activity.report(bot.caller, chat, true).await.unwrap();
    world.clock.advance(Duration::from_secs(3));
    world.activity.report(bot.caller, chat, true).await.unwrap();
    world.clock.advance(Duration::from_secs(9));
    world.activity.expire(&*world.publisher);
    let reported = ["working: true", "working as before: true"].map(str::to_owned);
    assert_eq!((published(&world), working()), (reported.to_vec(), vec![bot.id]));
    world.clock.advance(Duration::from_secs(1));
    world.activity.expire(&*world.publisher);
    assert_eq!((published(&world), working()), (vec!["working: false".to_owned()], vec![]));
    let sibling = world.agent(&ann, "Outside").await;
    assert!(world.activity.report(sibling.caller, chat, true).await.is_err());
}

/// Reports no subscriber on the first query, and one on all later queries.
#[derive(Default)]
struct Latecomer {
    asked: AtomicBool,
    published: RecordingPublisher,
}

impl EventPublisher for Latecomer {
    fn publish(&self, event: DomainEvent) {
        self.published.publish(event);
    }

    fn has_human_subscribers(&self, _: ChatId) -> bool {
        self.asked.swap(true, Ordering::SeqCst)
    }
}

/// A human who joins between the change and its commit has read the message as it was before.
#[tokio::test]
async fn who_joins_while_deliveries_are_marked_hears_of_them() {
    let events = Arc::new(Latecomer::default());
    let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
    let world = World::with_publisher(clock, events.clone());
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    events.published.take();
    world.deliveries.mark_delivered(vec![DeliveryKey { message, agent: bot.id }]).await.unwrap();
    assert_eq!(events.published.take().iter().map(name).collect::<Vec<_>>(), ["message updated: Delivered"]);
}
