//! The MCP server: what agents and humans do with its tools, and what it refuses.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Server, until};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

/// The revisions of the protocol: with `initialize`, and with metadata in every request.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A client with a key.
struct Mcp {
    client: reqwest::Client,
    url: String,
    key: String,
    revision: &'static str,
}

impl Mcp {
    fn of(server: &Server, api: &Api) -> Self {
        Self::with(server, &api.key, "")
    }

    /// A client with a key, and with a query.
    fn with(server: &Server, key: &str, query: &str) -> Self {
        let url = format!("http://{}/mcp{query}", server.address());
        Self { client: reqwest::Client::new(), url, key: key.to_owned(), revision: REVISIONS[0] }
    }

    fn at(self, revision: &'static str) -> Self {
        Self { revision, ..self }
    }

    fn request(&self, method: Method) -> RequestBuilder {
        let request = self.client.request(method, &self.url).header("x-api-key", &self.key);
        request.header("accept", "application/json, text/event-stream")
    }

    /// A request of the protocol; status and body.
    async fn send(&self, method: &str, mut params: Value) -> (StatusCode, Value) {
        let mut request = self.request(Method::POST).header("mcp-protocol-version", self.revision);
        if self.revision == REVISIONS[1] {
            request = request.header("mcp-method", method);
            if let Some(name) = params.get("name").or_else(|| params.get("uri")) {
                request = request.header("mcp-name", name.as_str().unwrap());
            }
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = request.json(&message).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// The result of a request that must succeed.
    async fn result(&self, method: &str, params: Value) -> Value {
        let (status, mut body) = self.send(method, params).await;
        assert_eq!(
            (status.as_u16(), &body["jsonrpc"], &body["id"]),
            (200, &json!("2.0"), &json!(1)),
            "{body}"
        );
        assert!(body["error"].is_null(), "{body}");
        body["result"].take()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// The result of a tool that must succeed; its text says the same.
    async fn done(&self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], false, "{result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"]);
        result["structuredContent"].take()
    }

    /// The text of a tool that must fail.
    async fn failed(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    async fn tools(&self) -> Vec<String> {
        let list = self.result("tools/list", json!({})).await;
        let tools = list["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// An agent claims, answers, and finishes what a human has written; at both revisions.
#[tokio::test]
async fn an_agent_claims_answers_and_finishes() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    for revision in REVISIONS {
        let agent = Mcp::of(&server, &cast.a1).at(revision);
        let nothing = agent.done("inbox_next", json!({})).await;
        assert!(nothing["message"].is_null() && nothing["next"].is_string(), "{nothing}");
        let asked = cast.u1.sent(&cast.r1, "What is 6 x 7?", &[&cast.a1.id]).await;
        let claimed = agent.done("inbox_next", json!({})).await;
        let message = &claimed["message"];
        assert_eq!((&message["id"], &message["room"]), (&json!(asked), &json!(cast.r1)), "{claimed}");
        assert!(message["text"].as_str().unwrap().ends_with("What is 6 x 7?"), "{claimed}");
        assert_eq!((&message["from"]["handle"], &claimed["attempt"]), (&json!("ann"), &json!(1)));

        let answer = json!({"room": cast.r1, "message": asked, "text": "42"});
        let sent = agent.done("reply", answer).await;
        assert_eq!(sent["to"][0]["handle"], "ann", "{sent}");
        let ended = agent.done("finish", json!({"room": cast.r1, "message": asked})).await;
        assert_eq!((&ended["state"], &ended["attempt"]), (&json!("processed"), &json!(1)));

        let history = cast.u1.history(&cast.r1).await;
        assert_eq!(history[0]["id"], sent["sent"]);
        assert!(history[0]["content"].as_str().unwrap().ends_with("42"), "{}", history[0]);
        assert_eq!(history[0]["metadata"]["cause"]["message_id"], json!(asked));
        let again = agent.failed("finish", json!({"room": cast.r1, "message": asked})).await;
        assert!(again.contains("no active processing attempt"), "{again}");
    }
}

/// Two programs with the key of an agent whose claims are exclusive get different messages.
#[tokio::test]
async fn two_programs_claim_different_messages() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let exclusive = json!({"agent": {"claims": "exclusive"}});
    let set = cast.u1.call(Method::PATCH, &format!("/agents/{}", cast.a1.id), Some(exclusive)).await;
    assert_eq!(set.status, 200);
    let first = cast.u1.sent(&cast.r1, "first", &[&cast.a1.id]).await;
    let second = cast.u1.sent(&cast.r1, "second", &[&cast.a1.id]).await;
    let (one, two) = (Mcp::of(&server, &cast.a1), Mcp::of(&server, &cast.a1));
    assert_eq!(one.done("inbox_next", json!({})).await["message"]["id"], first);
    assert_eq!(two.done("inbox_next", json!({"room": cast.r1})).await["message"]["id"], second);
    assert!(one.done("inbox_next", json!({})).await["message"].is_null());
    let of_another = json!({"room": cast.r1, "message": first, "attempt": 2});
    assert!(one.failed("finish", of_another).await.contains("no open attempt"));
    let own = json!({"room": cast.r1, "message": first, "attempt": 1});
    assert_eq!(one.done("finish", own).await["state"], "processed");
    let failed = json!({"room": cast.r1, "message": second, "attempt": 1, "error": "no model"});
    two.done("fail", failed).await;
    assert_eq!(one.done("inbox_next", json!({})).await["attempt"], 2);
}

/// An attempt that failed is offered again, a human sees it in the work list, and takes it out of the queue.
#[tokio::test]
async fn a_human_looks_after_the_work_of_an_agent() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (agent, human) = (Mcp::of(&server, &cast.a1), Mcp::of(&server, &cast.u1));
    let sent = human.done("write", json!({"room": cast.r1, "text": "Translate", "to": ["@ann/one"]})).await;
    let message = sent["sent"].clone();
    assert_eq!(agent.done("inbox_next", json!({"room": cast.r1})).await["message"]["id"], message);
    let failed = json!({"room": cast.r1, "message": message, "error": "no dictionary"});
    assert_eq!(agent.done("fail", failed).await["state"], "failed");

    let work = human.done("work", json!({"state": "failed"})).await;
    let item = &work["work"][0];
    assert_eq!((&item["message"], &item["agent"]), (&message, &json!(cast.a1.id)), "{work}");
    let expected = (&json!("no dictionary"), &json!("@ann/one Translate"));
    assert_eq!((&item["last_error"], &item["text"]), expected, "{work}");
    let item = json!({"message": message, "agent": cast.a1.id});
    let mut dead = item.clone();
    dead["reason"] = json!("not needed");
    let dead = human.done("dead_letter", dead).await;
    assert_eq!((&dead["work"]["state"], &dead["work"]["reason"]), (&json!("dead"), &json!("not needed")));
    assert!(agent.done("inbox_next", json!({})).await["message"].is_null());
    let retried = human.done("retry", item.clone()).await;
    assert_eq!(retried["work"]["state"], "new", "{retried}");
    let claimed = agent.done("inbox_next", json!({})).await;
    assert_eq!((&claimed["message"]["id"], &claimed["attempt"]), (&message, &json!(2)), "{claimed}");

    let elsewhere = human.failed("retry", json!({"message": message, "agent": cast.a3.id})).await;
    assert!(elsewhere.contains("not_found") && elsewhere.contains("Check the ids"), "{elsewhere}");
}

/// A human sees what waits, and answers: with a text, with a decision, or not at all.
#[tokio::test]
async fn a_human_answers_what_waits() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (human, stranger) = (Mcp::of(&server, &cast.u1), Mcp::of(&server, &cast.u2));
    let event =
        json!({"content": "Which key?", "message_type": "attention", "metadata": {"kind": "question"}});
    for _ in 0..2 {
        cast.a1.post(&format!("/chats/{}/events", cast.r1), json!({"event": event})).await;
    }
    let request = "OpenCode approval requested for `bash` (ls). Reply with `approve per_1`, `always per_1`, or `reject per_1`.";
    cast.a1.sent(&cast.r1, request, &[&cast.u1.id]).await;
    assert_eq!(stranger.done("attention", json!({})).await["attention"], json!([]));
    let list = human.done("attention", json!({"room": cast.r1})).await;
    let id = |index: usize| list["attention"][index]["id"].clone();
    assert_eq!(list["attention"][0]["kind"], "approval", "{list}");
    let decided = json!({"item": id(1), "decision": "approve"});
    assert!(human.failed("approve", decided).await.contains("content"));
    assert!(human.failed("approve", json!({"item": id(1)})).await.contains("decision"));
    assert!(stranger.failed("approve", json!({"item": id(1), "text": "x"})).await.contains("not_found"));
    let decided = human.done("approve", json!({"item": id(0), "decision": "decline"})).await;
    assert_eq!(decided["attention"]["answered_by"]["handle"], "ann", "{decided}");
    human.done("approve", json!({"item": id(1), "text": "the staging key"})).await;
    human.done("approve", json!({"item": id(2), "decision": "dismiss"})).await;
    assert_eq!(human.done("attention", json!({})).await["attention"], json!([]));
    let history = cast.u1.history(&cast.r1).await;
    let said = |text: &str| history.iter().any(|one| one["content"] == format!("@[[{}]] {text}", cast.a1.id));
    assert!(said("reject per_1") && said("the staging key"), "{history:?}");
}

/// An agent asks another agent and a human, and looks again for an answer that came late.
#[tokio::test]
async fn an_agent_asks_and_waits_for_the_answer() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (asker, friend) = (Mcp::of(&server, &cast.a1), Mcp::of(&server, &cast.a2));
    let question = json!({"room": cast.r1, "text": "Which colour?", "to": ["ann/two"], "wait_seconds": 30});
    let answer = async {
        let mut claimed = Value::Null;
        until("the question is there", async || {
            claimed = friend.done("inbox_next", json!({})).await;
            !claimed["message"].is_null()
        })
        .await;
        let reply = json!({"room": cast.r1, "message": claimed["message"]["id"], "text": "Blue"});
        friend.done("reply", reply).await["sent"].clone()
    };
    let (told, sent) = tokio::join!(asker.done("ask", question), answer);
    assert_eq!(told["answer"]["id"], sent, "{told}");
    assert!(told["answer"]["text"].as_str().unwrap().ends_with("Blue"), "{told}");

    let question = json!({"room": cast.r1, "text": "Shall I?", "to": [cast.u1.id], "wait_seconds": 1});
    let told = asker.done("ask", question).await;
    assert!(told["answer"].is_null() && told["next"].as_str().unwrap().contains("look again"), "{told}");
    cast.u1.sent(&cast.r1, "Yes", &[&cast.a1.id]).await;
    let told = asker.done("ask", json!({"room": cast.r1, "question": told["question"]})).await;
    assert!(told["answer"]["text"].as_str().unwrap().ends_with("Yes"), "{told}");

    let both = json!({"room": cast.r1, "question": told["question"], "text": "Again?", "to": ["ann"]});
    assert!(asker.failed("ask", both).await.contains("- question: cannot be used together"));
    let nobody = json!({"room": cast.r1, "text": "Hello?", "to": ["nobody"]});
    let refused = asker.failed("ask", nobody).await;
    assert!(refused.contains("handle_not_found") && refused.contains("read_room lists"), "{refused}");
}

/// A message that is sent again under its key is sent once, and a server that stops lets nobody wait.
#[tokio::test]
async fn repeated_messages_are_sent_once_and_a_stop_ends_a_wait() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let (agent, human) = (Mcp::of(&server, &cast.a1), Mcp::of(&server, &cast.u1));
    let mut text = json!({"room": cast.r1, "text": "Once", "to": [cast.a1.id], "idempotency_key": "k-1"});
    let first = human.done("write", text.clone()).await;
    assert_eq!(human.done("write", text.clone()).await["sent"], first["sent"]);
    text["text"] = json!("Twice");
    assert!(human.failed("write", text).await.contains("dempotency"));
    assert_eq!(cast.u1.history(&cast.r1).await.len(), 1);

    let question = json!({"room": cast.r1, "text": "Still there?", "to": ["ann/two"], "wait_seconds": 50});
    let stop = async {
        until("the question is there", async || cast.u1.history(&cast.r1).await.len() == 2).await;
        server.signal("-TERM");
    };
    let (told, ()) = tokio::join!(agent.done("ask", question), stop);
    assert!(told["answer"].is_null() && told["question"].is_string(), "{told}");
    server.ended().await;
}

/// Rooms as tools and as resources, page by page, and inviting somebody.
#[tokio::test]
async fn rooms_are_listed_and_read() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (agent, human) = (Mcp::of(&server, &cast.a1), Mcp::of(&server, &cast.u1));
    for number in 1..=35 {
        cast.u1.sent(&cast.r1, &format!("Number {number}"), &[&cast.a1.id]).await;
    }
    for client in [&agent, &human] {
        let rooms = client.done("rooms", json!({})).await;
        assert_eq!((&rooms["total"], &rooms["rooms"][0]["id"]), (&json!(1), &json!(cast.r1)), "{rooms}");
        assert_eq!(rooms["rooms"][0]["participant_count"], 3);
        let read = async |page: u32| {
            let read = client.done("read_room", json!({"room": cast.r1, "page": page})).await;
            let texts = read["messages"].as_array().unwrap().iter();
            let texts = texts.map(|one| one["text"].as_str().unwrap().rsplit_once(' ').unwrap().1.to_owned());
            (texts.collect::<Vec<_>>(), read["older"].is_string())
        };
        let numbers =
            |range: std::ops::RangeInclusive<u32>| range.map(|one| one.to_string()).collect::<Vec<_>>();
        assert_eq!(read(1).await, (numbers(6..=35), true));
        assert_eq!(read(2).await, (numbers(1..=5), false));
        assert_eq!(read(3).await, (Vec::new(), false));

        let listed = client.result("resources/list", json!({})).await;
        let uri = format!("parlance://room/{}", cast.r1);
        assert_eq!(listed["resources"][0]["uri"], json!(uri), "{listed}");
        let read = client.result("resources/read", json!({"uri": uri})).await;
        let content: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!((content["messages"].as_array().unwrap().len(), &content["room"]), (30, &json!(cast.r1)));
        let templates = client.result("resources/templates/list", json!({})).await;
        assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "parlance://room/{id}");
    }
    let room = cast.u1.create_chat().await;
    let invited = human.done("invite", json!({"room": room, "who": "@ann/two"})).await;
    assert_eq!((&invited["added"]["id"], &invited["added"]["role"]), (&json!(cast.a2.id), &json!("member")));
    let again = human.failed("invite", json!({"room": room, "who": cast.a2.id})).await;
    assert!(again.contains("conflict"), "{again}");
}

#[tokio::test]
async fn an_agent_remembers_and_recalls() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let agent = Mcp::of(&server, &cast.a1);
    let stored = agent.done("remember", json!({"text": "Ann likes blue", "about": cast.u1.id})).await;
    let fact = json!({"text": "The office is closed", "scope": "organization"});
    agent.done("remember", fact).await;
    let found = agent.done("recall", json!({"query": "BLUE", "page": null})).await;
    assert_eq!((&found["total"], &found["memories"][0]), (&json!(1), &stored["stored"]), "{found}");
    let others = Mcp::of(&server, &cast.a2).done("recall", json!({"query": "office"})).await;
    assert_eq!(others["memories"][0]["text"], "The office is closed", "{others}");
    assert_eq!(Mcp::of(&server, &cast.a3).done("recall", json!({})).await["total"], 0);
    let nothing = agent.failed("remember", json!({"text": " ", "colour": "blue"})).await;
    assert!(nothing.contains("colour"), "{nothing}");
}

/// Nothing of another tenant is read, changed, or even known to exist.
#[tokio::test]
async fn tenants_are_separate() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "secret", &[&cast.a1.id]).await;
    let nobody = "01a205ea-da50-7330-84f3-2c1dbfeef874";
    let (agent, human) = (Mcp::of(&server, &cast.a3), Mcp::of(&server, &cast.u2));
    let (foreign, unknown) = (cast.r1.as_str(), nobody);
    let both = async |client: &Mcp, tool: &str, arguments: &dyn Fn(&str) -> Value| {
        let told = client.failed(tool, arguments(foreign)).await;
        assert_eq!(told, client.failed(tool, arguments(unknown)).await, "{tool}");
        assert!(told.contains("(not_found)"), "{tool}: {told}");
    };
    both(&agent, "inbox_next", &|room| json!({"room": room})).await;
    both(&agent, "reply", &|room| json!({"room": room, "message": message, "text": "x", "to": ["ann"]}))
        .await;
    both(&agent, "reply", &|room| json!({"room": room, "message": message, "text": "x"})).await;
    both(&agent, "finish", &|room| json!({"room": room, "message": message})).await;
    both(&agent, "fail", &|room| json!({"room": room, "message": message, "error": "x"})).await;
    both(&agent, "ask", &|room| json!({"room": room, "text": "x", "to": ["ann"]})).await;
    both(&agent, "ask", &|room| json!({"room": room, "question": message})).await;
    for client in [&agent, &human] {
        both(client, "read_room", &|room| json!({"room": room})).await;
        both(client, "invite", &|room| json!({"room": room, "who": cast.a3.id})).await;
        let (status, answer) =
            client.send("resources/read", json!({"uri": format!("parlance://room/{foreign}")})).await;
        assert_eq!((status.as_u16(), &answer["error"]["code"]), (200, &json!(-32002)), "{answer}");
        let query = format!("?room={foreign}");
        let (status, answer) = Mcp::with(&server, &client.key, &query).send("tools/list", json!({})).await;
        assert_eq!((status.as_u16(), &answer["error"]["code"]), (422, &json!("invalid_params")), "{answer}");
    }
    both(&human, "write", &|room| json!({"room": room, "text": "x", "to": ["ann"]})).await;
    let item = json!({"message": message, "agent": cast.a1.id});
    assert!(human.failed("retry", item.clone()).await.contains("not_found"));
    assert_eq!(human.done("work", json!({"agent": cast.a1.id})).await["work"], json!([]));
    assert!(agent.done("inbox_next", json!({})).await["message"].is_null());
    assert_eq!(agent.done("rooms", json!({})).await["rooms"][0]["id"], json!(cast.r2));
    assert_eq!(Mcp::of(&server, &cast.a1).done("inbox_next", json!({})).await["attempt"], 1);
}

/// The key decides which tools there are; the query narrows them.
#[tokio::test]
async fn the_key_and_the_query_decide_which_tools_there_are() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let agents = "inbox_next, reply, finish, fail, ask, rooms, read_room, invite, remember, recall";
    let users = "rooms, read_room, invite, write, attention, approve, work, retry, dead_letter";
    for (api, tools) in [(&cast.a1, agents), (&cast.u1, users)] {
        let client = Mcp::of(&server, api);
        assert_eq!(client.tools().await.join(", "), tools);
        let list = client.result("tools/list", json!({})).await.to_string();
        assert!(list.len() < 12_000, "3,000 tokens: {}", list.len());
    }
    let with = |api: &Api, query: &str| Mcp::with(&server, &api.key, query);
    assert_eq!(with(&cast.a1, "?tools=inbox_next,finish").tools().await, ["inbox_next", "finish"]);
    let narrow = with(&cast.a1, "?tools=inbox_next");
    let (status, answer) = narrow.send("tools/call", json!({"name": "rooms", "arguments": {}})).await;
    assert_eq!((status.as_u16(), &answer["error"]["code"]), (200, &json!(-32602)), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("There are: inbox_next."), "{answer}");
    for query in ["?tools=work", "?tools=fly", "?room=x", "?colour=blue", "?tools="] {
        let (status, answer) = with(&cast.a1, query).send("tools/list", json!({})).await;
        assert_eq!(status.as_u16(), 422, "{query}: {answer}");
    }

    let other = cast.u1.create_chat().await;
    assert_eq!(cast.u1.add(&other, &cast.a1.id).await.status, 201);
    cast.u1.sent(&other, "elsewhere", &[&cast.a1.id]).await;
    let in_room = with(&cast.a1, &format!("?room={}", cast.r1));
    assert!(!in_room.tools().await.contains(&"rooms".to_owned()));
    assert!(in_room.done("inbox_next", json!({})).await["message"].is_null());
    assert_eq!(in_room.done("read_room", json!({})).await["room"], json!(cast.r1));
    assert!(in_room.failed("read_room", json!({"room": other})).await.contains("reaches only the room"));
    let listed = in_room.result("resources/list", json!({})).await;
    assert_eq!(listed["resources"].as_array().unwrap().len(), 1, "{listed}");

    let key = async |limits: Value| {
        let mut body = json!({"name": "Limited"});
        body.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
        let made = cast.u1.post("/api-keys", json!({"api_key": body})).await.data();
        Mcp::with(&server, made["credentials"]["api_key"].as_str().unwrap(), "")
    };
    assert_eq!(
        key(json!({"read_only": true})).await.tools().await.join(", "),
        "rooms, read_room, attention, work"
    );
    let limited = key(json!({"chat_id": cast.r1})).await;
    assert_eq!(limited.tools().await.join(", "), "read_room, invite, write");
    assert_eq!(limited.done("read_room", json!({})).await["room"], json!(cast.r1));
    assert!(limited.failed("read_room", json!({"room": other})).await.contains("forbidden"));
    let (_, answer) =
        limited.send("resources/read", json!({"uri": format!("parlance://room/{other}")})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(key(json!({"agent_id": cast.a1.id})).await.tools().await.is_empty());
}

/// Requests that are no requests of the protocol, and callers who may not call.
#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let server = Server::start_with(&[("PARLANCE_CORS_ORIGINS", "https://app.example.org")]).await;
    let cast = Cast::on(&server).await;
    let client = Mcp::of(&server, &cast.a1);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let sent = async |request: RequestBuilder| {
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let allowed = answer.headers().get("allow").map(|one| one.to_str().unwrap().to_owned());
        (status, answer.json::<Value>().await.unwrap_or_default(), allowed)
    };
    let post = |body: &str| client.request(Method::POST).body(body.to_owned());
    let json_post = |body: &str| post(body).header("content-type", "application/json");
    for (body, code) in [
        ("{\"jsonrpc\":", -32700),
        ("", -32700),
        ("[]", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, -32600),
    ] {
        let (status, answer, _) = sent(json_post(body)).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(code)), "{body}: {answer}");
    }
    let (status, answer, _) = sent(json_post(r#"{"jsonrpc":"2.0","id":1,"method":"fly"}"#)).await;
    assert_eq!((status, &answer["error"]["code"]), (200, &json!(-32601)), "{answer}");
    let huge = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(4 * 1024 * 1024));
    let (status, answer, _) = sent(json_post(&huge)).await;
    assert_eq!((status, &answer["error"]["code"]), (413, &json!("content_too_large")), "{answer}");
    let (status, answer, _) = sent(post(list).header("content-type", "text/plain")).await;
    assert_eq!((status, &answer["error"]["code"]), (415, &json!("unsupported_media_type")), "{answer}");
    let accepts =
        client.client.post(&client.url).header("x-api-key", &client.key).header("accept", "text/html");
    let (status, answer, _) = sent(accepts.header("content-type", "application/json").body(list)).await;
    assert_eq!((status, &answer["error"]["code"]), (406, &json!(-32600)), "{answer}");
    for method in [Method::GET, Method::DELETE, Method::OPTIONS, Method::PUT] {
        let (status, answer, allowed) = sent(client.request(method.clone())).await;
        assert_eq!((status, allowed.as_deref()), (405, Some("POST")), "{method}: {answer}");
    }

    let bare = || client.client.post(&client.url).header("accept", "application/json, text/event-stream");
    let bare = || bare().header("content-type", "application/json").body(list);
    assert_eq!(sent(bare()).await.0, 401);
    assert_eq!(sent(bare().header("x-api-key", "thnv_a_1_wrong")).await.0, 401);
    assert_eq!(sent(bare().header("authorization", "Bearer thnv_a_1_wrong")).await.0, 401);
    assert_eq!(sent(bare().header("authorization", &cast.a1.key)).await.0, 401);
    assert_eq!(sent(bare().bearer_auth(&cast.a1.key)).await.0, 200);
    for (origin, status) in
        [("https://evil.example.org", 403), ("null", 403), ("https://app.example.org", 200)]
    {
        assert_eq!(sent(json_post(list).header("origin", origin)).await.0, status, "{origin}");
    }
    let (status, answer, _) = sent(json_post(list).header("mcp-protocol-version", "1999-01-01")).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32600)), "{answer}");

    let off = Server::start_with(&[("PARLANCE_MCP", "false")]).await;
    let nobody = Mcp::with(&off, "x", "");
    assert_eq!(sent(nobody.request(Method::POST)).await.0, 404);
}

/// The rate limit of a caller is that of REST.
#[tokio::test]
async fn the_rate_limit_of_rest_applies() {
    let server = Server::start_alone(&[("PARLANCE_RATE_LIMIT", "1/5")]).await;
    let user = server.user("ann");
    let client = Mcp::of(&server, &user);
    let status = async || client.send("tools/list", json!({})).await.0.as_u16();
    assert_eq!(status().await, 200);
    until("nobody is limited", async || status().await == 429).await;
}
