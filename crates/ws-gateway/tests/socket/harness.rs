//! A served gateway and the users who connect to it.
//!
//! Ann owns One and Two and is with both in [`Bench::room`]; Ben is in no room and owns Three.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer, web};
use domain::chat::ChatService;
use domain::id::ChatId;
use domain::ports::EventPublisher;
use domain::time::Timestamp;
use http_wire::limit::{RateLimitConfig, RateLimits};
use http_wire::request_scope::RequestScope;
use testkit::{FixedClock, NOON, TestAgent, TestUser, World, until_or};
use ws_gateway::lossy_publisher::LossyPublisher;
use ws_gateway::{Hub, HubConfig, SocketContext};

use crate::client::Client;

/// How long something that must happen may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) hub: Arc<Hub>,
    pub(crate) address: SocketAddr,
    pub(crate) ann: TestUser,
    pub(crate) one: TestAgent,
    pub(crate) two: TestAgent,
    pub(crate) ben: TestUser,
    pub(crate) three: TestAgent,
    pub(crate) room: ChatId,
    server: ServerHandle,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with(HubConfig::default()).await
    }

    pub(crate) async fn with(config: HubConfig) -> Self {
        Self::asking(config, |world| world.chats.clone()).await
    }

    /// Whoever connects is counted, under the world's clock.
    pub(crate) async fn limited(limits: RateLimitConfig) -> Self {
        Self::build(HubConfig::default(), |world| world.chats.clone(), limits, |hub| hub).await
    }

    /// One of so many messages gets lost on its way to the sockets, beginning with the first.
    pub(crate) async fn with_lost(one_of: u64) -> Self {
        let losing =
            |hub: Arc<Hub>| -> Arc<dyn EventPublisher> { Arc::new(LossyPublisher::new(hub, one_of)) };
        let chats = |world: &World| world.chats.clone();
        Self::build(HubConfig::default(), chats, RateLimitConfig::off(), losing).await
    }

    /// Joins are decided by the service that `chats` gives.
    pub(crate) async fn asking(config: HubConfig, chats: impl FnOnce(&World) -> Arc<ChatService>) -> Self {
        Self::build(config, chats, RateLimitConfig::off(), |hub| hub).await
    }

    async fn build(
        config: HubConfig,
        chats: impl FnOnce(&World) -> Arc<ChatService>,
        limits: RateLimitConfig,
        publisher: impl FnOnce(Arc<Hub>) -> Arc<dyn EventPublisher>,
    ) -> Self {
        let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
        let hub = Hub::new(config, clock.clone());
        let world = World::with_publisher(clock, publisher(hub.clone()));
        let ann = world.user("ann").await;
        let (one, two) = (world.agent(&ann, "One").await, world.agent(&ann, "Two").await);
        let ben = world.user("ben").await;
        let three = world.agent(&ben, "Three").await;
        let room = world.chat(ann.caller, &[one.id.into(), two.id.into()]).await;
        let context = web::Data::new(SocketContext {
            hub: hub.clone(),
            accounts: world.accounts.clone(),
            tokens: world.tokens.clone(),
            chats: chats(&world),
            activity: world.activity.clone(),
        });
        let limits = web::Data::new(RateLimits::new(limits, world.clock.clone()));
        let server = HttpServer::new(move || {
            let app = App::new().wrap(RequestScope).app_data(context.clone()).app_data(limits.clone());
            app.configure(ws_gateway::configure)
        });
        let server = server.workers(1).disable_signals().tcp_nodelay(true).bind(("127.0.0.1", 0)).unwrap();
        let address = server.addrs()[0];
        let server = server.run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Self { world, hub, address, ann, one, two, ben, three, room, server: handle }
    }

    /// A socket with this key, as the Python client opens it.
    pub(crate) async fn socket(&self, key: &str) -> Client {
        Client::open(self.address, "vsn=2.0.0", &[("x-api-key", key)]).await
    }

    pub(crate) fn chat_topic(&self) -> String {
        format!("chat_room:{}", self.room)
    }

    pub(crate) fn people_topic(&self) -> String {
        format!("room_participants:{}", self.room)
    }

    /// The number of open sockets.
    pub(crate) fn open_sockets(&self) -> usize {
        let figures = self.hub.figures();
        figures.user_sockets + figures.agent_sockets
    }

    /// Waits until so many sockets are open.
    pub(crate) async fn until_open(&self, count: usize) {
        let open = || self.open_sockets();
        until_or(|| format!("{} are open, not {count}", open()), async || open() == count).await;
    }

    pub(crate) async fn end(self) {
        self.server.stop(false).await;
    }
}
