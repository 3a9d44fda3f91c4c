//! Two tenants, each with one of everything that an operation can name.

use e2e::{Api, Server};
use serde_json::{Value, json};

pub(crate) struct Scene {
    server: Server,
    /// Calls paths from the root.
    pub(crate) root: Api,
    pub(crate) user: Api,
    pub(crate) agent: Api,
    own: Tenant,
    foreign: Tenant,
}

/// One of each thing.
struct Tenant {
    user: Api,
    agent: Api,
    helper: Api,
    chat: String,
    message: String,
}

impl Tenant {
    async fn new(server: &Server, handle: &str) -> Self {
        let user = server.user(handle);
        let agent = user.register(server, "One").await;
        let helper = user.register(server, "Two").await;
        let chat = user.create_chat().await;
        assert_eq!(user.add(&chat, &agent.id).await.status, 201);
        assert_eq!(user.add(&chat, &helper.id).await.status, 201);
        let message = user.sent(&chat, "hello", &[&agent.id]).await;
        Self { user, agent, helper, chat, message }
    }

    fn ids(&self) -> Vec<(&'static str, String)> {
        vec![
            ("{chat_id}", self.chat.clone()),
            ("{message_id}", self.message.clone()),
            ("{participant_id}", self.helper.id.clone()),
            ("{agent_id}", self.helper.id.clone()),
        ]
    }
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let server = Server::start().await;
        let (own, foreign) = (Tenant::new(&server, "ann").await, Tenant::new(&server, "ben").await);
        let root = own.user.at(&server, "");
        Self { root, user: own.user.clone(), agent: own.agent.clone(), own, foreign, server }
    }

    pub(crate) fn own_ids(&self) -> Vec<(&'static str, String)> {
        self.own.ids()
    }

    pub(crate) fn foreign_ids(&self) -> Vec<(&'static str, String)> {
        self.foreign.ids()
    }

    /// What both tenants can see of what they have.
    pub(crate) async fn everything(&self) -> Vec<Value> {
        let mut seen = Vec::new();
        for tenant in [&self.own, &self.foreign] {
            for path in ["/agents", "/chats", "/peers", "/profile"] {
                seen.push(tenant.user.get(path).await.body);
            }
            for path in ["", "/participants", "/messages"] {
                seen.push(tenant.user.get(&format!("/chats/{}{path}", tenant.chat)).await.body);
            }
            seen.push(tenant.agent.get(&format!("/chats/{}/messages?status=all", tenant.chat)).await.body);
        }
        seen.push(json!(self.server.address()));
        seen
    }
}
