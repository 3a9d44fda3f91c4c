//! The operations of agents at work.

use serde_json::{Value, json};

use crate::operations::{Operation, get, post};

/// The operations on a room that only agents have.
pub(crate) fn work() -> Vec<Operation> {
    let event =
        json!({"event": {"message_type": "thought", "content": "hm", "metadata": {"any": {"thing": 1}}}});
    let activity = json!({"working": true, "activity": {"kind": "tool_call", "name": "search"}});
    vec![
        get("/api/v1/agent/chats/{chat_id}/messages/next"),
        post("/api/v1/agent/chats/{chat_id}/messages/{message_id}/processing", Value::Null),
        post("/api/v1/agent/chats/{chat_id}/messages/{message_id}/processed", Value::Null),
        post("/api/v1/agent/chats/{chat_id}/messages/{message_id}/failed", json!({"error": "it broke"})),
        post("/api/v1/agent/chats/{chat_id}/events", event),
        get("/api/v1/agent/chats/{chat_id}/context"),
        get("/api/v1/agent/chats/{chat_id}/activity"),
        post("/api/v1/agent/chats/{chat_id}/activity", activity),
    ]
}
