//! Who takes part: users, agents and rooms on the server that is measured.

use e2e::{Api, Server, message};
use futures_util::{StreamExt, stream};

use crate::flock::Wish;

/// How many requests set a scene up at once.
const AT_ONCE: usize = 32;

/// A wish for a socket of this caller.
pub(crate) fn wish(server: &Server, key: &str, topics: Vec<String>) -> Wish {
    Wish { url: socket_url(&server.address()), key: key.to_owned(), topics, source: None }
}

/// Where a server at this address has its sockets.
pub(crate) fn socket_url(address: &str) -> String {
    format!("ws://{address}/api/v1/socket/websocket?vsn=2.0.0")
}

/// A wish for a socket of the bare server.
pub(crate) fn bare_wish(address: &str) -> Wish {
    Wish { url: format!("ws://{address}/socket"), key: String::new(), topics: Vec::new(), source: None }
}

/// Agents of one owner.
pub(crate) async fn agents(server: &Server, owner: &Api, count: usize) -> Vec<Api> {
    let made =
        (0..count).map(|number| async move { owner.register(server, &format!("Agent {number}")).await });
    stream::iter(made).buffered(AT_ONCE).collect().await
}

/// Each asks once who it is, over a few connections, so that the store has had to do with all of them.
pub(crate) async fn show(server: &Server, agents: &[Api]) {
    let url = format!("http://{}/api/v1/agent/me", server.address());
    let (client, url) = (&reqwest::Client::new(), &url);
    let asked = agents.iter().map(|agent| async move {
        let answer = client.get(url).header("x-api-key", &agent.key).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    });
    stream::iter(asked).buffer_unordered(AT_ONCE).collect::<()>().await;
}

/// A room with its owner and these.
pub(crate) async fn room(owner: &Api, agents: &[Api]) -> String {
    let chat = owner.create_chat().await;
    for agent in agents {
        assert_eq!(owner.add(&chat, &agent.id).await.status, 201);
    }
    chat
}

/// One room after the other, for `size` of them each.
pub(crate) async fn rooms(owner: &Api, agents: &[Api], size: usize) -> Vec<String> {
    let made = agents.chunks(size).map(|agents| room(owner, agents));
    stream::iter(made).buffered(AT_ONCE).collect().await
}

/// Sends texts to a room, without looking at the answers more than it must.
#[derive(Clone)]
pub(crate) struct Voice {
    client: reqwest::Client,
    url: String,
    key: String,
    mentions: Vec<String>,
}

impl Voice {
    /// `interface` is `me` or `agent`.
    pub(crate) fn new(server: &Server, interface: &str, who: &Api, chat: &str, mentions: &[&Api]) -> Self {
        Self {
            client: reqwest::Client::new(),
            url: format!("http://{}/api/v1/{interface}/chats/{chat}/messages", server.address()),
            key: who.key.clone(),
            mentions: mentions.iter().map(|agent| agent.id.clone()).collect(),
        }
    }

    /// Sends a text, which must be accepted.
    pub(crate) async fn say(&self, content: &str) {
        let mentions = self.mentions.iter().map(String::as_str).collect::<Vec<_>>();
        let body = message(content, &mentions);
        let answer = self.client.post(&self.url).header("x-api-key", &self.key).json(&body).send().await;
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 201, "{:?}", answer.text().await);
    }
}
