//! The store at a glance.

use std::time::Duration;

use domain::chat::Role;
use domain::delivery::{DeliveryKey, DeliveryStep, FailureText};
use domain::id::ParticipantId;
use domain::ports::Clock;
use domain::work::WorkTotals;

use crate::World;

const SECOND: Duration = Duration::from_secs(1);

/// Records are counted, and open work, without processed messages and those of deleted chats.
pub async fn the_status_summarizes_the_store(world: World) {
    let empty = world.stores.status.status().await.unwrap();
    assert_eq!((empty.users, empty.messages), (0, 0));
    let no_work = WorkTotals::default();
    assert_eq!(world.work.totals().await.unwrap(), no_work);
    assert!(empty.size_bytes > 0);

    let ann = world.user("ann").await;
    let (one, two) = (world.agent(&ann, "One").await, world.agent(&ann, "Two").await);
    let (chat, gone) = (world.chat(ann.caller, &[]).await, world.chat(ann.caller, &[]).await);
    for room in [chat, gone] {
        world.add(ann.caller, room, one.id.into(), Role::Member).await;
    }
    world.add(ann.caller, chat, two.id.into(), Role::Member).await;
    let both = [ParticipantId::Agent(one.id), ParticipantId::Agent(two.id)];
    world.send(ann.caller, gone, "in vain", &both[..1]).await;
    world.chats.delete(ann.caller, gone).await.unwrap();
    let (mut sent, begun) = (Vec::new(), world.clock.now());
    for number in 0..5 {
        world.clock.advance(SECOND);
        sent.push(world.send(ann.caller, chat, &format!("text {number}"), &both[..1]).await);
    }
    world.send(ann.caller, chat, "for both", &both).await;
    let keys = sent[1..].iter().map(|message| DeliveryKey { message: message.id, agent: one.id }).collect();
    world.deliveries.mark_delivered(keys).await.unwrap();
    let steps = async |message: usize, step| {
        world.deliveries.advance(one.caller, chat, sent[message].id, DeliveryStep::Begin).await.unwrap();
        if let Some(step) = step {
            world.deliveries.advance(one.caller, chat, sent[message].id, step).await.unwrap();
        }
    };
    steps(0, Some(DeliveryStep::Succeed)).await;
    steps(2, None).await;
    steps(3, Some(DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap()))).await;

    let seen = world.stores.status.status().await.unwrap();
    let counts = (seen.organizations, seen.users, seen.agents, seen.chats, seen.messages);
    assert_eq!(counts, (1, 1, 2, 1, 6));
    let oldest = Some(begun.plus(SECOND * 2));
    let work = world.work.totals().await.unwrap();
    let expected = WorkTotals { new: 2, delivered: 2, processing: 1, failed: 1, oldest, ..no_work };
    assert_eq!((work, work.open()), (expected, 6));

    world.messages.delete(ann.caller, chat, sent[1].id).await.unwrap();
    let seen = world.stores.status.status().await.unwrap();
    assert_eq!((seen.messages, world.work.totals().await.unwrap().delivered), (5, 1));
}
