//! A user with an agent, and its webhook.

use e2e::{Api, Server, until};
use reqwest::Method;
use serde_json::{Value, json};

/// Receivers are on this machine.
pub(crate) const LOCAL: (&str, &str) = ("PARLANCE_WEBHOOKS_ALLOW_PRIVATE", "127.0.0.1");

/// Rooms are made quickly.
pub(crate) const FAST: (&str, &str) = ("PARLANCE_RATE_LIMITS", "false");

/// A user with an agent, which is in a room.
pub(crate) struct Scene {
    pub(crate) ann: Api,
    pub(crate) bot: Api,
    pub(crate) chat: String,
}

impl Scene {
    pub(crate) async fn on(server: &Server) -> Self {
        let ann = server.user("ann");
        let bot = ann.register(server, "Bot").await;
        let chat = ann.create_chat().await;
        assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
        Self { ann, bot, chat }
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/agents/{}/webhook{rest}", self.bot.id)
    }

    /// Gives the agent a webhook; its secret.
    pub(crate) async fn hook(&self, url: &str) -> String {
        let answer = self.ann.call(Method::PUT, &self.path(""), Some(json!({ "url": url }))).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.data()["secret"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn send(&self) -> String {
        self.ann.sent(&self.chat, "hello", &[&self.bot.id]).await
    }

    pub(crate) async fn another_room(&self) -> String {
        let chat = self.ann.create_chat().await;
        assert_eq!(self.ann.add(&chat, &self.bot.id).await.status, 201);
        chat
    }

    pub(crate) async fn deliveries(&self) -> Vec<Value> {
        let answer = self.ann.get(&self.path("/deliveries?limit=100")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.data().as_array().unwrap().clone()
    }

    /// Waits until the delivery of a message has this status.
    pub(crate) async fn becomes(&self, message: &str, status: &str) -> Value {
        let mut found = Value::Null;
        until("the delivery does not have the status", async || {
            let all = self.deliveries().await;
            let one = all.into_iter().find(|one| one["message_id"] == message);
            found = one.unwrap_or_default();
            found["status"] == status
        })
        .await;
        found
    }
}
