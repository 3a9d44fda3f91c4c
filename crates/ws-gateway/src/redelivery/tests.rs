//! A failure of the store for some subscriptions does not delay the others.

use std::time::Duration;

use async_trait::async_trait;
use domain::chat::Entrance;
use domain::delivery::{
    AdvanceDelivery, AdvanceRefused, Advanced, BacklogWork, DeliveryFilter, DeliveryKey, DeliveryReceipt,
    DeliveryRepository, HasHumanSubscribers, NextMessage, ReceiptsRefused, RenewClaims, Searched,
    Unacknowledged,
};
use domain::id::{AgentId, ChatId, MessageId, ParticipantId};
use domain::page::{Order, Page, PageRequest};
use domain::store::StoreError;
use domain::time::Timestamp;
use testkit::World;

use super::*;
use crate::hub::tests::{ROOM, agent, agent_id, hub, message, open};
use crate::topic::Topic;

/// A store in which every listener has one unacknowledged message; the rows of these agents cannot
/// be read, nor the row of this message be written.
#[derive(Default)]
pub(crate) struct Damaged {
    /// The query fails for every listener that is asked for together with this one.
    listener: Mutex<Option<AgentId>>,
    message: Mutex<Option<AgentId>>,
    pub(crate) delivery: Mutex<Option<MessageId>>,
    /// The deliveries that were marked.
    pub(crate) marked: Mutex<Vec<DeliveryKey>>,
}

impl Damaged {
    /// The service on this store.
    pub(crate) fn service(self: &Arc<Self>, world: &World) -> DeliveryService {
        let (events, presence, clock) =
            (world.publisher.clone(), world.presence.clone(), world.clock.clone());
        DeliveryService::new(self.clone(), world.stores.chats.clone(), events, presence, clock)
    }
}

fn broken<T>() -> Result<T, StoreError> {
    Err(StoreError::Broken("a row that cannot be".into()))
}

#[async_trait]
impl DeliveryRepository for Damaged {
    async fn next(&self, _: AgentId, _: ChatId, _: Timestamp) -> Result<Option<NextMessage>, StoreError> {
        broken()
    }

    async fn last_sequences(&self, _: Vec<ChatId>) -> Result<HashMap<ChatId, Sequence>, StoreError> {
        broken()
    }

    async fn list(
        &self,
        _: AgentId,
        _: ChatId,
        _: DeliveryFilter,
        _: Order,
        _: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError> {
        broken()
    }

    async fn receipts(
        &self,
        _: ParticipantId,
        _: ChatId,
        _: MessageId,
    ) -> Result<Result<Vec<DeliveryReceipt>, ReceiptsRefused>, StoreError> {
        broken()
    }

    async fn advance(
        &self,
        _: AdvanceDelivery,
        _: OnCommit<Advanced>,
    ) -> Result<Result<Advanced, AdvanceRefused>, StoreError> {
        broken()
    }

    async fn renew_claims(&self, _: RenewClaims) -> Result<(), StoreError> {
        broken()
    }

    async fn mark_delivered(
        &self,
        taken: Vec<DeliveryKey>,
        _: Timestamp,
        _: HasHumanSubscribers,
        _: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError> {
        let bad = *self.delivery.lock().unwrap();
        if taken.iter().any(|key| Some(key.message) == bad) {
            return broken();
        }
        self.marked.lock().unwrap().extend(taken);
        Ok(())
    }

    async fn announce_delivered(
        &self,
        _: Vec<MessageId>,
        _: HasHumanSubscribers,
        _: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError> {
        broken()
    }

    async fn unacknowledged(&self, listening: Vec<Listening>, _: u32) -> Result<Vec<Searched>, StoreError> {
        let bad = *self.listener.lock().unwrap();
        if listening.iter().any(|one| Some(one.agent) == bad) {
            return broken();
        }
        let new = Unacknowledged { sequence: Sequence::new(1), written_at: Timestamp::from_micros(0) };
        Ok(vec![Searched { found: vec![new], examined_to: None }; listening.len()])
    }

    async fn backlog_work(&self, _: AgentId, _: ChatId, _: Sequence) -> Result<BacklogWork, StoreError> {
        broken()
    }

    async fn new_messages(
        &self,
        of: AgentId,
        _: ChatId,
        _: Vec<Sequence>,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError> {
        if Some(of) == *self.message.lock().unwrap() {
            return broken();
        }
        on_commit.run(&vec![message(1, "again")]);
        Ok(())
    }
}

#[tokio::test]
async fn a_failing_read_keeps_nobody_else_waiting() {
    let (world, hub, store) = (World::new(), hub(), Arc::new(Damaged::default()));
    let deliveries = store.service(&world);
    let rule = RedeliveryPolicy::usual(Duration::from_secs(5), Duration::from_secs(900));
    let mut repeater = Redeliverer::new(hub.clone(), Arc::new(deliveries), rule);
    let mut sockets = (0..LISTENERS + 3).map(|number| open(&hub, agent(number as u128))).collect::<Vec<_>>();
    for (claim, _) in &sockets {
        let topic = Topic::ChatRoom(ROOM);
        claim.apply_access(topic, claim.subscribe(topic), &Entrance::default());
    }
    *store.listener.lock().unwrap() = Some(agent_id(7));
    *store.message.lock().unwrap() = Some(agent_id(LISTENERS as u128));
    assert_eq!(repeater.round().await, 2, "all that were asked about apart, but for the damaged one");
    *store.listener.lock().unwrap() = None;
    assert_eq!(repeater.round().await, LISTENERS, "they come now, and who had theirs is not due yet");
    *store.message.lock().unwrap() = None;
    assert_eq!(repeater.round().await, 1);
    assert!(sockets.iter_mut().all(|(_, inbox)| inbox.next().is_some() && inbox.next().is_none()));
}
