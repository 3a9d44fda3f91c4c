//! Receipts for senders.

use std::time::Duration;

use domain::chat::Role;
use domain::delivery::{
    DeadLetterReason, DeliveryKey, DeliveryReceipt, DeliveryStatus, DeliveryStep, FailureText,
    ReadReceiptsError,
};
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{EventContent, EventMetadata, MessageKind, PostEvent};
use domain::work::{WorkChange, WorkScope};

use super::messages::ann_and_bot;
use crate::{TestAgent, TestUser, World};

async fn receipts(world: &World, ann: &TestUser, chat: ChatId, message: MessageId) -> Vec<DeliveryReceipt> {
    world.deliveries.receipts(ann.caller, chat, message).await.unwrap()
}

async fn step(world: &World, bot: &TestAgent, chat: ChatId, message: MessageId, step: DeliveryStep) {
    world.clock.advance(Duration::from_secs(1));
    world.deliveries.advance(bot.caller, chat, message, step).await.unwrap();
}

/// Each step is seen with its time and the place in the queue; what is not in the queue counts in none.
pub async fn a_sender_sees_states_and_places(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let (to_bot, to_scout) = (ParticipantId::Agent(bot.id), ParticipantId::Agent(scout.id));
    let mut messages = Vec::new();
    for number in 0..4 {
        world.clock.advance(Duration::from_secs(1));
        let to = if number == 3 { vec![to_bot, to_scout] } else { vec![to_bot] };
        messages.push(world.send(ann.caller, chat, "work", &to).await.id);
    }
    let at_bot = async |message: usize| {
        let all = receipts(&world, &ann, chat, messages[message]).await;
        let receipt = all.into_iter().find(|receipt| receipt.agent.id == bot.id).unwrap();
        let age = world.work.now().since(receipt.changed_at).as_secs();
        (receipt.status, receipt.before, age)
    };
    assert_eq!(at_bot(0).await, (DeliveryStatus::New, Some(0), 3));
    assert_eq!(at_bot(3).await, (DeliveryStatus::New, Some(3), 0));
    let both = receipts(&world, &ann, chat, messages[3]).await;
    let mut expected = [(bot.id, "ann/bot", Some(3)), (scout.id, "ann/scout", Some(0))];
    expected.sort_unstable_by_key(|(id, ..)| *id);
    let seen = both.iter().map(|receipt| (receipt.agent.id, receipt.agent.handle.as_str(), receipt.before));
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    assert!(both.iter().all(|receipt| receipt.agent.in_chat && receipt.agent.is_external));

    world.clock.advance(Duration::from_secs(1));
    world.deliveries.mark_delivered(vec![DeliveryKey { message: messages[0], agent: bot.id }]).await.unwrap();
    assert_eq!(at_bot(0).await, (DeliveryStatus::Delivered, Some(0), 0));
    step(&world, &bot, chat, messages[0], DeliveryStep::Begin).await;
    assert_eq!(at_bot(0).await, (DeliveryStatus::Processing, Some(0), 0));
    let failure = FailureText::new("x".repeat(2000)).unwrap();
    step(&world, &bot, chat, messages[0], DeliveryStep::Fail(failure)).await;
    assert_eq!(at_bot(0).await, (DeliveryStatus::Failed, Some(0), 0));
    step(&world, &bot, chat, messages[1], DeliveryStep::Begin).await;
    step(&world, &bot, chat, messages[1], DeliveryStep::Succeed).await;
    assert_eq!(at_bot(1).await, (DeliveryStatus::Processed, None, 0));
    assert_eq!(at_bot(3).await.1, Some(2), "a processed message is not before another one");
    let reason = WorkChange::DeadLetter(DeadLetterReason::new("no key".to_owned()).unwrap());
    world.clock.advance(Duration::from_secs(1));
    world.work.change(WorkScope::OwnedBy(ann.id), messages[0], bot.id, reason, None).await.unwrap();
    world.clock.advance(Duration::from_secs(7));
    assert_eq!(at_bot(0).await, (DeliveryStatus::Dead, None, 7));
    assert_eq!(at_bot(3).await.1, Some(1), "neither is a dead one");

    // Work on a message that does not mention the agent is no receipt, and not in the queue.
    let other = world.send(ann.caller, chat, "for the other", &[to_scout]).await.id;
    step(&world, &bot, chat, other, DeliveryStep::Begin).await;
    assert_eq!(receipts(&world, &ann, chat, other).await.len(), 1);
    let last = world.send(ann.caller, chat, "last", &[to_bot]).await.id;
    assert_eq!(receipts(&world, &ann, chat, last).await[0].before, Some(2));
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert!(!receipts(&world, &ann, chat, last).await[0].agent.in_chat);
}

/// Humans who read the room see the receipts of all messages, agents those of their own; others see none.
pub async fn receipts_are_for_senders_and_humans(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let ben = world.user("ben").await;
    let bens = world.agent(&ben, "Bens").await;
    let of_ann = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let of_bot = world.send(bot.caller, chat, "work", &[ParticipantId::Agent(scout.id)]).await.id;
    let to_human = world.send(bot.caller, chat, "done", &[ParticipantId::User(ann.id)]).await.id;
    let event = PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::default(),
        in_reply_to: None,
    };
    let event = world.messages.post_event(bot.caller, chat, event).await.unwrap().id;
    for (message, number) in [(of_ann, 1), (of_bot, 1), (to_human, 0), (event, 0)] {
        let seen = receipts(&world, &ann, chat, message).await;
        assert_eq!(seen.len(), number);
        let own = world.deliveries.receipts(bot.caller, chat, message).await;
        if message == of_ann {
            assert!(matches!(own, Err(ReadReceiptsError::MessageNotFound)), "{own:?}");
        } else {
            assert_eq!(own.unwrap(), seen);
        }
        let refused = world.deliveries.receipts(scout.caller, chat, message).await;
        assert!(matches!(refused, Err(ReadReceiptsError::MessageNotFound)), "{refused:?}");
        let refused = world.deliveries.receipts(ben.caller, chat, message).await;
        assert!(matches!(refused, Err(ReadReceiptsError::ChatNotFound)), "{refused:?}");
        let refused = world.deliveries.receipts(bens.caller, chat, message).await;
        assert!(matches!(refused, Err(ReadReceiptsError::ChatNotFound)), "{refused:?}");
    }
    // A human who is there through an agent only, a message of another room, and an agent that has left.
    let room = world.chat(bot.caller, &[scout.id.into()]).await;
    let observed = world.send(bot.caller, room, "work", &[ParticipantId::Agent(scout.id)]).await.id;
    assert_eq!(receipts(&world, &ann, room, observed).await.len(), 1);
    let refused = world.deliveries.receipts(ann.caller, chat, observed).await;
    assert!(matches!(refused, Err(ReadReceiptsError::MessageNotFound)), "{refused:?}");
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    let refused = world.deliveries.receipts(bot.caller, chat, of_bot).await;
    assert!(matches!(refused, Err(ReadReceiptsError::ChatNotFound)), "{refused:?}");
}
