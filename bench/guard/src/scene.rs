//! What the paths stand on: services on a store in memory, mounted as the server mounts them.
//!
//! Clock and ids are the tests' own, so that one run does what every other does. Nothing goes over a
//! network: a request is handed to the service, and a socket's bytes are taken from the body of its answer.

use std::sync::Arc;
use std::time::Duration;

use actix_http::Request;
use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, Error, web};
use domain::id::ChatId;
use domain::ports::Clock;
use domain::secret::Secret;
use domain::time::Timestamp;
use http_wire::cursor::CursorSeal;
use http_wire::features::Features;
use http_wire::limit::{RateLimitConfig, RateLimits};
use http_wire::request_scope::RequestScope;
use http_wire::services::register;
use testkit::{FixedClock, NOON, TestAgent, TestUser, World};
use ws_gateway::{Hub, HubConfig, SocketContext};

/// How far the clock goes on before each request, so that nobody asks more often than may be.
const BETWEEN: Duration = Duration::from_millis(10);

/// A room of Ann and three agents of hers.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) hub: Arc<Hub>,
    pub(crate) ann: TestUser,
    pub(crate) sender: TestAgent,
    pub(crate) recipients: [TestAgent; 2],
    pub(crate) room: ChatId,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
        let hub = Hub::new(HubConfig::default(), clock.clone());
        let world = World::with_publisher(clock, hub.clone());
        let ann = world.user("ann").await;
        let sender = world.agent(&ann, "Planner").await;
        let recipients = [world.agent(&ann, "Researcher").await, world.agent(&ann, "Writer").await];
        let members = [sender.id.into(), recipients[0].id.into(), recipients[1].id.into()];
        let room = world.chat(ann.caller, &members).await;
        Self { world, hub, ann, sender, recipients, room }
    }

    /// The interfaces, as the server mounts them.
    pub(crate) async fn app(
        &self,
    ) -> impl Service<Request, Response = ServiceResponse<impl MessageBody + use<>>, Error = Error> + use<>
    {
        let world = &self.world;
        let sockets = web::Data::new(SocketContext {
            hub: self.hub.clone(),
            accounts: world.accounts.clone(),
            tokens: world.tokens.clone(),
            chats: world.chats.clone(),
            activity: world.activity.clone(),
        });
        let limits = Arc::new(RateLimits::new(RateLimitConfig::default(), world.clock.clone()));
        let cursors = CursorSeal::new(Secret([7; 32]));
        let app = App::new()
            .wrap(RequestScope)
            .app_data(sockets)
            .configure(|config| register(config, world, &limits, &cursors, Features::of(world)))
            .configure(ws_gateway::configure)
            .configure(http_agent::configure)
            .configure(http_human::configure);
        init_service(app).await
    }

    /// A request of an agent below its interface, with the headers that a client sends.
    pub(crate) fn request(&self, request: TestRequest, agent: &TestAgent, path: &str) -> TestRequest {
        let peer = ([127, 0, 0, 1], 50_000).into();
        request
            .uri(&format!("/api/v1/agent/chats/{}/{path}", self.room))
            .peer_addr(peer)
            .insert_header(("host", "127.0.0.1:4000"))
            .insert_header(("accept", "*/*"))
            .insert_header(("user-agent", "guard/1"))
            .insert_header(("x-api-key", agent.key.as_str()))
    }

    /// Some time goes by; the log of changes is followed, so that callers are known as they are to the server.
    pub(crate) fn go_on(&self) {
        self.world.clock.advance(BETWEEN);
        self.world.callers.confirm(self.world.clock.now());
    }
}
