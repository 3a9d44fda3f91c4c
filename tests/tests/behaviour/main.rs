//! The behaviour cases over the built program.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod contacts;
mod identity;
mod limits;
mod memories;
mod messages;
mod plans;
mod processing;
mod rooms;

use e2e::{Answer, Api, Server};
use serde_json::{Value, json};

/// Sets what the operator may say of an agent.
fn mark(server: &Server, handle: &str, flag: &str) {
    let output = server.command().args(["agent", "set", handle, flag, "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// One member of every row of a list.
fn column(answer: Answer, name: &str) -> Vec<String> {
    let rows = answer.data();
    rows.as_array().unwrap().iter().map(|row| row[name].as_str().unwrap().to_owned()).collect()
}

/// Status and code of a refusal.
fn refusal(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.code())
}

/// A room of `owner` with these in it as members.
async fn room(owner: &Api, members: &[&Api]) -> String {
    let chat = owner.create_chat().await;
    for member in members {
        assert_eq!(owner.add(&chat, &member.id).await.status, 201);
    }
    chat
}

async fn add_as(by: &Api, chat: &str, who: &Api, role: &str) -> Answer {
    let body = json!({"participant": {"participant_id": who.id, "role": role}});
    by.post(&format!("/chats/{chat}/participants"), body).await
}

async fn remove(by: &Api, chat: &str, who: &Api) -> Answer {
    by.delete(&format!("/chats/{chat}/participants/{}", who.id)).await
}

/// Sends `body` as a message.
async fn say(by: &Api, chat: &str, content: &str, mentions: Value) -> Answer {
    let body = json!({"message": {"content": content, "mentions": mentions}});
    by.post(&format!("/chats/{chat}/messages"), body).await
}
