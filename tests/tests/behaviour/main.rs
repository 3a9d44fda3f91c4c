//! The behaviour cases on the running program, also on several servers: one path through each area shows that it is
//! wired. The rules themselves are tested in the domain, the stores, and the edges.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod contacts;
mod identity;
mod limits;
mod memories;
mod messages;
mod plans;
mod processing;
mod rooms;

use e2e::{Answer, Api};
use serde_json::{Value, json};

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

/// Sends `body` as a message.
async fn say(by: &Api, chat: &str, content: &str, mentions: Value) -> Answer {
    let body = json!({"message": {"content": content, "mentions": mentions}});
    by.post(&format!("/chats/{chat}/messages"), body).await
}
