//! `parlance client ask`: the exit status for everything that can become of a question.

use std::process::Stdio;

use e2e::{Api, Server, free_port, until};
use serde_json::{Value, json};

use crate::{HOSTILE, Person, Running, Said};

/// A user with an agent.
struct Scene {
    server: Server,
    ann: Api,
    bot: Api,
    person: Person,
}

impl Scene {
    async fn new() -> Self {
        let server = Server::start_alone(&[]).await;
        let ann = server.user("ann");
        let bot = ann.register(&server, "Bot").await;
        let person = Person::of(&server, &ann);
        Self { server, ann, bot, person }
    }

    /// A room with the agent.
    async fn room(&self) -> String {
        let chat = self.ann.create_chat().await;
        assert_eq!(self.ann.add(&chat, &self.bot.id).await.status, 201);
        chat
    }

    /// The newest message of a room.
    async fn newest(&self, chat: &str) -> Option<String> {
        let history = self.ann.history(chat).await;
        history.first().map(|message| message["id"].as_str().unwrap().to_owned())
    }

    /// Asks in a room, and waits for the question: its id.
    async fn asked(&self, chat: &str, arguments: &[&str]) -> (Running, String) {
        let before = self.newest(chat).await;
        let question = ["ask", "@ann/bot", "Is it done?", "--room", chat];
        let running = self.person.start(&[&question[..], arguments].concat());
        let mut newest = None;
        until("the agent is asked", async || {
            newest = self.newest(chat).await;
            newest != before
        })
        .await;
        (running, newest.unwrap())
    }

    /// The agent answers a message on which it works.
    async fn answers(&self, chat: &str, message: &str, text: &str) {
        assert_eq!(self.bot.step(chat, message, "processing").await.status, 200);
        self.bot.sent(chat, text, &[&self.ann.id]).await;
        assert_eq!(self.bot.step(chat, message, "processed").await.status, 200);
    }
}

#[tokio::test]
async fn an_answer_in_a_new_room_is_printed() {
    let scene = Scene::new().await;
    let running = scene.person.start(&["ask", "bot", "Is the release done?"]);
    let mut chat = String::new();
    until("there is a room with the agent", async || {
        let chats = scene.bot.get("/chats").await.data();
        chats[0]["id"].as_str().unwrap_or_default().clone_into(&mut chat);
        !chat.is_empty() && scene.bot.next(&chat).await.is_some()
    })
    .await;
    let message = scene.bot.next(&chat).await.unwrap();
    assert_eq!(scene.bot.step(&chat, &message, "processing").await.status, 200);
    let event = json!({ "event": { "content": "Which\nrelease?", "message_type": "attention", "metadata": { "kind": "question" } } });
    assert_eq!(scene.bot.post(&format!("/chats/{chat}/events"), event).await.status, 201);
    until("the person is told", async || {
        running.error().contains("The agent needs somebody: Which release?")
    })
    .await;
    scene.answers(&chat, &message, "Yes.\nAll of it.").await;
    let said = running.ended();
    assert!(said.error.contains("Asked @ann/bot in room"), "{said:?}");
    assert_eq!(said.printed(), "Yes.\nAll of it.\n");
    let room = scene.ann.get(&format!("/chats/{chat}")).await.data();
    assert!(room["title"].as_str().unwrap().contains("Is the release done?"), "{room}");
}

#[tokio::test]
async fn only_the_answer_to_the_question_counts() {
    let scene = Scene::new().await;
    let chat = scene.room().await;
    let earlier = scene.ann.sent(&chat, "Something else", &[&scene.bot.id]).await;
    let (running, question) = scene.asked(&chat, &["--json"]).await;
    scene.answers(&chat, &earlier, "Not this one").await;
    scene.answers(&chat, &question, HOSTILE).await;
    let printed = running.ended().printed();
    assert!(!printed.trim_end().contains(char::is_control), "{printed:?}");
    let outcome = serde_json::from_str::<Value>(&printed).unwrap();
    assert_eq!(
        (&outcome["outcome"], &outcome["message_id"], &outcome["chat_id"], &outcome["agent"]["handle"]),
        (&json!("answered"), &json!(question), &json!(chat), &json!("ann/bot"))
    );
    assert!(outcome["text"].as_str().unwrap().starts_with("look\u{fffd}]0;owned\u{fffd}"), "{outcome}");
    assert_eq!(outcome["answer"]["metadata"]["cause"]["message_id"], question);
}

#[tokio::test]
async fn an_agent_that_fails_is_a_failure() {
    let scene = Scene::new().await;
    let chat = scene.room().await;
    let (running, message) = scene.asked(&chat, &[]).await;
    for step in ["processing", "failed"] {
        assert_eq!(scene.bot.step(&chat, &message, step).await.status, 200);
    }
    running.ended().refused(
        3,
        "The agent's attempt failed: it did not work. Follow the room with `parlance client tail",
    );
    // It is still the agent's next message; a person ends it.
    let path = format!("/work/{message}/{}/dead-letter", scene.bot.id);
    let reason = json!({ "reason": "no\u{9b}2J key" });
    assert_eq!(scene.ann.post(&path, reason.clone()).await.status, 200);
    let (running, message) = scene.asked(&chat, &["--json"]).await;
    let path = format!("/work/{message}/{}/dead-letter", scene.bot.id);
    assert_eq!(scene.ann.post(&path, reason).await.status, 200);
    let said = running.ended();
    assert_eq!(said.status, 3, "{said:?}");
    assert!(said.error.contains("taken out of the agent's queue: no\u{fffd}2J key"), "{said:?}");
    let outcome = serde_json::from_str::<Value>(&said.out).unwrap();
    assert_eq!((&outcome["outcome"], &outcome["answer"]), (&json!("failed"), &Value::Null));
}

#[tokio::test]
async fn an_agent_that_takes_too_long_is_told_from_one_that_is_absent() {
    let scene = Scene::new().await;
    let chat = scene.room().await;
    let (running, message) = scene.asked(&chat, &["--wait", "15s"]).await;
    assert_eq!(scene.bot.step(&chat, &message, "processing").await.status, 200);
    running.ended().refused(4, "No answer in time: the agent is still working on the question");
    // The answer comes later, in the room.
    scene.answers(&chat, &message, "Done").await;
    let (running, _) = scene.asked(&chat, &["--wait", "2s"]).await;
    running.ended().refused(5, "The agent is not connected; the question waits for it");
}

#[tokio::test]
async fn an_agent_that_cannot_be_asked_is_unavailable() {
    let scene = Scene::new().await;
    let (ann, person) = (&scene.ann, &scene.person);
    person.run(&["ask", "@ann/nobody", "x"]).refused(5, "You cannot add an agent @ann/nobody to a room");
    person.run(&["ask", "@ann", "x"]).refused(5, "You cannot add an agent @ann to a room");
    assert_eq!(ann.get("/chats").await.data(), json!([]), "no room was made");
    let empty = ann.create_chat().await;
    person
        .run(&["ask", "@ann/bot", "x", "--room", &empty])
        .refused(5, "There is no agent @ann/bot in the room");
    let chat = scene.room().await;
    let ask = ["ask", "@ann/bot", "x", "--room", &chat];
    assert_eq!(ann.post_nothing(&format!("/chats/{chat}/agents/stop")).await.status, 200);
    person.run(&ask).refused(5, "The agent is stopped in the room");
    assert_eq!(ann.post_nothing(&format!("/chats/{chat}/agents/play")).await.status, 200);
    assert_eq!(
        ann.post(&format!("/agents/{}/pause", scene.bot.id), json!({ "reason": "x" })).await.status,
        200
    );
    person.run(&ask).refused(5, "The agent is paused");
    assert_eq!(ann.post_nothing(&format!("/agents/{}/resume", scene.bot.id)).await.status, 200);
    let (running, _) = scene.asked(&chat, &[]).await;
    let leave = format!("/chats/{chat}/participants/{}", scene.bot.id);
    assert_eq!(ann.delete(&leave).await.status, 200);
    running.ended().refused(5, "The agent has left the room");
}

#[tokio::test]
async fn a_refusal_is_told_from_a_server_that_does_not_answer() {
    let scene = Scene::new().await;
    let chat = scene.room().await;
    let ask = |arguments: &[&str]| scene.person.run(&[&["ask", "@ann/bot", "x"], arguments].concat());
    ask(&["--room", "019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77"]).refused(6, "The server refused the request");
    ask(&["--room", "Release plan"]).refused(6, "You are in no room called 'Release plan'");
    let question = ["ask", "@ann/bot", "x", "--room", &chat];
    let with =
        |name, value: &str| Said::of(&scene.person.command(&question).env(name, value).output().unwrap());
    let unknown = format!("thnv_u_{}", "x".repeat(43));
    with("PARLANCE_KEY", &unknown).refused(6, "does not accept the API key. It is from PARLANCE_KEY");
    with("PARLANCE_URL", &format!("http://127.0.0.1:{}", free_port()))
        .refused(7, "Cannot reach http://127.0.0.1:");
    with("PARLANCE_URL", "localhost").refused(1, "PARLANCE_URL is not a URL");
    // A server of something else.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        let mut request = [0; 1024];
        assert!(std::io::Read::read(&mut stream, &mut request).unwrap() > 0);
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>";
        std::io::Write::write_all(&mut stream, answer).unwrap();
    });
    with("PARLANCE_URL", &format!("http://{address}")).refused(7, "does not answer like a Parlance server");
    answering.join().unwrap();
}

/// A long outage in the middle of the wait costs nothing but time.
#[tokio::test]
async fn a_question_survives_a_restart_of_the_server() {
    let mut scene = Scene::new().await;
    let chat = scene.room().await;
    let (running, message) = scene.asked(&chat, &[]).await;
    scene.server.kill9();
    until("the client notices", async || running.error().contains("trying again")).await;
    scene.server.run().await;
    scene.answers(&chat, &message, "Still here").await;
    assert_eq!(running.ended().printed(), "Still here\n");
}

#[tokio::test]
async fn a_question_can_be_on_standard_input() {
    let scene = Scene::new().await;
    let chat = scene.room().await;
    let mut command = scene.person.command(&["ask", "@ann/bot", "-", "--room", &chat]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.type_in("line 1\nline 2\n");
    running.close_input();
    let mut message = None;
    until("the agent is asked", async || {
        message = scene.bot.next(&chat).await;
        message.is_some()
    })
    .await;
    let history = scene.ann.history(&chat).await;
    assert!(history[0]["content"].as_str().unwrap().contains("line 1\nline 2"), "{history:?}");
    scene.answers(&chat, &message.unwrap(), "Read").await;
    assert_eq!(running.ended().printed(), "Read\n");
    scene.person.run(&["ask", "@ann/bot", "-"]).refused(1, "The question is empty");
}

/// Nor does one that is refused leave an empty room behind.
#[tokio::test]
async fn a_refused_question_leaves_no_room() {
    let server = Server::start_alone(&[("PARLANCE_PLAN_BYTES", "1")]).await;
    let ann = server.user("ann");
    ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    let path = format!("/chats/{chat}/messages");
    let message = json!({ "message": { "content": "too much", "mentions": [] } });
    until("the bytes are counted", async || ann.post(&path, message.clone()).await.status == 403).await;
    let person = Person::of(&server, &ann);
    person.run(&["ask", "@ann/bot", "x"]).refused(6, "The server refused the request");
    assert_eq!(ann.get("/chats").await.data().as_array().unwrap().len(), 1);
}
