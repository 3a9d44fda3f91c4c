//! Events of other nodes that arrive late.

use std::sync::Arc;

use domain::caller::Caller;
use domain::chat::{Participant, Role};
use domain::event::DomainEvent;
use domain::id::{ChatId, ParticipantId};
use domain::node::OnConflict;
use domain::ports::EventPublisher;
use testkit::bus::BARE;
use testkit::{TestAgent, TestUser, World};
use tokio::time::Instant;
use ws_gateway::inbox::Reader;
use ws_gateway::{HubConfig, SocketClaim};

use super::*;
use crate::revalidator::Revalidator;
use crate::tests::received;

/// Ben's agent is in Ann's chat, and Ben observes it through the agent.
struct Scene {
    world: World,
    hub: Arc<Hub>,
    events: Arc<NodeEvents>,
    others: RemoteEventSink,
    ann: TestUser,
    ben: TestUser,
    bots: [TestAgent; 2],
    room: ChatId,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new();
        let (ann, ben) = (world.colleague("ann", "house").await, world.colleague("ben", "house").await);
        let bots = [world.agent(&ben, "One").await, world.agent(&ben, "Two").await];
        for bot in &bots {
            world.make_global(bot).await;
        }
        let room = world.chat(ann.caller, &[bots[0].id.into()]).await;
        let hub = Hub::new(HubConfig::default(), world.clock.clone());
        let events = NodeEvents::new(hub.clone(), world.clock.clone());
        let others = events.of_others(world.activity.clone());
        Self { world, hub, events, others, ann, ben, bots, room }
    }

    async fn join(&self, caller: impl Into<Caller>) -> (SocketClaim, Reader) {
        let caller = caller.into();
        let opened = self.hub.open(caller, BARE, OnConflict::Supersede).await;
        let (claim, reader) = opened.map_err(|refused| format!("{refused:?}")).unwrap();
        let topic = Topic::RoomParticipants(self.room);
        let ticket = claim.subscribe(topic);
        let entrance = self.world.chats.enter(caller, self.room).await.unwrap();
        claim.apply_access(topic, ticket, &entrance);
        (claim, reader)
    }

    async fn participant(&self, bot: &TestAgent) -> Participant {
        let roster = self.world.chats.roster_unchecked(self.room).await.unwrap().unwrap();
        roster.find(ParticipantId::Agent(bot.id)).unwrap().clone()
    }

    async fn remove(&self, bot: &TestAgent) {
        self.world.chats.remove_participant(self.ann.caller, self.room, bot.id).await.unwrap();
    }

    async fn add(&self, bot: &TestAgent) {
        self.world.add(self.ann.caller, self.room, bot.id.into(), Role::Member).await;
    }

    /// Revalidates the stale chats.
    async fn settle(&self) {
        let (hub, chats) = (self.hub.clone(), self.world.chats.clone());
        let revalidator = Revalidator::new(hub, chats, self.events.stale_chats());
        let due = self.events.stale_chats().take(Instant::now());
        revalidator.revalidate(due).await;
    }
}

#[tokio::test]
async fn a_late_event_of_an_addition_makes_no_observer() {
    let scene = Scene::new().await;
    scene.add(&scene.bots[1]).await;
    let late = scene.participant(&scene.bots[1]).await;
    scene.remove(&scene.bots[1]).await;
    let (_claim, mut ben) = scene.join(scene.ben.caller).await;
    scene.others.publish(DomainEvent::ParticipantAdded { chat_id: scene.room, participant: late });
    scene.settle().await;
    assert_eq!(received(&mut ben), ["participant_added"], "it is announced as before");
    let one = scene.participant(&scene.bots[0]).await;
    scene.remove(&scene.bots[0]).await;
    scene.events.publish(DomainEvent::ParticipantRemoved { chat_id: scene.room, participant: one });
    assert_eq!(received(&mut ben), ["participant_removed", "!end"], "the last agent that was there has gone");
}

#[tokio::test]
async fn a_late_event_of_a_removal_ends_no_current_participant() {
    let scene = Scene::new().await;
    let participant = scene.participant(&scene.bots[0]).await;
    let (_claim, mut bot) = scene.join(scene.bots[0].caller).await;
    scene.others.publish(DomainEvent::ParticipantRemoved { chat_id: scene.room, participant });
    scene.settle().await;
    assert_eq!(received(&mut bot), ["participant_removed"]);
}

/// It is not revalidated, since a deletion is final.
#[tokio::test]
async fn a_room_that_was_deleted_elsewhere_ends_at_once() {
    let scene = Scene::new().await;
    let (_claim, mut bot) = scene.join(scene.bots[0].caller).await;
    scene.others.publish(DomainEvent::RoomDeleted { chat_id: scene.room });
    assert_eq!(received(&mut bot), ["room_deleted", "!end"]);
}

#[tokio::test]
async fn current_events_take_effect_at_once() {
    let scene = Scene::new().await;
    let (_claim, mut ben) = scene.join(scene.ben.caller).await;
    scene.add(&scene.bots[1]).await;
    let added = scene.participant(&scene.bots[1]).await;
    scene.others.publish(DomainEvent::ParticipantAdded { chat_id: scene.room, participant: added });
    scene.settle().await;
    let removed = scene.participant(&scene.bots[0]).await;
    scene.remove(&scene.bots[0]).await;
    scene.events.publish(DomainEvent::ParticipantRemoved { chat_id: scene.room, participant: removed });
    assert_eq!(
        received(&mut ben),
        ["participant_added", "participant_removed"],
        "Ben's other agent is there"
    );
    let removed = scene.participant(&scene.bots[1]).await;
    scene.remove(&scene.bots[1]).await;
    scene.others.publish(DomainEvent::ParticipantRemoved { chat_id: scene.room, participant: removed });
    scene.settle().await;
    assert_eq!(received(&mut ben), ["participant_removed", "!end"]);
}
