//! An interface on an empty store, with two tenants: Ann owns Helper and Scout; Bob owns Rival.
//!
//! The tests of both interfaces use this file. The crate root of a test names its interface: `configure`,
//! `BASE`, and the `Account` that calls it.

use std::fmt::Debug;
use std::sync::Arc;

use actix_http::Request;
use actix_web::body::{MessageBody, to_bytes};
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::HeaderMap;
use actix_web::test::{TestRequest, init_service};
use actix_web::web::ServiceConfig;
use actix_web::{App, Error};
use domain::caller::Caller;
use domain::chat::{AddParticipantCommand, CreateChat, Role};
use domain::id::{AccountId, ChatId};
use domain::message::{MentionKind, MessageContent, RequestedMention, SendMessage};
use domain::ports::Clock;
use domain::secret::Secret;
use domain::services::Services;
use http_wire::cursor::CursorSeal;
use http_wire::features::Features;
use http_wire::limit::{RateLimitConfig, RateLimits};
use http_wire::request_scope::RequestScope;
use http_wire::services::register;
use serde_json::{Value, json};
use testkit::{TestAgent, TestUser, World, document};

use crate::{Account, BASE, configure};

pub(crate) struct Api {
    pub(crate) world: World,
    pub(crate) ann: TestUser,
    pub(crate) helper: TestAgent,
    pub(crate) scout: TestAgent,
    pub(crate) bob: TestUser,
    pub(crate) rival: TestAgent,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Null when there was no body.
    pub(crate) body: Value,
    pub(crate) headers: HeaderMap,
}

impl Answer {
    pub(crate) fn data(&self) -> &Value {
        &self.body["data"]
    }

    /// Status, code and the pointers of the details.
    pub(crate) fn refusal(&self) -> (u16, &str, Vec<&str>) {
        let error = &self.body["error"];
        assert!(error["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{self:?}");
        let pointers = error["details"].as_object().map(|map| map.keys().map(String::as_str).collect());
        (self.status, error["code"].as_str().unwrap_or_default(), pointers.unwrap_or_default())
    }

    pub(crate) fn code(&self) -> (u16, &str) {
        (self.status, self.body["error"]["code"].as_str().unwrap_or_default())
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// One member of every row.
    pub(crate) fn column(&self, name: &str) -> Vec<&str> {
        let rows = self.data().as_array().unwrap();
        rows.iter().map(|row| row[name].as_str().unwrap()).collect()
    }
}

impl Api {
    pub(crate) async fn new() -> Self {
        Self::in_world(World::new()).await
    }

    /// The same in a world that may have other users.
    pub(crate) async fn in_world(world: World) -> Self {
        let ann = world.user("ann").await;
        let helper = world.agent(&ann, "Helper").await;
        let scout = world.agent(&ann, "Scout").await;
        let bob = world.user("bob").await;
        let rival = world.agent(&bob, "Rival").await;
        Self { world, ann, helper, scout, bob, rival }
    }

    /// Registers the world's services for an application.
    pub(crate) fn register(&self, config: &mut ServiceConfig, limits: RateLimitConfig) {
        self.register_services(&self.world, config, limits);
    }

    fn register_services(&self, services: &Services, config: &mut ServiceConfig, limits: RateLimitConfig) {
        let limits = Arc::new(RateLimits::new(limits, self.world.clock.clone()));
        register(config, services, &limits, &CursorSeal::new(Secret([7; 32])), Features::of(services));
    }

    /// The answer of the interface on other services of this world.
    pub(crate) async fn send_to(&self, services: &Services, request: TestRequest) -> Answer {
        let register =
            |config: &mut ServiceConfig| self.register_services(services, config, RateLimitConfig::off());
        let app = App::new().wrap(RequestScope).configure(register).configure(configure);
        call(&init_service(app).await, request).await
    }

    /// The mounted interface with these limits.
    pub(crate) async fn app(
        &self,
        limits: RateLimitConfig,
    ) -> impl Service<Request, Response = ServiceResponse<impl MessageBody<Error: Debug>>, Error = Error>
    {
        let register = |config: &mut ServiceConfig| self.register(config, limits);
        init_service(App::new().wrap(RequestScope).configure(register).configure(configure)).await
    }

    /// The answer of the mounted interface without limits.
    pub(crate) async fn send(&self, request: TestRequest) -> Answer {
        call(&self.app(RateLimitConfig::off()).await, request).await
    }

    /// Calls a path below [`BASE`]; a null body is none.
    pub(crate) async fn call(&self, key: &str, method: Method, path: &str, body: &Value) -> Answer {
        let request =
            TestRequest::with_uri(&format!("{BASE}{path}")).method(method).insert_header(("x-api-key", key));
        let request = if body.is_null() { request } else { request.set_json(body) };
        self.send(request).await
    }

    pub(crate) async fn get(&self, account: &Account, path: &str) -> Answer {
        self.call(&account.key, Method::GET, path, &Value::Null).await
    }

    pub(crate) async fn post(&self, account: &Account, path: &str, body: Value) -> Answer {
        self.call(&account.key, Method::POST, path, &body).await
    }

    pub(crate) async fn patch(&self, account: &Account, path: &str, body: Value) -> Answer {
        self.call(&account.key, Method::PATCH, path, &body).await
    }

    pub(crate) async fn put(&self, account: &Account, path: &str, body: Value) -> Answer {
        self.call(&account.key, Method::PUT, path, &body).await
    }

    pub(crate) async fn delete(&self, account: &Account, path: &str) -> Answer {
        self.call(&account.key, Method::DELETE, path, &Value::Null).await
    }

    /// Makes an agent a peer of all users.
    pub(crate) async fn make_global(&self, agent: &TestAgent) {
        self.world.make_global(agent).await;
    }

    pub(crate) async fn empty_room(&self, owner: impl Into<Caller>) -> ChatId {
        self.world.chats.create(owner, CreateChat::default()).await.unwrap().id
    }

    pub(crate) async fn add(&self, by: impl Into<Caller>, chat: ChatId, candidate: AccountId, role: Role) {
        let command = AddParticipantCommand { candidate, role };
        self.world.chats.add_participant(by, chat, command).await.unwrap();
    }

    /// Says `text` to `agent`; gives the message's id.
    pub(crate) async fn mention(
        &self,
        from: impl Into<Caller>,
        chat: ChatId,
        agent: &TestAgent,
        text: &str,
    ) -> String {
        let mention = RequestedMention {
            id: Some(agent.id.to_string()),
            handle: None,
            kind: Some(MentionKind::Mention),
        };
        let content = MessageContent::new(text.to_owned()).unwrap();
        let command = SendMessage {
            content,
            mentions: vec![mention],
            respond_by: None,
            in_reply_to: None,
            attachments: Vec::new(),
        };
        self.world.messages.send(from, chat, command).await.unwrap().id.to_string()
    }

    /// The present instant as it goes over the wire.
    pub(crate) fn now(&self) -> String {
        self.world.clock.now().to_string()
    }
}

/// The answer to a request, which must be as the API's document says.
pub(crate) async fn call<S, B>(app: &S, request: TestRequest) -> Answer
where
    S: Service<Request, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody<Error: Debug>,
{
    let request = request.to_request();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let (status, headers, bytes) = match app.call(request).await {
        Ok(response) => {
            let (status, headers) = (response.status(), response.headers().clone());
            (status, headers, to_bytes(response.into_body()).await.unwrap())
        }
        Err(error) => {
            let response = error.error_response();
            let (status, headers) = (response.status(), response.headers().clone());
            (status, headers, to_bytes(response.into_body()).await.unwrap())
        }
    };
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
    document::check(method.as_str(), &path, status.as_u16(), &body);
    Answer { status: status.as_u16(), body, headers }
}

/// A text that mentions `agent`, as a wrapped body.
pub(crate) fn text_for(id: impl ToString, content: &str) -> Value {
    json!({"message": {"content": content, "mentions": [{"id": id.to_string()}]}})
}
