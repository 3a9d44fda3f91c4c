//! A client of the protocol, over either binding.

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Api, Server};
use futures_util::StreamExt;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

/// A binding of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binding {
    Rpc,
    Http,
}

pub(crate) const BINDINGS: [Binding; 2] = [Binding::Rpc, Binding::Http];

/// A client with a key, at one agent.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    /// The address of the agent.
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) binding: Binding,
}

/// Lists an agent.
pub(crate) async fn list(owner: &Api, agent: &Api) {
    let listed = json!({"agent": {"a2a": true}});
    assert_eq!(owner.call(Method::PATCH, &format!("/agents/{}", agent.id), Some(listed)).await.status, 200);
}

/// A cast whose first agent is listed.
pub(crate) async fn listed(server: &Server) -> Cast {
    let cast = Cast::on(server).await;
    list(&cast.u1, &cast.a1).await;
    cast
}

/// The body of a message with these parts.
pub(crate) fn message(id: &str, parts: Value) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": parts})
}

/// The parameters of a text that is answered at once.
pub(crate) fn text(id: &str, text: &str) -> Value {
    json!({"message": message(id, json!([{"text": text}])), "configuration": {"returnImmediately": true}})
}

/// A message that continues a task.
pub(crate) fn next(id: &str, said: &str, task: &Value) -> Value {
    let mut params = text(id, said);
    params["message"]["taskId"] = task["id"].clone();
    params
}

impl Client {
    pub(crate) fn new(server: &Server, caller: &Api, agent: &Api, binding: Binding) -> Self {
        Self::with_key(server, &caller.key, agent, binding)
    }

    pub(crate) fn with_key(server: &Server, key: &str, agent: &Api, binding: Binding) -> Self {
        let url = format!("http://{}/a2a/{}", server.address(), agent.id);
        Self { http: reqwest::Client::new(), url, key: key.to_owned(), binding }
    }

    /// An id of a message that no client of the other binding has.
    pub(crate) fn own(&self, id: &str) -> String {
        format!("{id} of {:?}", self.binding)
    }

    /// A request to the address of the agent, or below.
    pub(crate) fn at(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        request.header("x-api-key", &self.key).header("a2a-version", "1.0").timeout(Duration::from_secs(60))
    }

    /// The request of a method with parameters.
    pub(crate) fn request(&self, method: &str, mut params: Value) -> RequestBuilder {
        if self.binding == Binding::Rpc {
            let body = json!({"jsonrpc": "2.0", "id": "r1", "method": method, "params": params});
            return self.at(Method::POST, "").json(&body);
        }
        if method.contains("PushNotificationConfig") {
            return self.push_request(method, &params);
        }
        let id = params.as_object_mut().unwrap().remove("id");
        let id = id.as_ref().and_then(Value::as_str).unwrap_or_default();
        match method {
            "SendMessage" => self.at(Method::POST, "/v1/message:send").json(&params),
            "SendStreamingMessage" => self.at(Method::POST, "/v1/message:stream").json(&params),
            "GetTask" => self.at(Method::GET, &format!("/v1/tasks/{id}{}", query(&params))),
            "ListTasks" => self.at(Method::GET, &format!("/v1/tasks{}", query(&params))),
            "CancelTask" => self.at(Method::POST, &format!("/v1/tasks/{id}:cancel")).json(&json!({"id": id})),
            "SubscribeToTask" => self.at(Method::POST, &format!("/v1/tasks/{id}:subscribe")),
            _ => panic!("{method}"),
        }
    }

    /// The request of a method on configurations of push notifications, in the HTTP binding.
    fn push_request(&self, method: &str, params: &Value) -> RequestBuilder {
        let member = |name: &str| params[name].as_str().unwrap_or_default();
        let all = format!("/v1/tasks/{}/pushNotificationConfigs", member("taskId"));
        let one = format!("{all}/{}", member("id"));
        match method {
            "CreateTaskPushNotificationConfig" => self.at(Method::POST, &all).json(params),
            "GetTaskPushNotificationConfig" => self.at(Method::GET, &one),
            "ListTaskPushNotificationConfigs" => self.at(Method::GET, &all),
            "DeleteTaskPushNotificationConfig" => self.at(Method::DELETE, &one),
            _ => panic!("{method}"),
        }
    }

    /// The result of a method that must succeed.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        result(self.request(method, params).send().await.unwrap(), self.binding).await
    }

    /// The code and the reason of a method that must fail. The HTTP binding has statuses instead of codes.
    pub(crate) async fn refused(&self, method: &str, params: Value) -> (i64, String) {
        refusal(self.request(method, params).send().await.unwrap(), self.binding).await
    }

    /// The task of a message that must be accepted.
    pub(crate) async fn send(&self, params: Value) -> Value {
        self.call("SendMessage", params).await["task"].take()
    }

    /// The task with an id.
    pub(crate) async fn task(&self, task: &Value) -> Value {
        self.call("GetTask", json!({"id": task["id"]})).await
    }

    /// The state of a task.
    pub(crate) async fn state(&self, task: &Value) -> String {
        self.task(task).await["status"]["state"].as_str().unwrap().to_owned()
    }

    /// The events of a method.
    pub(crate) async fn stream(&self, method: &str, params: Value, last: Option<&str>) -> Events {
        let mut request = self.request(method, params);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        Events::of(request.send().await.unwrap(), self.binding)
    }
}

/// Parameters as a query, none of which needs to be escaped.
fn query(params: &Value) -> String {
    let pairs = params.as_object().unwrap().iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}={value}")
    });
    format!("?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// The result of a success.
pub(crate) async fn result(response: Response, binding: Binding) -> Value {
    let status = response.status().as_u16();
    let mut body = response.json::<Value>().await.unwrap();
    assert_eq!(status, 200, "{body}");
    if binding == Binding::Http {
        return body;
    }
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!("r1")), "{body}");
    assert!(body["error"].is_null(), "{body}");
    body["result"].take()
}

/// The code and the reason of a failure.
pub(crate) async fn refusal(response: Response, binding: Binding) -> (i64, String) {
    let status = i64::from(response.status().as_u16());
    let body = response.json::<Value>().await.unwrap();
    let error = &body["error"];
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    let info = if binding == Binding::Rpc { &error["data"][0] } else { &error["details"][0] };
    let reason = info["reason"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned();
    let code = if binding == Binding::Rpc { error["code"].as_i64().unwrap() } else { status };
    if binding == Binding::Http {
        assert_eq!(error["code"], status, "{body}");
    }
    (code, reason)
}

/// The events of a stream.
pub(crate) struct Events {
    body: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<Vec<u8>>> + Send>>,
    text: String,
    binding: Binding,
}

impl Events {
    fn of(response: Response, binding: Binding) -> Self {
        let kind = response.headers().get("content-type").unwrap().to_str().unwrap().to_owned();
        assert_eq!(kind, "text/event-stream", "{}", response.status());
        let body = response.bytes_stream().map(|piece| piece.map(|bytes| bytes.to_vec()));
        Self { body: Box::pin(body), text: String::new(), binding }
    }

    /// The next event, its id and its content; `None` at the end. Comments are passed over.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event.starts_with(':') {
                    continue;
                }
                let line =
                    |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
                let mut data: Value = serde_json::from_str(&line("data: ")).unwrap();
                if self.binding == Binding::Rpc {
                    assert_eq!((&data["jsonrpc"], &data["id"]), (&json!("2.0"), &json!("r1")), "{data}");
                    data = data["result"].take();
                }
                return Some((line("id: "), data));
            }
            let piece = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// The next event as its id, and what is new: the state of the task, or the text of an artifact.
    pub(crate) async fn news(&mut self) -> Option<(String, String)> {
        let (id, event) = self.next().await?;
        Some((id, new_in(&event)))
    }

    /// What is new until the end.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some((_, new)) = self.news().await {
            all.push(new);
        }
        all
    }
}

/// What is new in an event: the state of the task, or the text of an artifact.
pub(crate) fn new_in(event: &Value) -> String {
    if let Some(task) = event.get("task") {
        format!("task {}", task["status"]["state"].as_str().unwrap())
    } else if let Some(update) = event.get("statusUpdate") {
        update["status"]["state"].as_str().unwrap().to_owned()
    } else {
        event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str().unwrap().to_owned()
    }
}
