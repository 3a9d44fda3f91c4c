use domain::caller::Caller;
use domain::chat::ChatService;
use domain::id::{ChatId, NodeId};
use domain::node::{NodeRepository, OnConflict};
use domain::services::Services;
use domain::time::Timestamp;
use testkit::World;
use testkit::bus::BARE;
use testkit::nodes::MemoryNodes;
use tokio::time::timeout;
use uuid::Uuid;
use ws_gateway::inbox::{InboxItem, Reader};
use ws_gateway::topic::Topic;
use ws_gateway::{HubConfig, SocketClaim};

use super::*;
use crate::revalidator::{FAILURES, RETRY};

/// The clock of an entry's writer may be wrong by any time, and so may this machine's: neither
/// removes an entry that another node may not have read.
#[tokio::test]
async fn entries_are_stored_for_an_hour_whatever_the_clocks_say() {
    let log = Arc::<MemoryNodes>::default();
    let write = async || {
        log.record_event_loss(NodeId::new(Uuid::nil()), Timestamp::from_micros(0)).await.unwrap();
    };
    let count = async || log.changes_after(ChangePosition(0), READ_LIMIT).await.unwrap().len();
    let (begun, minute) = (Instant::now(), Duration::from_secs(60));
    let mut seen = VecDeque::new();
    write().await;
    write().await;
    for passed in 0..60 {
        forget_old(&*log, &mut seen, begun + passed * minute).await.unwrap();
    }
    write().await;
    assert_eq!(count().await, 3);
    log.be_away(true);
    forget_old(&*log, &mut seen, begun + RETENTION).await.unwrap_err();
    log.be_away(false);
    forget_old(&*log, &mut seen, begun + RETENTION).await.unwrap();
    assert_eq!(count().await, 2, "an hour has passed since the first two were seen");
    forget_old(&*log, &mut seen, begun + 2 * RETENTION).await.unwrap();
    assert_eq!(count().await, 1, "the newest one stays");
}

/// An agent that is subscribed to a chat, and was removed from it by another process.
struct Scene {
    world: World,
    hub: Arc<Hub>,
    room: ChatId,
    _claim: SocketClaim,
    socket: Reader,
    feed: ChangeFeed,
}

impl Scene {
    /// The participants of chats are read through `chats`.
    async fn new(chats: impl FnOnce(&World) -> Arc<ChatService>) -> Self {
        let world = World::new();
        let hub = Hub::new(HubConfig::default(), world.clock.clone());
        let ann = world.user("ann").await;
        let bot = world.agent(&ann, "Bot").await;
        let room = world.chat(ann.caller, &[bot.id.into()]).await;
        let caller = Caller::from(bot.caller);
        let opened = hub.open(caller, BARE, OnConflict::Supersede).await;
        let (claim, socket) = opened.map_err(|refused| format!("{refused:?}")).unwrap();
        let topic = Topic::RoomParticipants(room);
        let ticket = claim.subscribe(topic);
        claim.apply_access(topic, ticket, &world.chats.enter(caller, room).await.unwrap());
        let (log, clock) = (world.stores.changes.clone(), world.clock.clone());
        let services = Services { chats: chats(&world), ..(*world).clone() };
        let feed = ChangeFeed::begin(log, hub.clone(), services, clock, None).await.unwrap();
        world.chats.remove_participant(ann.caller, room, bot.id).await.unwrap();
        Self { world, hub, room, _claim: claim, socket, feed }
    }

    fn is_subscribed(&self) -> bool {
        self.hub.has_subscribers(Topic::RoomParticipants(self.room))
    }
}

/// The participants cannot be read; all else can.
fn of_a_closed_store(_: &World) -> Arc<ChatService> {
    let closed = World::new();
    (closed.stores.close)();
    closed.chats.clone()
}

#[tokio::test]
async fn a_participant_removed_by_another_process_is_unsubscribed() {
    let scene = Scene::new(|world| world.chats.clone()).await;
    assert!(scene.is_subscribed());
    let following = timeout(Duration::from_secs(20), scene.feed.follow());
    let ended = async {
        let room = Topic::RoomParticipants(scene.room);
        testkit::until("the subscription ends", async || !scene.hub.has_subscribers(room)).await;
    };
    tokio::select! {
        _ = following => panic!("the subscription goes on"),
        () = ended => {}
    }
}

#[tokio::test]
async fn chats_that_cannot_be_revalidated_hold_up_no_later_entry() {
    let mut scene = Scene::new(of_a_closed_store).await;
    scene.feed.read().await.unwrap();
    assert_eq!(scene.feed.position, scene.world.stores.changes.newest_change().await.unwrap());
    assert!(scene.is_subscribed(), "it is compared with the store in a task of its own");
}

/// Only while the log can be read: an outage of the store closes no socket.
#[tokio::test]
async fn chats_that_can_never_be_revalidated_end_all_sockets() {
    let mut scene = Scene::new(of_a_closed_store).await;
    scene.feed.read().await.unwrap();
    let revalidator = &scene.feed.revalidator;
    let take = || revalidator.stale_chats().take(Instant::now() + RETRY);
    revalidator.set_log_readable(false);
    for _ in 0..2 * FAILURES {
        revalidator.revalidate(take()).await;
    }
    revalidator.set_log_readable(true);
    for _ in 1..FAILURES {
        revalidator.revalidate(take()).await;
    }
    assert_eq!(scene.socket.by_ref().count(), 0);
    revalidator.revalidate(take()).await;
    assert!(take().is_empty(), "nothing is tried again");
    let received = scene.socket.by_ref().collect::<Vec<_>>();
    assert!(matches!(received[..], [InboxItem::Stop]), "{received:?}");
}

/// A process that was suspended for longer than entries are stored.
#[tokio::test]
async fn entries_that_were_deleted_unread_end_all_sockets() {
    let mut scene = Scene::new(|world| world.chats.clone()).await;
    let log = scene.world.stores.changes.clone();
    let ben = scene.world.user("ben").await;
    let bot = scene.world.agent(&ben, "Bot").await;
    let write = async || scene.world.accounts.rotate_key(ben.id, bot.id).await.unwrap();
    write().await;
    scene.feed.read().await.unwrap();
    log.forget_changes(scene.feed.position, READ_LIMIT).await.unwrap();
    write().await;
    scene.feed.read().await.unwrap();
    assert_eq!(
        scene.socket.by_ref().filter(|item| matches!(item, InboxItem::Stop)).count(),
        0,
        "none is missing"
    );

    write().await;
    write().await;
    log.forget_changes(log.newest_change().await.unwrap(), READ_LIMIT).await.unwrap();
    scene.feed.read().await.unwrap();
    assert_eq!(scene.feed.position, log.newest_change().await.unwrap());
    assert_eq!(scene.socket.by_ref().filter(|item| matches!(item, InboxItem::Stop)).count(), 1);
}

/// The same for a process that began before the first entry.
#[tokio::test]
async fn entries_that_were_deleted_unread_after_an_empty_log_end_all_sockets() {
    let mut scene = Scene::new(|world| world.chats.clone()).await;
    let log = scene.world.stores.changes.clone();
    assert_eq!(scene.feed.position, ChangePosition::START);
    assert_eq!(log.newest_change().await.unwrap(), ChangePosition::FIRST, "the removal");
    let ben = scene.world.user("ben").await;
    let bot = scene.world.agent(&ben, "Bot").await;
    scene.world.accounts.rotate_key(ben.id, bot.id).await.unwrap();
    let newest = log.newest_change().await.unwrap();
    log.forget_changes(newest, READ_LIMIT).await.unwrap();
    scene.feed.read().await.unwrap();
    assert_eq!(scene.feed.position, newest);
    assert_eq!(scene.socket.by_ref().filter(|item| matches!(item, InboxItem::Stop)).count(), 1);
}
