//! A client of the REST interfaces with one credential.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::document;

use crate::secrets;
use crate::server::Server;

/// An interface under a key.
#[derive(Clone, Debug)]
pub struct Api {
    client: reqwest::Client,
    address: String,
    base: String,
    /// The caller's API key.
    pub key: String,
    /// The caller's id.
    pub id: String,
}

/// Status and body.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body as JSON; null when it is empty.
    pub body: Value,
}

impl Answer {
    /// The member `data` of a success; panics on anything else.
    pub fn data(self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        self.body["data"].clone()
    }

    /// The code of a failure, whose envelope must be whole; panics on anything else.
    pub fn code(&self) -> &str {
        assert!(self.status >= 400, "{self:?}");
        let error = &self.body["error"];
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        assert!(error["request_id"].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        error["code"].as_str().unwrap()
    }
}

impl Api {
    /// `interface` is `me` or `agent`.
    pub fn new(server: &Server, interface: &str, key: &str, id: &str) -> Self {
        secrets::keep(key);
        // A connection that has been idle for long may be closed by the server when the next request is on its way.
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(20))
            .pool_idle_timeout(Duration::from_secs(2))
            .build()
            .unwrap();
        let (address, base) = (server.for_caller().address(), format!("/api/v1/{interface}"));
        Self { client, address, base, key: key.to_owned(), id: id.to_owned() }
    }

    /// The same caller on another base path, for example `/v1`.
    #[must_use]
    pub fn at(&self, server: &Server, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.on(server) }
    }

    /// The same caller on another server.
    #[must_use]
    pub fn on(&self, server: &Server) -> Self {
        Self { address: server.address(), ..self.clone() }
    }

    /// Another key, which may be none, on the same path.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self.clone() }
    }

    /// One request; an error when there was no whole answer. An empty key is not sent at all.
    ///
    /// Every answer must be as the API's document says, and every failure, whichever it is, must name
    /// its request in the body as in the header.
    pub async fn try_call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Answer, reqwest::Error> {
        self.try_once(method, path, body, None).await
    }

    /// The same under an `Idempotency-Key`, where there is one.
    pub(crate) async fn try_once(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        once: Option<&str>,
    ) -> Result<Answer, reqwest::Error> {
        let url = format!("http://{}{}{path}", self.address, self.base);
        let mut request = self.client.request(method.clone(), url);
        if !self.key.is_empty() {
            request = request.header("x-api-key", &self.key);
        }
        if let Some(once) = once {
            request = request.header("idempotency-key", once);
        }
        if let Some(body) = body {
            secrets::keep_all(&body);
            request = request.json(&body);
        }
        let mut answer = request.try_clone().expect("its body is in memory").send().await?;
        // The connection was stopped for longer than a head may take, and the request never reached the application.
        while answer.status() == 408 && answer.content_length() == Some(0) {
            answer = request.try_clone().expect("its body is in memory").send().await?;
        }
        let (status, place) = (answer.status().as_u16(), answer.url().path().to_owned());
        let named = answer.headers().get("x-request-id").map(|id| id.to_str().unwrap().to_owned());
        let bytes = answer.bytes().await?;
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        let answer = Answer { status, body };
        secrets::keep_all(&answer.body);
        assert!(named.is_some(), "{answer:?}");
        if status >= 400 {
            assert_eq!(answer.body["error"]["request_id"].as_str(), named.as_deref(), "{answer:?}");
        }
        document::check(method.as_str(), &place, status, &answer.body);
        Ok(answer)
    }

    /// The same caller, who waits only so long for an answer.
    #[must_use]
    pub(crate) fn patient(&self, patience: Duration) -> Self {
        Self { client: reqwest::Client::builder().timeout(patience).build().unwrap(), ..self.clone() }
    }

    /// One request that must be answered.
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        self.try_call(method, path, body).await.unwrap()
    }

    /// A request for bytes: an upload of a file, if there is a body, or a download. It may take as long as it likes.
    pub fn transfer(
        &self,
        method: Method,
        path: &str,
        body: Option<reqwest::Body>,
    ) -> reqwest::RequestBuilder {
        let url = format!("http://{}{}{path}", self.address, self.base);
        let request = self.client.request(method, url).header("x-api-key", &self.key);
        let request = request.timeout(Duration::from_secs(600));
        body.into_iter().fold(request, reqwest::RequestBuilder::body)
    }

    /// Uploads a file.
    pub async fn upload(&self, chat: &str, name: &str, bytes: &[u8]) -> Answer {
        let path = format!("/chats/{chat}/files");
        let request = self.transfer(Method::PUT, &path, Some(bytes.to_vec().into()));
        let request = request.header("x-file-name", name).header("x-file-sha256", sha256(bytes));
        let answer = request.send().await.unwrap();
        let (status, place) = (answer.status().as_u16(), answer.url().path().to_owned());
        let answer = Answer { status, body: answer.json().await.unwrap() };
        document::check("PUT", &place, status, &answer.body);
        answer
    }

    /// Uploads a file that must be accepted; the file.
    pub async fn uploaded(&self, chat: &str, name: &str, bytes: &[u8]) -> Value {
        self.upload(chat, name, bytes).await.data()
    }

    /// Downloads a file; status and bytes.
    pub async fn download(&self, chat: &str, file: &str) -> (u16, Vec<u8>) {
        let path = format!("/chats/{chat}/files/{file}");
        let answer = self.transfer(Method::GET, &path, None).send().await.unwrap();
        (answer.status().as_u16(), answer.bytes().await.unwrap().to_vec())
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None).await
    }

    /// POST with a body.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, Some(body)).await
    }

    /// POST without a body.
    pub async fn post_nothing(&self, path: &str) -> Answer {
        self.call(Method::POST, path, None).await
    }

    /// DELETE.
    pub async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, None).await
    }

    /// Registers an agent; its interface.
    pub async fn register(&self, server: &Server, name: &str) -> Self {
        let body = json!({ "agent": { "name": name, "description": format!("{name}, for tests") } });
        let data = self.post("/agents/register", body).await.data();
        let (key, id) = (data["credentials"]["api_key"].as_str(), data["agent"]["id"].as_str());
        Self::new(server, "agent", key.unwrap(), id.unwrap())
    }

    /// Creates a room; its id.
    pub async fn create_chat(&self) -> String {
        let data = self.post("/chats", json!({ "chat": {} })).await.data();
        data["id"].as_str().unwrap().to_owned()
    }

    /// Adds a participant to a room.
    pub async fn add(&self, chat: &str, participant: &str) -> Answer {
        let body = json!({ "participant": { "participant_id": participant } });
        self.post(&format!("/chats/{chat}/participants"), body).await
    }

    /// Sends a text that mentions `mentions`.
    pub async fn send(&self, chat: &str, text: &str, mentions: &[&str]) -> Answer {
        self.post(&format!("/chats/{chat}/messages"), message(text, mentions)).await
    }

    /// Sends a text that must be accepted; its id.
    pub async fn sent(&self, chat: &str, text: &str, mentions: &[&str]) -> String {
        self.send(chat, text, mentions).await.data()["id"].as_str().unwrap().to_owned()
    }

    /// One step of an agent's work: `processing`, `processed` or `failed`.
    pub async fn step(&self, chat: &str, message: &str, step: &str) -> Answer {
        let path = format!("/chats/{chat}/messages/{message}/{step}");
        match step {
            "failed" => self.post(&path, json!({ "error": "it did not work" })).await,
            _ => self.post_nothing(&path).await,
        }
    }

    /// The id of the agent's next message; `None` on 204.
    pub async fn next(&self, chat: &str) -> Option<String> {
        let answer = self.get(&format!("/chats/{chat}/messages/next")).await;
        match answer.status {
            204 => None,
            200 => Some(answer.body["data"]["id"].as_str().unwrap().to_owned()),
            _ => panic!("{answer:?}"),
        }
    }

    /// Every message of a room as a human sees them, newest first, page after page.
    pub async fn history(&self, chat: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let answer = self.get(&format!("/chats/{chat}/messages?limit=100{cursor}")).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            all.extend(answer.body["data"].as_array().unwrap().iter().cloned());
            match answer.body["metadata"]["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }
}

/// The body of a text.
pub fn message(text: &str, mentions: &[&str]) -> Value {
    let mentions = mentions.iter().map(|id| json!({ "id": id })).collect::<Vec<_>>();
    json!({ "message": { "content": text, "mentions": mentions } })
}

/// The digest of a file, as its header has it.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}
