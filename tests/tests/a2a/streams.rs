//! Streams of tasks.

use std::time::Duration;

use e2e::{Server, pace, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{BINDINGS, Binding, Client, listed, message, text};
use crate::tasks::{answer, begin, parts};

/// The parameters of a message.
fn said(id: &str) -> Value {
    json!({"message": message(id, json!([{"text": "Count"}]))})
}

fn pair(id: &str, new: &str) -> (String, String) {
    (id.to_owned(), new.to_owned())
}

/// A stream shows the task and each change, and goes on where it broke.
#[tokio::test]
async fn a_stream_goes_on_where_it_broke() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let mut events = client.stream("SendStreamingMessage", said(&client.own("m1")), None).await;
        let (id, first) = events.next().await.unwrap();
        let task = first["task"].clone();
        assert_eq!((id.as_str(), &task["status"]["state"]), ("1", &json!("TASK_STATE_SUBMITTED")), "{task}");
        let subscribe = json!({"id": task["id"]});
        let mut second = client.stream("SubscribeToTask", subscribe.clone(), None).await;
        assert_eq!(second.news().await.unwrap(), pair("1", "task TASK_STATE_SUBMITTED"));
        let (room, work) = begin(&cast.a1, &task).await;
        for events in [&mut events, &mut second] {
            assert_eq!(events.news().await.unwrap(), pair("1", "TASK_STATE_WORKING"));
        }
        answer(&cast.a1, &room, "One", &cast.u1).await;
        assert_eq!(events.news().await.unwrap(), pair("2", "One"));
        drop(events);
        answer(&cast.a1, &room, "Two", &cast.u1).await;
        assert_eq!(second.news().await.unwrap(), pair("2", "One"));
        assert_eq!(second.news().await.unwrap(), pair("3", "Two"));
        let mut resumed = client.stream("SubscribeToTask", subscribe.clone(), Some("2")).await;
        assert_eq!(resumed.news().await.unwrap(), pair("3", "Two"));
        assert_eq!(resumed.news().await.unwrap(), pair("3", "TASK_STATE_WORKING"));
        assert_eq!(cast.a1.step(&room, &work, "processed").await.status, 200);
        for events in [&mut second, &mut resumed] {
            assert_eq!(events.news().await.unwrap(), pair("3", "TASK_STATE_COMPLETED"));
            assert_eq!(events.news().await, None);
        }
        let ended = client.refused("SubscribeToTask", subscribe.clone()).await;
        assert_eq!(ended.1, "UNSUPPORTED_OPERATION");
        let missed = client.stream("SubscribeToTask", subscribe.clone(), Some("1")).await.rest().await;
        assert_eq!(missed, ["One", "Two", "TASK_STATE_COMPLETED"]);
        let repeated =
            client.stream("SendStreamingMessage", said(&client.own("m1")), None).await.rest().await;
        assert_eq!(repeated, ["task TASK_STATE_COMPLETED"], "the message was sent once");
        cast.u1.delete(&format!("/chats/{room}")).await;
    }
}

/// An agent follows its task without learning how much else is said in the room.
#[tokio::test]
async fn a_stream_of_an_agent_hides_the_sequence() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    let client = Client::new(&server, &cast.a2, &cast.a1, Binding::Http);
    cast.u1.sent(&cast.r1, "for others", &[]).await;
    let mut params = said("m1");
    params["message"]["contextId"] = json!(cast.r1);
    let mut events = client.stream("SendStreamingMessage", params, None).await;
    let (id, first) = events.next().await.unwrap();
    let task = first["task"].clone();
    let (room, message) = parts(&task);
    assert_eq!(id, message);
    begin(&cast.a1, &task).await;
    assert_eq!(events.news().await.unwrap(), pair(&message, "TASK_STATE_WORKING"));
    answer(&cast.a1, &room, "One", &cast.a2).await;
    let (one, new) = events.news().await.unwrap();
    assert_eq!(new, "One");
    answer(&cast.a1, &room, "Two", &cast.a2).await;
    let mut resumed = client.stream("SubscribeToTask", json!({"id": task["id"]}), Some(&one)).await;
    assert_eq!(resumed.news().await.unwrap().1, "Two");
}

/// A stream in which nothing happens for longer than a client may be silent between two requests lives on.
#[tokio::test]
async fn a_silent_stream_lives_on() {
    let limits = [("PARLANCE_HEADER_TIMEOUT_MS", "1000"), ("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "1000")];
    let server = Server::start_alone(&limits).await;
    let cast = listed(&server).await;
    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Http);
    let mut events = client.stream("SendStreamingMessage", said("m1"), None).await;
    let task = events.next().await.unwrap().1["task"].clone();
    pace(Duration::from_secs(4)).await;
    begin(&cast.a1, &task).await;
    assert_eq!(events.news().await.unwrap(), pair("1", "TASK_STATE_WORKING"));
}

/// A stream ends with its credential, and with the server.
#[tokio::test]
async fn a_stream_ends_with_its_key_and_with_the_server() {
    let mut server = Server::start_alone(&[]).await;
    let cast = listed(&server).await;
    let made = cast.u1.post("/api-keys", json!({"api_key": {"name": "Short"}})).await.data();
    let key = made["credentials"]["api_key"].as_str().unwrap();
    let client = Client::with_key(&server, key, &cast.a1, Binding::Rpc);
    let mut events = client.stream("SendStreamingMessage", said("m1"), None).await;
    assert_eq!(events.news().await.unwrap().1, "task TASK_STATE_SUBMITTED");
    let id = made["api_key"]["id"].as_str().unwrap();
    assert!(cast.u1.delete(&format!("/api-keys/{id}")).await.status < 300);
    assert_eq!(events.news().await, None);

    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Rpc);
    let mut events = client.stream("SendStreamingMessage", said("m2"), None).await;
    assert_eq!(events.news().await.unwrap().1, "task TASK_STATE_SUBMITTED");
    let blocking = client.request("SendMessage", said("m3"));
    let blocking = tokio::spawn(async move { blocking.send().await.unwrap().json::<Value>().await.unwrap() });
    until("the other one waits", async || cast.u1.get("/chats").await.data().as_array().unwrap().len() == 4)
        .await;
    let took = server.terminate().await;
    assert!(took.as_secs() < 10, "{took:?}");
    assert_eq!(events.news().await, None);
    let answered = blocking.await.unwrap();
    assert_eq!(answered["result"]["task"]["status"]["state"], "TASK_STATE_SUBMITTED", "{answered}");
}

/// A caller has a bounded number of streams.
#[tokio::test]
async fn a_caller_has_a_bounded_number_of_streams() {
    let server = Server::start_alone(&[]).await;
    let cast = listed(&server).await;
    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Http);
    let task = client.send(text("m1", "Wait")).await;
    let subscribe = json!({"id": task["id"]});
    let mut open = Vec::new();
    for _ in 0..50 {
        open.push(client.stream("SubscribeToTask", subscribe.clone(), None).await);
    }
    assert_eq!(client.refused("SubscribeToTask", subscribe.clone()).await, (429, "RATE_LIMITED".to_owned()));
    let waiting = client.at(Method::POST, "/v1/message:send").json(&said("m2")).send().await.unwrap();
    assert_eq!(waiting.status().as_u16(), 200, "a message is sent, and its task returned as it is");
    drop(open);
    until("streams that were closed do not count", async || {
        client.request("SubscribeToTask", subscribe.clone()).send().await.unwrap().status().as_u16() == 200
    })
    .await;
}
