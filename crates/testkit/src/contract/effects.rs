//! Side effects of changes; and reads return what was written.

use std::time::Duration;

use domain::chat::{Chat, ChatTitle, CreateChat, ParticipantStatus, Role};
use domain::delivery::{AdvanceDelivery, AttemptNumber, ClaimLease, DeliveryStep, FailureText};
use domain::event::DomainEvent;
use domain::id::{ChatId, ParticipantId};
use domain::message::{
    Ageing, AppendRefused, HistoryFilter, Mention, MentionKind, Message, MessageContent, MessageKind,
    Retention,
};
use domain::ports::Clock;
use domain::store::OnCommit;

use super::messages::{ann_and_bot, first};
use crate::{TestAgent, TestUser, World};

async fn room(world: &World, ann: &TestUser, chat: ChatId) -> Chat {
    world.chats.find(ann.caller, chat).await.unwrap()
}

async fn newest(world: &World, ann: &TestUser, chat: ChatId) -> Message {
    let page = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(1)).await.unwrap();
    page.rows.into_iter().next().unwrap()
}

/// A room's time of change follows its roster and its messages; that of its last message these only.
pub async fn changes_move_the_rooms_times(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let created = room(&world, &ann, chat).await;
    assert_eq!((created.updated_at, created.last_message_at), (created.created_at, None));

    world.clock.advance(Duration::from_secs(1));
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    let removed = room(&world, &ann, chat).await;
    assert_eq!((removed.updated_at, removed.last_message_at), (world.clock.now(), None));

    world.clock.advance(Duration::from_secs(1));
    world.send(ann.caller, chat, "hello", &[]).await;
    let sent = world.clock.now();
    let spoken = room(&world, &ann, chat).await;
    assert_eq!((spoken.updated_at, spoken.last_message_at), (sent, Some(sent)));

    world.clock.advance(Duration::from_secs(1));
    world.add(ann.caller, chat, bot.id.into(), Role::Member).await;
    let added = room(&world, &ann, chat).await;
    assert_eq!((added.updated_at, added.last_message_at), (world.clock.now(), Some(sent)));
    assert_eq!(added.created_at, created.created_at);
}

/// Only a room without a title gets one, once, and the writer is told, with what its humans see of it.
pub async fn a_room_is_titled_once(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let append = async |chat, content: &str, is_text: bool| {
        let mut new = world.new_text(chat, ParticipantId::User(ann.id), content);
        new.mentions = vec![mention_of(&bot)];
        if !is_text {
            new.kind = MessageKind::Thought;
        }
        world.stores.messages.append(new, OnCommit::nothing()).await.unwrap().unwrap().titled
    };
    assert_eq!(append(chat, "a record", false).await, None);
    assert_eq!(room(&world, &ann, chat).await.title, None);
    let titled = append(chat, "Plan the trip", true).await.unwrap();
    assert_eq!(titled.chat, room(&world, &ann, chat).await);
    assert_eq!((titled.users, titled.details.agents[0].id), (vec![ann.id], bot.id));
    assert_eq!(append(chat, "and something else", true).await, None);
    assert_eq!(room(&world, &ann, chat).await.title.as_deref(), Some("Plan the trip"));

    let given = CreateChat { title: ChatTitle::given(Some("Given")).unwrap(), ..CreateChat::default() };
    let given = world.chats.create(ann.caller, given).await.unwrap().id;
    world.add(ann.caller, given, bot.id.into(), Role::Member).await;
    assert_eq!(append(given, "another first text", true).await, None);
    assert_eq!(room(&world, &ann, given).await.title.as_deref(), Some("Given"));
}

fn mention_of(agent: &TestAgent) -> Mention {
    let (handle, kind) = (agent.handle.clone(), MentionKind::Mention);
    Mention { id: ParticipantId::Agent(agent.id), handle, name: "Agent".to_owned(), kind }
}

/// Everybody in a room sees its title, an agent also that of a text which it may not read. So such a text
/// gives none, and neither does a later one; a title goes when an agent comes who may not read its text.
pub async fn a_title_is_made_of_what_everybody_may_read(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (other, third) = (world.agent(&ann, "Other").await, world.agent(&ann, "Third").await);
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let title = async |chat| room(&world, &ann, chat).await.title;
    let to =
        |agents: &[&TestAgent]| agents.iter().map(|agent| ParticipantId::Agent(agent.id)).collect::<Vec<_>>();
    world.publisher.take();
    world.send(ann.caller, chat, "for Bot alone", &to(&[&bot])).await;
    world.send(ann.caller, chat, "for both", &to(&[&bot, &other])).await;
    assert_eq!(title(chat).await, None);
    assert_eq!(world.publisher.take().len(), 2, "nothing is told of the title");
    let unmentioned = world.chat(ann.caller, &[bot.id.into()]).await;
    world.send(ann.caller, unmentioned, "for humans", &[]).await;
    assert_eq!(title(unmentioned).await, None);

    let open = world.chat(ann.caller, &[bot.id.into(), other.id.into()]).await;
    world.send(bot.caller, open, "Plan", &to(&[&other])).await;
    assert_eq!(title(open).await.as_deref(), Some("Plan"), "a sender knows what it has sent");
    // Agents that know the text can leave and return, and humans read all of it.
    world.chats.remove_participant(ann.caller, open, other.id).await.unwrap();
    world.add(ann.caller, open, other.id.into(), Role::Member).await;
    assert_eq!(title(open).await.as_deref(), Some("Plan"));
    world.publisher.take();
    world.add(ann.caller, open, third.id.into(), Role::Member).await;
    assert_eq!(title(open).await, None);
    let published = world.publisher.take();
    let titles = published.iter().filter_map(|event| match event {
        DomainEvent::RoomTitleChanged { title, .. } => Some(title.as_str()),
        DomainEvent::RoomUpdated { chat, .. } | DomainEvent::RoomAdded { chat, .. } => {
            Some(chat.display_title())
        }
        _ => None,
    });
    assert_eq!(titles.collect::<Vec<_>>(), ["Untitled room"; 3], "{published:?}");
    world.send(ann.caller, open, "for all", &to(&[&bot, &other, &third])).await;
    assert_eq!(title(open).await, None);
    world.chats.rename(ann.caller, open, ChatTitle::renamed("Given").unwrap()).await.unwrap();
    world.chats.remove_participant(ann.caller, open, third.id).await.unwrap();
    world.add(ann.caller, open, third.id.into(), Role::Member).await;
    assert_eq!(title(open).await.as_deref(), Some("Given"));
}

/// An edit changes the title that was made from the text, deleting and ageing take it away; a given one stays.
pub async fn a_title_follows_its_text(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let to_bot = [ParticipantId::Agent(bot.id)];
    let title = async |chat| room(&world, &ann, chat).await.title;
    let content = |text: &str| MessageContent::new(text.to_owned()).unwrap();
    let text = world.send(ann.caller, chat, "Plan the week", &to_bot).await.id;
    let before = room(&world, &ann, chat).await;
    world.clock.advance(Duration::from_secs(1));
    world.messages.edit(ann.caller, chat, text, content("Plan the month\nnow")).await.unwrap();
    let after = room(&world, &ann, chat).await;
    assert_eq!(after, Chat { title: Some("Plan the month".to_owned()), ..before });
    world.messages.edit(ann.caller, chat, text, content("@Bot")).await.unwrap();
    assert_eq!(title(chat).await, None, "nothing is left to make one of");
    world.messages.edit(ann.caller, chat, text, content("again")).await.unwrap();
    assert_eq!(title(chat).await, None, "what has no title keeps none");

    let deleted = world.chat(ann.caller, &[bot.id.into()]).await;
    let text = world.send(ann.caller, deleted, "A secret", &to_bot).await.id;
    let other = world.send(ann.caller, deleted, "Something else", &to_bot).await.id;
    world.messages.edit(ann.caller, deleted, other, content("another")).await.unwrap();
    world.messages.delete(ann.caller, deleted, other).await.unwrap();
    assert_eq!(title(deleted).await.as_deref(), Some("A secret"), "that of another text");
    world.messages.delete(ann.caller, deleted, text).await.unwrap();
    assert_eq!(title(deleted).await, None);
    world.send(ann.caller, deleted, "Once more", &to_bot).await;
    assert_eq!(title(deleted).await, None);

    let (aged, given) = (world.chat(ann.caller, &[]).await, world.chat(ann.caller, &[]).await);
    for room in [aged, given] {
        world.send(ann.caller, room, "Old", &[]).await;
    }
    world.chats.rename(ann.caller, given, ChatTitle::renamed("Given").unwrap()).await.unwrap();
    world.clock.advance(Duration::from_secs(4 * 24 * 60 * 60));
    let mut walk = Retention::days(Ageing::Texts, 3);
    while world.messages.erase_old(&mut walk, world.clock.now()).await.unwrap().is_some() {}
    assert_eq!((title(aged).await, title(given).await.as_deref()), (None, Some("Given")));
}

/// By a message of its own, and by taking a step; not by one that is refused.
pub async fn an_agent_that_shows_itself_becomes_active(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let agent = ParticipantId::Agent(bot.id);
    let status = async |chat| world.stores.chats.membership(agent, chat).await.unwrap().unwrap().state.status;

    let stranger = world.user("ben").await;
    let mut refused = world.new_text(chat, agent, "to somebody who is not here");
    refused.mentions = vec![Mention {
        id: ParticipantId::User(stranger.id),
        handle: stranger.handle,
        name: "Ben".to_owned(),
        kind: MentionKind::Reference,
    }];
    let outcome = world.stores.messages.append(refused, OnCommit::nothing()).await.unwrap();
    assert_eq!(outcome, Err(AppendRefused::MentionLeft { index: 0 }));
    let message = world.send(ann.caller, chat, "work", &[agent]).await.id;
    let step = |chat, step| {
        let command = AdvanceDelivery {
            agent: bot.id,
            chat,
            message,
            step,
            attempt: None,
            lease: ClaimLease::default(),
            now: world.clock.now(),
        };
        world.stores.deliveries.advance(command, OnCommit::nothing())
    };
    step(chat, DeliveryStep::Succeed).await.unwrap().unwrap_err();
    assert_eq!(status(chat).await, ParticipantStatus::Inactive, "nothing was accepted from it yet");
    step(chat, DeliveryStep::Begin).await.unwrap().unwrap();
    assert_eq!(status(chat).await, ParticipantStatus::Active, "by a step");

    let second = world.chat(ann.caller, &[bot.id.into()]).await;
    assert_eq!(status(second).await, ParticipantStatus::Inactive, "in each room anew");
    let own = world.new_text(second, agent, "here I am");
    world.stores.messages.append(own, OnCommit::nothing()).await.unwrap().unwrap();
    assert_eq!(status(second).await, ParticipantStatus::Active, "by a message");
}

/// Every member of a message, with its deliveries, as it was answered when it was stored.
pub async fn stored_messages_are_read_unchanged(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut new = world.new_text(chat, ParticipantId::User(ann.id), "Grüße, 'quoted' \"text\"\n🙂 \u{200b}");
    new.mentions = vec![Mention {
        id: ParticipantId::Agent(bot.id),
        handle: bot.handle.clone(),
        name: "Bot \"of\" Ann".to_owned(),
        kind: MentionKind::Mention,
    }];
    let written = world.stores.messages.append(new, OnCommit::nothing()).await.unwrap().unwrap().message;
    assert_eq!(written.deliveries.len(), 1);
    assert_eq!(newest(&world, &ann, chat).await, written);
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap(), Some(written.clone()));

    world.clock.advance(Duration::from_micros(1));
    let fault = FailureText::new("it's \u{1} broken".to_owned()).unwrap();
    for step in [DeliveryStep::Begin, DeliveryStep::Begin, DeliveryStep::Fail(fault)] {
        let now = world.clock.now();
        let command = AdvanceDelivery {
            agent: bot.id,
            chat,
            message: written.id,
            step,
            attempt: None,
            lease: ClaimLease::default(),
            now,
        };
        let advanced = world.stores.deliveries.advance(command, OnCommit::nothing()).await.unwrap().unwrap();
        let read = newest(&world, &ann, chat).await;
        assert_eq!(read, advanced.message);
        assert_eq!(read.deliveries[0].attempts().last(), advanced.delivery.attempts().last());
    }

    let mut event = world.new_text(chat, ParticipantId::Agent(bot.id), "called");
    event.kind = MessageKind::ToolCall;
    let metadata = serde_json::json!({"deep": {"list": [1, 2.5, null, "ü"]}, "": false});
    event.metadata = metadata.as_object().cloned();
    let written = world.stores.messages.append(event, OnCommit::nothing()).await.unwrap().unwrap().message;
    assert_eq!(newest(&world, &ann, chat).await, written);
    assert_eq!(written.metadata.as_ref(), metadata.as_object());
}

/// The record of work that nobody asked for is the humans' to see; the agent's own part of the
/// room does not grow by it.
pub async fn unaddressed_work_adds_nothing_to_the_context(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let message = world.send(ann.caller, chat, "for nobody", &[]).await.id;
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    let context = world.messages.context(bot.caller, chat, first(10)).await.unwrap();
    assert_eq!(context.rows, []);
    let record = &newest(&world, &ann, chat).await.deliveries[0];
    assert_eq!(
        (record.agent(), record.is_addressed(), record.current_attempt()),
        (bot.id, false, Some(AttemptNumber::FIRST))
    );
}
