//! Deliveries that no socket has taken yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::chat::Role;
use domain::delivery::{
    AdvanceDelivery, Advanced, BacklogWork, ClaimLease, DeliveryKey, DeliveryStatus, DeliveryStep,
    FailureText, Listening, Searched, SubscriptionId, Unacknowledged,
};
use domain::id::{ChatId, MessageId, ParticipantId, Sequence};
use domain::message::Message;
use domain::ports::Clock;
use domain::store::OnCommit;
use domain::time::Timestamp;

use super::messages::ann_and_bot;
use crate::{TestAgent, TestUser, World};

pub(super) fn listening(agent: &TestAgent, chat: ChatId, since: i64) -> Listening {
    let (subscription, since) = (SubscriptionId::new(1), Sequence::new(since));
    Listening { subscription, agent: agent.id, chat, since, joined_at: Timestamp::from_micros(0) }
}

/// Of each listener, by its place, the places of what is new.
pub(super) async fn found(world: &World, listening: &[Listening], limit: u32) -> Vec<(usize, i64)> {
    let searched = world.stores.deliveries.unacknowledged(listening.to_vec(), limit).await.unwrap();
    assert_eq!(searched.len(), listening.len());
    let found = searched.into_iter().enumerate();
    found.flat_map(|(of, one)| one.found.into_iter().map(move |new| (of, new.sequence.get()))).collect()
}

/// The deliveries that are new at these positions.
pub(super) async fn new_messages(
    world: &World,
    agent: &TestAgent,
    chat: ChatId,
    places: impl IntoIterator<Item = i64>,
) -> Vec<Message> {
    let sequences = places.into_iter().map(Sequence::new).collect();
    let published = Arc::new(Mutex::new(Vec::new()));
    let hears = published.clone();
    let on_commit = OnCommit::new(move |new: &Vec<Message>| {
        assert!(!new.is_empty(), "nothing is not told");
        hears.lock().unwrap().extend(new.iter().cloned());
    });
    world.stores.deliveries.new_messages(agent.id, chat, sequences, on_commit).await.unwrap();
    std::mem::take(&mut *published.lock().unwrap())
}

async fn send(world: &World, ann: &TestUser, chat: ChatId, to: &[&TestAgent]) -> MessageId {
    let to = to.iter().map(|agent| ParticipantId::Agent(agent.id)).collect::<Vec<_>>();
    world.send(ann.caller, chat, "hello", &to).await.id
}

/// Each listener's own, of its own room, behind the place where it began, the oldest and not more
/// than are wanted.
pub async fn what_is_new_is_found_for_those_who_listen(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let elsewhere = world.chat(ann.caller, &[bot.id.into()]).await;
    assert_eq!(found(&world, &[], 10).await, []);
    assert_eq!(found(&world, &[listening(&bot, chat, 0)], 10).await, []);
    // Places 1 to 6.
    for to in [&[&bot][..], &[&other], &[&bot, &other], &[], &[&bot], &[&bot]] {
        send(&world, &ann, chat, to).await;
    }
    send(&world, &ann, elsewhere, &[&bot]).await;
    let all = [
        listening(&bot, chat, 0),
        listening(&other, chat, 0),
        listening(&bot, chat, 1),
        listening(&bot, elsewhere, 0),
        listening(&bot, elsewhere, 1),
        listening(&other, elsewhere, 0),
        listening(&bot, chat, 6),
        listening(&bot, chat, 5),
    ];
    let expected = [(0, 1), (0, 3), (0, 5), (0, 6), (1, 2), (1, 3), (2, 3), (2, 5), (2, 6), (3, 1), (7, 6)];
    assert_eq!(found(&world, &all, 10).await, expected);
    let oldest = expected.into_iter().filter(|found| ![(0, 5), (0, 6), (2, 6)].contains(found));
    assert_eq!(found(&world, &all, 2).await, oldest.collect::<Vec<_>>());
    let many = vec![listening(&bot, elsewhere, 0); 1000];
    assert_eq!(found(&world, &many, 2).await.len(), 1000);
}

/// Whatever has been taken or worked on is not new, nor is what was deleted; an instant comes with
/// each.
pub async fn only_what_is_new_is_found(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let failed = DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap());
    let steps: [&[DeliveryStep]; 4] = [
        &[],
        &[DeliveryStep::Begin],
        &[DeliveryStep::Begin, DeliveryStep::Succeed],
        &[DeliveryStep::Begin, failed],
    ];
    let mut messages = Vec::new();
    for steps in steps {
        let message = send(&world, &ann, chat, &[&bot]).await;
        for step in steps {
            world.deliveries.advance(bot.caller, chat, message, step.clone()).await.unwrap();
        }
        messages.push(message);
    }
    let delivered = send(&world, &ann, chat, &[&bot]).await;
    let taken = vec![DeliveryKey { message: delivered, agent: bot.id }];
    world
        .stores
        .deliveries
        .mark_delivered(taken, world.clock.now(), Box::new(|_| true), OnCommit::nothing())
        .await
        .unwrap();
    // Work on a message that is not addressed leaves a record that is never new.
    let unaddressed = send(&world, &ann, chat, &[]).await;
    world.deliveries.advance(bot.caller, chat, unaddressed, DeliveryStep::Begin).await.unwrap();
    let deleted = send(&world, &ann, chat, &[&bot]).await;
    world.messages.delete(ann.caller, chat, deleted).await.unwrap();

    let one = vec![listening(&bot, chat, 0)];
    let new = world.stores.deliveries.unacknowledged(one, 10).await.unwrap();
    let written_at = world.stores.deliveries.next(bot.id, chat, world.clock.now()).await.unwrap().unwrap();
    let written_at = written_at.message.unwrap().created_at;
    let found = vec![Unacknowledged { sequence: Sequence::new(1), written_at }];
    assert_eq!(new, [Searched { found, examined_to: None }]);
    let behind = vec![listening(&bot, chat, 5), listening(&bot, chat, 3)];
    let behind = world.stores.deliveries.unacknowledged(behind, 10).await.unwrap();
    assert_eq!(behind.iter().map(|one| one.examined_to).collect::<Vec<_>>(), [None, Some(Sequence::new(5))]);
    assert!(behind.iter().all(|one| one.found.is_empty()));
    let read = new_messages(&world, &bot, chat, 0..10).await;
    assert_eq!(read.iter().map(|message| message.id).collect::<Vec<_>>(), messages[..1]);
}

/// Of each chat that exists, also of one without messages.
pub async fn the_newest_messages_of_chats_are_known(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let empty = world.chat(ann.caller, &[]).await;
    for _ in 0..2 {
        send(&world, &ann, chat, &[&bot]).await;
    }
    let asked = vec![chat, ChatId::new(bot.id.uuid()), empty];
    let last = world.stores.deliveries.last_sequences(asked).await.unwrap();
    assert_eq!(last, HashMap::from([(chat, Sequence::new(2)), (empty, Sequence::default())]));
    assert!(world.stores.deliveries.last_sequences(Vec::new()).await.unwrap().is_empty());
}

/// With the reader's own record, in their order, for participants only, and within bounds.
pub async fn new_messages_are_read_by_those_they_are_for(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let first = send(&world, &ann, chat, &[&bot, &other]).await;
    let second = send(&world, &ann, chat, &[&bot]).await;
    let read = async |agent: &TestAgent, places: &[i64]| {
        let read = new_messages(&world, agent, chat, places.iter().copied()).await;
        for message in &read {
            let records = message.deliveries.iter().map(|record| (record.agent(), record.status()));
            assert_eq!(records.collect::<Vec<_>>(), [(agent.id, DeliveryStatus::New)]);
        }
        read.iter().map(|message| message.id).collect::<Vec<_>>()
    };
    assert_eq!(read(&bot, &[2, 1, 7]).await, [first, second]);
    assert_eq!(read(&bot, &[2]).await, [second]);
    assert_eq!(read(&bot, &[]).await, []);
    assert_eq!(read(&other, &[1, 2]).await, [first]);
    world.chats.remove_participant(ann.caller, chat, other.id).await.unwrap();
    assert_eq!(read(&other, &[1, 2]).await, []);
    let control = "\u{1}".repeat(100_000);
    let large = vec![ParticipantId::Agent(bot.id)];
    for _ in 0..100 {
        world.send(ann.caller, chat, &control, &large).await;
    }
    let cut = read(&bot, &(1..=102).collect::<Vec<_>>()).await;
    assert!(cut.starts_with(&[first, second]) && (10..102).contains(&cut.len()), "{}", cut.len());
}

/// The newest attempt that is open, and the newest end, of messages up to a place. Of the processed ones, the
/// one before the oldest open one counts.
pub async fn work_on_a_backlog_is_found(world: World) {
    use DeliveryStep::{Begin, Succeed};
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let mut sent = Vec::new();
    // Places 1 to 6.
    for to in [&[&bot][..], &[&bot], &[&other, &bot], &[&bot], &[&bot], &[]] {
        sent.push(send(&world, &ann, chat, to).await);
    }
    // Takes a step at the message in this place, a second later; returns the time.
    let step = async |agent: &TestAgent, place: usize, step: DeliveryStep| {
        world.clock.advance(Duration::from_secs(1));
        world.deliveries.advance(agent.caller, chat, sent[place - 1], step).await.unwrap();
        Some(world.clock.now())
    };
    let expect = async |until: i64, begun_at: Option<Timestamp>, ended_at: Option<Timestamp>| {
        let until = Sequence::new(until);
        let work = world.stores.deliveries.backlog_work(bot.id, chat, until).await.unwrap();
        assert_eq!(work, BacklogWork { begun_at, ended_at });
    };
    expect(9, None, None).await;
    // The work of others, and on what is not addressed, does not count.
    step(&other, 3, Begin).await;
    step(&bot, 6, Begin).await;
    expect(9, None, None).await;
    let begun = step(&bot, 1, Begin).await;
    expect(5, begun, None).await;
    let done = step(&bot, 1, Succeed).await;
    expect(5, None, done).await;
    let begun = step(&bot, 2, Begin).await;
    expect(5, begun, done).await;
    let failed = step(&bot, 2, DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap())).await;
    expect(5, None, failed).await;
    let begun = step(&bot, 2, Begin).await;
    let later = step(&bot, 5, Begin).await;
    expect(5, later, done).await;
    // What is further on does not count.
    expect(4, begun, done).await;
    let done = step(&bot, 2, Succeed).await;
    expect(4, None, done).await;
    // It was not the oldest.
    step(&bot, 5, Succeed).await;
    expect(5, None, done).await;
}

/// After an agent begins to work on a message, it is not offered as new.
pub async fn what_is_new_is_told_before_every_step_on_it(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    for place in 1..=40 {
        let message = send(&world, &ann, chat, &[&bot]).await;
        let published = Arc::new(Mutex::new(Vec::new()));
        let (offers, works) = (published.clone(), published.clone());
        let offered = OnCommit::new(move |_: &Vec<Message>| offers.lock().unwrap().push("new"));
        let begun = OnCommit::new(move |_: &Advanced| works.lock().unwrap().push("processing"));
        let (agent, now) = (bot.id, world.clock.now());
        let step = AdvanceDelivery {
            agent,
            chat,
            message,
            step: DeliveryStep::Begin,
            attempt: None,
            lease: ClaimLease::default(),
            now,
        };
        let (offered, begun) = tokio::join!(
            world.stores.deliveries.new_messages(bot.id, chat, vec![Sequence::new(place)], offered),
            world.stores.deliveries.advance(step, begun),
        );
        offered.unwrap();
        begun.unwrap().unwrap();
        let published = published.lock().unwrap().clone();
        assert!(
            [&["processing"][..], &["new", "processing"]].contains(&published.as_slice()),
            "{published:?}"
        );
    }
}
