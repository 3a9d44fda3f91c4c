//! Causes of messages, and the trees that follow from them.

use domain::chat::Role;
use domain::delivery::{DeliveryStep, FailureText};
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{
    Cause, EXAMINED_DELIVERIES, EventContent, EventMetadata, HistoryFilter, Message, MessageKind, Place,
    PostEvent,
};

use super::control::take;
use super::messages::{ann_and_bot, first};
use crate::{TestAgent, TestUser, World};

/// Ann's room with the agent Bot and two more.
struct Team {
    ann: TestUser,
    agents: [TestAgent; 3],
    chat: ChatId,
}

async fn team(world: &World) -> Team {
    let (ann, bot, chat) = ann_and_bot(world).await;
    let agents = [bot, world.agent(&ann, "Scout").await, world.agent(&ann, "Clerk").await];
    for agent in &agents[1..] {
        world.add(ann.caller, chat, agent.id.into(), Role::Member).await;
    }
    Team { ann, agents, chat }
}

fn failed() -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap())
}

/// A message of the room, as it was stored.
async fn stored(world: &World, reader: &TestUser, chat: ChatId, message: MessageId) -> Message {
    let page =
        world.messages.history(reader.caller, chat, HistoryFilter::default(), first(100)).await.unwrap();
    page.rows.into_iter().find(|row| row.id == message).unwrap()
}

async fn thought(world: &World, agent: &TestAgent, chat: ChatId) -> Message {
    let content = EventContent::new("hm".to_owned()).unwrap();
    let event = PostEvent { kind: MessageKind::Thought, content, metadata: EventMetadata::default() };
    world.messages.post_event(agent.caller, chat, event).await.unwrap()
}

/// What a new event of the agent follows from, as the answer and the store say.
async fn cause_of_an_event(world: &World, reader: &TestUser, agent: &TestAgent, chat: ChatId) -> Cause {
    let event = thought(world, agent, chat).await;
    assert_eq!(stored(world, reader, chat, event.id).await.cause, event.cause);
    event.cause
}

fn below(message: MessageId, originator: &TestUser) -> Cause {
    let originator = ParticipantId::User(originator.id);
    Cause::Known(Place { message: Some(message), root: message, hop: 1, originator })
}

/// From a human over three agents: one root, and each hop counts. Texts, events, and what is announced agree.
pub async fn what_an_agent_writes_follows_from_what_it_works_on(world: World) {
    let Team { ann, agents, chat } = team(&world).await;
    let to = |agent: &TestAgent| [ParticipantId::Agent(agent.id)];
    let root = world.send(ann.caller, chat, "go", &to(&agents[0])).await.id;
    assert_eq!(stored(&world, &ann, chat, root).await.cause, Cause::None);
    assert_eq!(cause_of_an_event(&world, &ann, &agents[0], chat).await, Cause::None, "nothing is open");
    let (mut cause, originator) = (root, ParticipantId::User(ann.id));
    for (hop, agent) in (1..).zip(&agents) {
        take(&world, agent, chat, cause, DeliveryStep::Begin).await;
        let place = Cause::Known(Place { message: Some(cause), root, hop, originator });
        assert_eq!(cause_of_an_event(&world, &ann, agent, chat).await, place);
        world.publisher.take();
        let to = agents.get(hop as usize).map_or(ParticipantId::User(ann.id), |next| to(next)[0]);
        let sent = world.send(agent.caller, chat, "further", &[to]).await.id;
        let announced = world.publisher.take().into_iter().find_map(|event| match event {
            DomainEvent::MessageCreated { message, .. } => Some(message.cause),
            _ => None,
        });
        assert_eq!((announced, stored(&world, &ann, chat, sent).await.cause), (Some(place), place));
        take(&world, agent, chat, cause, DeliveryStep::Succeed).await;
        cause = sent;
    }
    let human = world.send(ann.caller, chat, "thank you", &to(&agents[2])).await.id;
    assert_eq!(stored(&world, &ann, chat, human).await.cause, Cause::None, "a human begins a tree");
}

/// What is failed, finished, in another room, in a room that the agent left, or in a deleted room.
pub async fn only_open_attempts_are_causes(world: World) {
    let (ann, bot, here) = ann_and_bot(&world).await;
    let send = async |chat| world.send(ann.caller, chat, "go", &[ParticipantId::Agent(bot.id)]).await.id;
    let cause = async || cause_of_an_event(&world, &ann, &bot, here).await;
    let (one, two) = (send(here).await, send(here).await);
    take(&world, &bot, here, one, DeliveryStep::Begin).await;
    assert_eq!(cause().await, below(one, &ann));
    take(&world, &bot, here, two, DeliveryStep::Begin).await;
    assert_eq!(cause().await, Cause::Ambiguous);
    take(&world, &bot, here, one, failed()).await;
    assert_eq!(cause().await, below(two, &ann));
    take(&world, &bot, here, two, DeliveryStep::Succeed).await;
    assert_eq!(cause().await, Cause::None);

    let there = world.chat(ann.caller, &[bot.id.into()]).await;
    let three = send(there).await;
    take(&world, &bot, there, three, DeliveryStep::Begin).await;
    assert_eq!(cause().await, below(three, &ann), "the only one anywhere");
    let left = world.chat(ann.caller, &[bot.id.into()]).await;
    let four = send(left).await;
    take(&world, &bot, left, four, DeliveryStep::Begin).await;
    assert_eq!(cause().await, Cause::Ambiguous);
    take(&world, &bot, here, one, DeliveryStep::Begin).await;
    assert_eq!(cause().await, below(one, &ann), "those elsewhere do not count then");
    take(&world, &bot, here, one, DeliveryStep::Succeed).await;
    world.chats.remove_participant(ann.caller, left, bot.id).await.unwrap();
    assert_eq!(cause().await, below(three, &ann), "it cannot work in a room that it left");
    world.chats.delete(ann.caller, there).await.unwrap();
    assert_eq!(cause().await, Cause::None);
}

/// However much has failed, a message costs no more.
pub async fn an_agent_with_much_failed_work_has_no_clear_cause(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut begun = Vec::new();
    for number in 0..EXAMINED_DELIVERIES {
        let sent = world.send(ann.caller, chat, "go", &[ParticipantId::Agent(bot.id)]).await.id;
        take(&world, &bot, chat, sent, DeliveryStep::Begin).await;
        if number + 1 == EXAMINED_DELIVERIES {
            assert_eq!(cause_of_an_event(&world, &ann, &bot, chat).await, Cause::Ambiguous);
        } else {
            take(&world, &bot, chat, sent, failed()).await;
        }
        begun.push(sent);
    }
    take(&world, &bot, chat, begun[0], DeliveryStep::Begin).await;
    take(&world, &bot, chat, begun[0], DeliveryStep::Succeed).await;
    let newest = begun[EXAMINED_DELIVERIES - 1];
    assert_eq!(cause_of_an_event(&world, &ann, &bot, chat).await, below(newest, &ann));
}
