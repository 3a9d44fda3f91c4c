//! Removals by another process, whose events do not arrive here.

use std::sync::Arc;

use domain::account::DeleteAgent;
use domain::caller::Caller;
use domain::change::Change;
use domain::chat::{DeleteChat, RemoveParticipant};
use domain::event::DomainEvent;
use domain::id::{AccountId, ChatId, ParticipantId};
use domain::ports::{Clock, EventPublisher};
use domain::store::OnCommit;
use testkit::{TestAgent, TestUser, World};

use super::{house, hub, open};
use crate::hub::Hub;
use crate::hub::claim::SocketClaim;
use crate::inbox::{InboxItem, Reader};
use crate::topic::Topic;

/// Ann's chat with Ben and the agents of both; Ben is in none of the other chats of his agent.
struct Scene {
    world: World,
    hub: Arc<Hub>,
    ann: TestUser,
    ben: TestUser,
    bots: [TestAgent; 2],
    room: ChatId,
}

/// A socket that has joined the chat's messages and participants.
struct Joined {
    _claim: SocketClaim,
    reader: Reader,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new();
        let (ann, ben, bots) = house(&world).await;
        let room = world.chat(ann.caller, &[ben.id.into(), bots[0].id.into(), bots[1].id.into()]).await;
        Self { world, hub: hub(), ann, ben, bots, room }
    }

    async fn join(&self, caller: impl Into<Caller>) -> Joined {
        let caller = caller.into();
        let (claim, reader) = open(&self.hub, caller);
        for topic in [Topic::ChatRoom(self.room), Topic::RoomParticipants(self.room)] {
            let subscription = claim.subscribe(topic);
            let entrance = self.world.chats.enter(caller, self.room).await.unwrap();
            claim.apply_access(topic, subscription, &entrance);
        }
        Joined { _claim: claim, reader }
    }

    async fn remove(&self, target: AccountId) {
        let (by, now) = (self.ann.caller.into(), self.world.clock.now());
        let command = RemoveParticipant { chat: self.room, by, target, now };
        let removed = self.world.stores.chats.remove_participant(command, OnCommit::nothing()).await;
        removed.unwrap().unwrap();
    }

    async fn revalidate(&self) {
        self.hub.revalidate(self.room, &self.world.chats).await.unwrap();
    }
}

impl Joined {
    /// The number of subscriptions that have ended since the last call.
    fn ended(&mut self) -> usize {
        let mut ended = 0;
        for received in self.reader.by_ref() {
            assert!(matches!(received, InboxItem::End { .. }), "{received:?}");
            ended += 1;
        }
        ended
    }
}

#[tokio::test]
async fn a_participant_removed_elsewhere_is_unsubscribed() {
    let scene = Scene::new().await;
    let mut ann = scene.join(scene.ann.caller).await;
    let mut ben = scene.join(scene.ben.caller).await;
    let mut bot = scene.join(scene.bots[0].caller).await;
    scene.revalidate().await;
    assert_eq!((ann.ended(), ben.ended(), bot.ended()), (0, 0, 0), "nobody has gone");
    scene.remove(scene.ben.id.into()).await;
    scene.remove(scene.bots[0].id.into()).await;
    scene.revalidate().await;
    assert_eq!((ann.ended(), ben.ended(), bot.ended()), (0, 2, 2));
    let mut observer = scene.join(scene.ben.caller).await;
    scene.remove(scene.bots[1].id.into()).await;
    scene.revalidate().await;
    assert_eq!((ann.ended(), observer.ended()), (0, 2), "the last agent has gone through which Ben observed");
    assert_eq!(scene.hub.figures().listeners, 2);
}

#[tokio::test]
async fn an_observer_stays_subscribed_while_an_own_agent_participates() {
    let scene = Scene::new().await;
    scene.remove(scene.ben.id.into()).await;
    let mut ben = scene.join(scene.ben.caller).await;
    scene.remove(scene.bots[0].id.into()).await;
    scene.revalidate().await;
    assert_eq!(ben.ended(), 0);
    // Later events are compared with the result of the read.
    scene.world.add(scene.ann.caller, scene.room, scene.ben.id.into(), domain::chat::Role::Member).await;
    scene.revalidate().await;
    scene.remove(scene.bots[1].id.into()).await;
    scene.revalidate().await;
    assert_eq!(ben.ended(), 0, "Ben takes part by now");
    scene.remove(scene.ben.id.into()).await;
    scene.revalidate().await;
    assert_eq!(ben.ended(), 2);
}

#[tokio::test]
async fn a_room_deleted_elsewhere_has_no_subscriptions() {
    let scene = Scene::new().await;
    let mut ann = scene.join(scene.ann.caller).await;
    let mut bot = scene.join(scene.bots[0].caller).await;
    let (by, now) = (Some(scene.ann.caller.into()), scene.world.clock.now());
    let command = DeleteChat { chat: scene.room, by, now };
    scene.world.stores.chats.delete(command, OnCommit::nothing()).await.unwrap().unwrap();
    scene.revalidate().await;
    assert_eq!((ann.ended(), bot.ended(), scene.hub.figures().listeners), (2, 2, 0));
}

/// A join that is being decided uses the earlier read.
#[tokio::test]
async fn a_pending_join_is_compared_with_the_store() {
    let scene = Scene::new().await;
    let caller = Caller::from(scene.ben.caller);
    let (claim, mut reader) = open(&scene.hub, caller);
    let subscription = claim.subscribe(Topic::ChatRoom(scene.room));
    let entrance = scene.world.chats.enter(caller, scene.room).await.unwrap();
    for gone in [scene.ben.id.into(), scene.bots[0].id.into(), scene.bots[1].id.into()] {
        scene.remove(gone).await;
    }
    scene.revalidate().await;
    claim.apply_access(Topic::ChatRoom(scene.room), subscription, &entrance);
    assert!(matches!(reader.next(), Some(InboxItem::End { .. })));
    assert_eq!(scene.hub.figures().listeners, 0);
}

/// The join used the earlier read; the later one counts.
#[tokio::test]
async fn a_join_observes_only_through_current_participants() {
    let scene = Scene::new().await;
    scene.remove(scene.ben.id.into()).await;
    let caller = Caller::from(scene.ben.caller);
    let (claim, reader) = open(&scene.hub, caller);
    let subscription = claim.subscribe(Topic::ChatRoom(scene.room));
    let entrance = scene.world.chats.enter(caller, scene.room).await.unwrap();
    scene.remove(scene.bots[0].id.into()).await;
    scene.revalidate().await;
    claim.apply_access(Topic::ChatRoom(scene.room), subscription, &entrance);
    let mut ben = Joined { _claim: claim, reader };
    assert_eq!(ben.ended(), 0, "there is another");
    let roster = scene.world.chats.roster_unchecked(scene.room).await;
    let participant = roster.unwrap().unwrap().find(ParticipantId::Agent(scene.bots[1].id)).unwrap().clone();
    scene.hub.publish(DomainEvent::ParticipantRemoved { chat_id: scene.room, participant });
    assert_eq!(ben.ended(), 1, "nobody is left");
}

#[tokio::test]
async fn nobody_observes_through_an_agent_deleted_elsewhere() {
    let scene = Scene::new().await;
    scene.remove(scene.ben.id.into()).await;
    let mut ben = scene.join(scene.ben.caller).await;
    let mut ann = scene.join(scene.ann.caller).await;
    for (bot, ended) in scene.bots.iter().zip([0, 2]) {
        let by = scene.ben.id.into();
        let command =
            DeleteAgent { agent: bot.id, owner: scene.ben.id, force: true, by, now: scene.world.clock.now() };
        scene.world.stores.accounts.delete_agent(command, OnCommit::nothing()).await.unwrap().unwrap();
        scene.hub.follow(Change::AgentDeleted(bot.id));
        assert_eq!((ben.ended(), ann.ended()), (ended, 0));
    }
    assert_eq!(scene.hub.figures().listeners, 2);
}
