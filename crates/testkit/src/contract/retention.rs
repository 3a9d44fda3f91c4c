//! Messages that are kept for a while only.

use std::time::Duration;

use domain::chat::Chat;
use domain::delivery::{AdvanceError, DeliveryStep, FailureText};
use domain::id::{ChatId, ParticipantId};
use domain::message::{Ageing, HistoryFilter, Retention, SendMessageError};
use domain::page::{PageRequest, Slice};
use domain::plan::Plan;
use domain::ports::Clock;

use super::messages::{ann_and_bot, thought};
use super::plans::plan;
use crate::world::text;
use crate::{TestUser, World};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The places and contents of what is in a room, the oldest first, and how many it is said to be.
async fn rows(world: &World, ann: &TestUser, chat: ChatId) -> (Vec<(i64, String)>, u64) {
    let all = PageRequest { slice: Slice::After { after: None, limit: 1000 }, count: true };
    let page = world.messages.history(ann.caller, chat, HistoryFilter::default(), all).await.unwrap();
    let rows = page.rows.into_iter().rev().map(|message| (message.sequence.get(), message.content));
    (rows.collect(), page.total.unwrap())
}

/// Walks to the end; gives how many were erased in how many steps.
async fn erase(world: &World, walk: &mut Retention) -> (u64, usize) {
    let (mut erased, mut steps) = (0, 0);
    while let Some(some) = world.messages.erase_old(walk, world.clock.now()).await.unwrap() {
        erased += some;
        steps += 1;
    }
    (erased, steps)
}

/// Texts with all that became of them, and events, each at their age; what is younger stays as it was.
pub async fn old_messages_are_erased(world: World) {
    let ann = world.user_with_plan("ann", Plan { messages: Some(5), ..plan("tiny") }).await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let to_bot = [ParticipantId::Agent(bot.id)];
    let mut old = Vec::new();
    for text in ["failed", "begun", "new"] {
        old.push(world.send(ann.caller, chat, text, &to_bot).await.id);
    }
    let failed = DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap());
    for (message, step) in [(0, DeliveryStep::Begin), (0, failed), (1, DeliveryStep::Begin)] {
        world.deliveries.advance(bot.caller, chat, old[message], step).await.unwrap();
    }
    thought(&world, &bot, chat).await;
    world.clock.advance(2 * DAY);
    let young = world.send(ann.caller, chat, "young", &to_bot).await.id;
    let full = text("x", &[]);
    let refused = world.messages.send(ann.caller, chat, full.clone()).await.unwrap_err();
    assert!(matches!(refused, SendMessageError::Limit(_)), "{refused}");
    let room = world.chats.find(ann.caller, chat).await.unwrap();
    let mut texts = Retention::days(Ageing::Texts, 2);
    assert_eq!(erase(&world, &mut texts).await, (0, 0), "nothing is older than two days yet");

    world.clock.advance(Duration::from_millis(1));
    world.publisher.take();
    assert_eq!(erase(&world, &mut texts).await.0, 3);
    assert!(world.publisher.take().is_empty());
    let left = vec![(4, "hm".to_owned()), (5, format!("@[[{}]] young", bot.id))];
    assert_eq!(rows(&world, &ann, chat).await, (left, 2));
    let untitled = Chat { title: None, ..room };
    assert_eq!(world.chats.find(ann.caller, chat).await.unwrap(), untitled);
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap().unwrap().id, young);
    for message in old {
        let gone = world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await;
        assert!(matches!(gone, Err(AdvanceError::NotFound)), "{gone:?}");
    }

    assert_eq!(erase(&world, &mut Retention::days(Ageing::Events, 2)).await.0, 1);
    assert_eq!(rows(&world, &ann, chat).await.1, 1);
    // Four of five are gone, and as many may come.
    for _ in 0..4 {
        world.messages.send(ann.caller, chat, full.clone()).await.unwrap();
    }
    assert!(world.messages.send(ann.caller, chat, full).await.is_err());
    let places = rows(&world, &ann, chat).await.0.into_iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(places, [5, 6, 7, 8, 9]);
}

/// In steps, through all rooms, past what stays, and on to what grows old later.
pub async fn an_interrupted_erasure_continues(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    for round in 0..250 {
        world.clock.advance(Duration::from_secs(1));
        world.send(ann.caller, if round % 3 == 0 { other } else { chat }, "text", &[]).await;
        thought(&world, &bot, chat).await;
    }
    let mut events = Retention::days(Ageing::Events, 3);
    world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60 - 49));
    let (erased, steps) = erase(&world, &mut events).await;
    assert_eq!((erased, steps), (200, 2), "of a second each, those of the first two hundred");
    world.clock.advance(DAY);
    thought(&world, &bot, chat).await;
    let (erased, steps) = erase(&world, &mut events).await;
    assert_eq!((erased, steps), (50, 1));
    assert_eq!(rows(&world, &ann, chat).await.1, 167, "two thirds of the texts, and the last thought");
    assert_eq!(rows(&world, &ann, other).await.1, 84);

    let (erased, steps) = erase(&world, &mut Retention::days(Ageing::Texts, 3)).await;
    assert_eq!((erased, steps), (250, 2));
    assert_eq!((rows(&world, &ann, chat).await.1, rows(&world, &ann, other).await.1), (1, 0));
    assert_eq!(erase(&world, &mut Retention::days(Ageing::Texts, 3)).await, (0, 0));
}
