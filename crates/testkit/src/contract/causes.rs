//! Causes of messages, and the trees that follow from them.

use std::time::Duration;

use domain::caller::Caller;
use domain::chat::Role;
use domain::delivery::{DeliveryStatus, DeliveryStep, FailureText};
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{
    BeginTraces, Cause, EXAMINED_DELIVERIES, EventContent, EventMetadata, HistoryFilter, Kinds, Message,
    MessageKind, Place, PostEvent, PostEventError, ReadSurroundingsError, SendHeaders, SendMessage,
    SendMessageError, TraceParent,
};
use domain::page::{PageRequest, Position, Slice};
use domain::services::{Ports, Services};
use domain::work::{Resend, WorkChange, WorkScope};
use uuid::Uuid;

use super::control::{take, to};
use super::messages::{ann_and_bot, first};
use crate::world::text;
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

pub(super) fn a_thought() -> PostEvent {
    let content = EventContent::new("hm".to_owned()).unwrap();
    PostEvent { kind: MessageKind::Thought, content, metadata: EventMetadata::default(), in_reply_to: None }
}

async fn thought(world: &World, agent: &TestAgent, chat: ChatId) -> Message {
    world.messages.post_event(agent.caller, chat, a_thought()).await.unwrap()
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
    assert_eq!(cause().await, Cause::Ambiguous { hop: 1 });
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
    assert_eq!(cause().await, Cause::Ambiguous { hop: 1 });
    take(&world, &bot, here, one, DeliveryStep::Begin).await;
    assert_eq!(cause().await, below(one, &ann), "those elsewhere do not count then");
    take(&world, &bot, here, one, DeliveryStep::Succeed).await;
    world.chats.remove_participant(ann.caller, left, bot.id).await.unwrap();
    assert_eq!(cause().await, below(three, &ann), "it cannot work in a room that it left");
    world.chats.delete(ann.caller, there).await.unwrap();
    assert_eq!(cause().await, Cause::None);

    let ben = world.user("ben").await;
    world.connect((ann.caller, &ann.handle), (ben.caller, &ben.handle)).await;
    let of_ben = world.chat(ben.caller, &[ann.id.into()]).await;
    world.add(ann.caller, of_ben, bot.id.into(), Role::Member).await;
    let asked = world.send(ben.caller, of_ben, "go", &[ParticipantId::Agent(bot.id)]).await.id;
    take(&world, &bot, of_ben, asked, DeliveryStep::Begin).await;
    assert_eq!(cause().await, Cause::None, "no organization learns of work for another");
    assert_eq!(cause_of_an_event(&world, &ben, &bot, of_ben).await, below(asked, &ben));
}

/// However much has failed, a message costs no more.
pub async fn an_agent_with_much_failed_work_has_no_clear_cause(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut begun = Vec::new();
    for number in 0..EXAMINED_DELIVERIES {
        let sent = world.send(ann.caller, chat, "go", &[ParticipantId::Agent(bot.id)]).await.id;
        take(&world, &bot, chat, sent, DeliveryStep::Begin).await;
        if number + 1 == EXAMINED_DELIVERIES {
            assert_eq!(cause_of_an_event(&world, &ann, &bot, chat).await, below(sent, &ann), "the newest");
        } else {
            take(&world, &bot, chat, sent, failed()).await;
        }
        begun.push(sent);
    }
    let there = world.chat(ann.caller, &[bot.id.into()]).await;
    assert_eq!(cause_of_an_event(&world, &ann, &bot, there).await, Cause::Ambiguous { hop: 1 });
    take(&world, &bot, chat, begun[0], DeliveryStep::Begin).await;
    take(&world, &bot, chat, begun[0], DeliveryStep::Succeed).await;
    let newest = begun[EXAMINED_DELIVERIES - 1];
    assert_eq!(cause_of_an_event(&world, &ann, &bot, chat).await, below(newest, &ann));
    assert_eq!(cause_of_an_event(&world, &ann, &bot, there).await, below(newest, &ann));
    take(&world, &bot, chat, newest, failed()).await;
    assert_eq!(cause_of_an_event(&world, &ann, &bot, chat).await, Cause::None, "each counts once");
    let last = world.send(ann.caller, chat, "go", &[ParticipantId::Agent(bot.id)]).await.id;
    take(&world, &bot, chat, last, DeliveryStep::Begin).await;
    take(&world, &bot, chat, last, failed()).await;
    assert_eq!(
        cause_of_an_event(&world, &ann, &bot, chat).await,
        Cause::Ambiguous { hop: 0 },
        "there may be more"
    );
}

/// The sender names a message that it may see, and nothing else; that counts more than its attempts.
pub async fn a_sender_may_name_the_cause(world: World) {
    let Team { ann, agents: [bot, scout, _], chat } = team(&world).await;
    let ben = world.user("ben").await;
    let to_bot = [ParticipantId::Agent(bot.id)];
    let text = world.send(ann.caller, chat, "go", &to_bot).await.id;
    let other = world.send(ann.caller, chat, "go on", &to_bot).await.id;
    take(&world, &bot, chat, text, DeliveryStep::Begin).await;
    let event = |in_reply_to| PostEvent { in_reply_to, ..a_thought() };
    let posted = world.messages.post_event(bot.caller, chat, event(Some(other))).await.unwrap();
    assert_eq!(stored(&world, &ann, chat, posted.id).await.cause, below(other, &ann));
    let own = world.messages.post_event(bot.caller, chat, event(Some(posted.id))).await.unwrap();
    assert_eq!(own.cause, Cause::Known(posted.place_below()), "an agent sees what it has written");

    let elsewhere = world.chat(ben.caller, &[]).await;
    let hidden = world.send(ben.caller, elsewhere, "mine", &[]).await.id;
    let there = world.chat(ann.caller, &[bot.id.into()]).await;
    let of_another_room = world.send(ann.caller, there, "go", &to_bot).await.id;
    for (agent, message) in [
        (&scout, text),
        (&bot, hidden),
        (&bot, of_another_room),
        (&bot, MessageId::new(Uuid::from_u128(404))),
    ] {
        let refused = world.messages.post_event(agent.caller, chat, event(Some(message))).await;
        assert!(matches!(refused, Err(PostEventError::CauseNotFound)), "{refused:?}");
    }
    let answer = |in_reply_to| SendMessage { in_reply_to, ..to(&ann) };
    let refused = world.messages.send(scout.caller, chat, answer(Some(text))).await;
    assert!(matches!(refused, Err(SendMessageError::CauseNotFound)), "{refused:?}");
    let sent = world.messages.send(bot.caller, chat, answer(Some(other))).await.unwrap();
    assert_eq!(stored(&world, &ann, chat, sent.id).await.cause, below(other, &ann));

    let direct = world.send(ann.caller, chat, "go", &[ParticipantId::Agent(scout.id)]).await.id;
    let asked = world.send(bot.caller, chat, "help", &[ParticipantId::Agent(scout.id)]).await.id;
    take(&world, &scout, chat, asked, DeliveryStep::Begin).await;
    let answer_to = |message| SendMessage { in_reply_to: Some(message), ..to(&ann) };
    let named = world.messages.send(scout.caller, chat, answer_to(direct)).await.unwrap();
    let Cause::Known(place) = below(direct, &ann) else { unreachable!() };
    let cause = Cause::Known(Place { hop: 2, ..place });
    assert_eq!(stored(&world, &ann, chat, named.id).await.cause, cause, "hops count on");
    let named = world.messages.post_event(scout.caller, chat, event(Some(direct))).await.unwrap();
    assert_eq!(named.cause, below(direct, &ann), "nobody is asked by an event");
    take(&world, &scout, chat, direct, DeliveryStep::Begin).await;
    let unclear = cause_of_an_event(&world, &ann, &scout, chat).await;
    assert_eq!(unclear, Cause::Ambiguous { hop: 2 }, "the farthest");
    let named = world.messages.send(scout.caller, chat, answer_to(direct)).await.unwrap();
    assert_eq!(stored(&world, &ann, chat, named.id).await.cause, cause, "of several, too");

    let by_ann = |in_reply_to| SendMessage { mentions: Vec::new(), in_reply_to, ..to(&ann) };
    let sent = world.messages.send(ann.caller, chat, by_ann(Some(posted.id))).await.unwrap();
    let anew = Cause::Known(Place { hop: 0, ..posted.place_below() });
    assert_eq!(stored(&world, &ann, chat, sent.id).await.cause, anew, "hops begin anew");
    for message in [hidden, of_another_room] {
        let refused = world.messages.send(ann.caller, chat, by_ann(Some(message))).await;
        assert!(matches!(refused, Err(SendMessageError::CauseNotFound)), "{refused:?}");
    }
}

fn page(after: Option<Position>, limit: u32) -> PageRequest {
    PageRequest { slice: Slice::After { after, limit }, count: false }
}

/// The ids of a tree, page by page.
async fn tree(
    world: &World,
    reader: &TestUser,
    chat: ChatId,
    message: MessageId,
    limit: u32,
) -> Vec<MessageId> {
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let read = world.messages.tree(reader.caller, chat, message, page(after, limit)).await.unwrap();
        assert!(read.rows.len() <= limit as usize);
        ids.extend(read.rows.iter().map(|row| row.id));
        after = read.next;
        if after.is_none() {
            return ids;
        }
    }
}

/// The part in a room, page by page, with all states.
pub async fn a_tree_is_read_from_its_root(world: World) {
    let Team { ann, agents: [bot, scout, _], chat } = team(&world).await;
    let ben = world.user("ben").await;
    world.connect((ann.caller, &ann.handle), (ben.caller, &ben.handle)).await;
    world.add(ann.caller, chat, ben.id.into(), Role::Member).await;
    let there = world.chat(ann.caller, &[bot.id.into(), scout.id.into()]).await;
    let tick = || world.clock.advance(Duration::from_millis(1));
    let root = world.send(ann.caller, chat, "go", &[ParticipantId::Agent(bot.id)]).await.id;
    tick();
    let stranger = world.send(ann.caller, chat, "another", &[ParticipantId::Agent(bot.id)]).await.id;
    take(&world, &bot, chat, root, DeliveryStep::Begin).await;
    tick();
    let first = thought(&world, &bot, chat).await.id;
    tick();
    let asked = world.send(bot.caller, there, "help", &[ParticipantId::Agent(scout.id)]).await.id;
    take(&world, &scout, there, asked, DeliveryStep::Begin).await;
    tick();
    let hidden = thought(&world, &scout, there).await.id;
    tick();
    let last = thought(&world, &bot, chat).await.id;
    let whole = [root, first, last];
    for limit in [1, 2, 5, 100] {
        for (chat, message, part) in
            [(chat, root, &whole[..]), (chat, last, &whole), (there, hidden, &[asked, hidden])]
        {
            assert_eq!(tree(&world, &ann, chat, message, limit).await, part, "{limit}");
        }
        assert_eq!(tree(&world, &ben, chat, last, limit).await, whole, "{limit}");
        assert_eq!(tree(&world, &ann, chat, stranger, limit).await, [stranger]);
    }
    let read = world.messages.tree(ann.caller, chat, root, page(None, 1)).await.unwrap();
    assert_eq!(read.rows[0].deliveries[0].status(), DeliveryStatus::Processing);
    let refused = world.messages.tree(ben.caller, there, hidden, page(None, 1)).await;
    assert!(matches!(refused, Err(ReadSurroundingsError::ChatNotFound)), "{refused:?}");
    let refused = world.messages.tree(ann.caller, chat, hidden, page(None, 1)).await;
    assert!(
        matches!(refused, Err(ReadSurroundingsError::MessageNotFound)),
        "it is in another room: {refused:?}"
    );

    let of = async |chat, kinds, request: PageRequest| {
        let filter = HistoryFilter { root: Some(root), kinds, ..HistoryFilter::default() };
        let read = world.messages.history(ann.caller, chat, filter, request).await.unwrap();
        (read.rows.iter().map(|row| row.id).collect::<Vec<_>>(), read.total, read.next)
    };
    let (ids, total, next) = of(chat, Kinds::ALL, super::messages::first(2)).await;
    assert_eq!((ids, total), (vec![last, first], None));
    assert_eq!(of(chat, Kinds::ALL, page(next, 2)).await.0, [root]);
    let counted = PageRequest { slice: Slice::Numbered { number: 1, size: 20 }, count: true };
    let events = Kinds::of(&[MessageKind::Thought]);
    assert_eq!(of(chat, events, counted.clone()).await, (vec![last, first], Some(2), None));
    assert_eq!(of(there, Kinds::ALL, counted).await, (vec![hidden, asked], Some(2), None));

    take(&world, &bot, chat, root, DeliveryStep::Succeed).await;
    world.messages.delete(ann.caller, chat, root).await.unwrap();
    assert_eq!(tree(&world, &ann, chat, last, 2).await, whole[1..], "what is left");
    assert_eq!(stored(&world, &ann, chat, last).await.cause, below(root, &ann));
    assert_eq!(tree(&world, &ann, there, asked, 2).await, [asked, hidden]);
}

/// It stands in the place of the first one: at the root, or below the same cause.
pub async fn what_is_sent_again_stays_in_its_tree(world: World) {
    let Team { ann, agents: [bot, scout, clerk], chat } = team(&world).await;
    let again = async |message, from: &TestAgent, to: &TestAgent| {
        let resend = WorkChange::Resend(Resend { to: Some(to.id), reason: None });
        let item =
            world.work.change(WorkScope::OwnedBy(ann.id), message, from.id, resend, None).await.unwrap();
        stored(&world, &ann, chat, item.delivery.replaced_by().unwrap()).await
    };
    let root = world.send(ann.caller, chat, "go", &[ParticipantId::Agent(bot.id)]).await.id;
    let new_root = again(root, &bot, &scout).await;
    let originator = ParticipantId::User(ann.id);
    assert_eq!(new_root.cause, Cause::Known(Place { message: None, root, hop: 0, originator }));
    take(&world, &scout, chat, new_root.id, DeliveryStep::Begin).await;
    let asked = world.send(scout.caller, chat, "help", &[ParticipantId::Agent(bot.id)]).await.id;
    let asked = stored(&world, &ann, chat, asked).await;
    assert_eq!(asked.cause, Cause::Known(Place { message: Some(new_root.id), root, hop: 1, originator }));
    let new = again(asked.id, &bot, &clerk).await;
    assert_eq!(new.cause, asked.cause);
    assert_eq!(tree(&world, &ann, chat, new.id, 3).await, [root, new_root.id, asked.id, new.id]);
}

/// What an agent writes is part of the trace of what it works on, unless it states another. A server that begins traces
/// begins one for each tree.
pub async fn a_trace_runs_through_a_tree(world: World) {
    let Team { ann, agents: [bot, scout, clerk], chat } = team(&world).await;
    let beginning = Services::new(Ports { begin_traces: BeginTraces::recording(1.0), ..world.ports.clone() });
    let stated =
        |text: &str| SendHeaders { traceparent: Some(text.parse().unwrap()), ..SendHeaders::default() };
    let trace = async |message| {
        let message = stored(&world, &ann, chat, message).await;
        message.traceparent.map(|at| (at.to_string(), at.is_own_of(message.id)))
    };
    let send = async |services: &Services, from: Caller, to: &TestAgent, headers: SendHeaders| {
        let command = text("go", &[ParticipantId::Agent(to.id)]);
        services.messages.send_once(from, chat, command, headers).await.unwrap().id
    };
    let (server, none): (&Services, _) = (&world, SendHeaders::default);
    let untraced = send(server, ann.caller.into(), &bot, none()).await;
    assert_eq!(trace(untraced).await, None);
    take(&world, &bot, chat, untraced, DeliveryStep::Begin).await;
    let answer = send(server, bot.caller.into(), &scout, none()).await;
    assert_eq!(trace(answer).await, None, "there is nothing to continue");
    take(&world, &bot, chat, untraced, DeliveryStep::Succeed).await;

    let first = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let of_first = |at: &str| at.starts_with(&first[..36]) && at.ends_with("-01");
    let root = send(server, ann.caller.into(), &bot, stated(first)).await;
    assert_eq!(trace(root).await, Some((first.to_owned(), false)));
    take(&world, &bot, chat, root, DeliveryStep::Begin).await;
    // Neither server begins another trace.
    for services in [server, &beginning] {
        world.publisher.take();
        let asked = send(services, bot.caller.into(), &scout, none()).await;
        let (at, is_own) = trace(asked).await.unwrap();
        assert!(of_first(&at) && is_own, "{at}");
        let announced = world.publisher.take().into_iter().find_map(|event| match event {
            DomainEvent::MessageCreated { message, .. } => message.traceparent,
            _ => None,
        });
        assert_eq!(announced.map(|at| at.to_string()), Some(at));
        take(&world, &scout, chat, asked, DeliveryStep::Begin).await;
        let further = send(services, scout.caller.into(), &clerk, none()).await;
        let (at, is_own) = trace(further).await.unwrap();
        assert!(of_first(&at) && is_own, "{at}");
        let event = world.messages.post_event(scout.caller, chat, a_thought()).await.unwrap();
        assert!(event.traceparent.is_some_and(|at| of_first(&at.to_string()) && at.is_own_of(event.id)));
        assert_eq!(stored(&world, &ann, chat, event.id).await.traceparent, event.traceparent);
        take(&world, &scout, chat, asked, DeliveryStep::Succeed).await;
    }
    let by_name = SendMessage { in_reply_to: Some(root), ..to(&ann) };
    let named = world.messages.send(bot.caller, chat, by_name).await.unwrap().id;
    assert!(trace(named).await.is_some_and(|(at, is_own)| of_first(&at) && is_own));
    let other = "00-11111111111111111111111111111111-2222222222222222-00";
    let led_away = send(server, bot.caller.into(), &scout, stated(other)).await;
    assert_eq!(trace(led_away).await, Some((other.to_owned(), false)));

    let begun = send(&beginning, ann.caller.into(), &clerk, none()).await;
    let expected = format!("00-{}-{:016x}-01", begun.uuid().simple(), TraceParent::span_of(begun));
    assert_eq!(trace(begun).await, Some((expected.clone(), true)));
    take(&world, &clerk, chat, begun, DeliveryStep::Begin).await;
    let answer = send(&beginning, clerk.caller.into(), &bot, none()).await;
    let (at, is_own) = trace(answer).await.unwrap();
    assert!(at.starts_with(&expected[..36]) && is_own, "{at}");
}
