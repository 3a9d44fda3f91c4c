//! Messages that the user's agents have not processed.

use serde::Deserialize;

use crate::text::{on_one_line, with_handles};

/// A message at one agent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct WorkItem {
    pub(crate) message_id: String,
    pub(crate) agent: WorkAgent,
    pub(crate) chat_room_id: String,
    pub(crate) chat_room_title: Option<String>,
    pub(crate) sender: WorkSender,
    /// The beginning of the text; absent if the user cannot read the room.
    content: Option<String>,
    pub(crate) state: String,
    pub(crate) flags: Vec<String>,
    pub(crate) age_ms: u64,
    /// 0 if there was no attempt.
    pub(crate) current_attempt: u32,
    attempts: Vec<WorkAttempt>,
    dead_reason: Option<String>,
    held_by: Option<String>,
    replaced_by: Option<String>,
}

/// The agent that has the message.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct WorkAgent {
    pub(crate) id: String,
    handle: String,
    connected: bool,
    stopped: bool,
    paused: bool,
}

/// Who wrote the message.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct WorkSender {
    name: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
struct WorkAttempt {
    error: Option<String>,
}

/// What became of a retry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub struct Retried {
    /// Whether the agent has begun within a few seconds.
    pub taken_up: bool,
}

impl WorkItem {
    /// The path of its operations.
    pub(crate) fn path(&self) -> String {
        format!("/work/{}/{}", self.message_id, self.agent.id)
    }

    /// Returns whether this is the same message at the same agent.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.message_id == other.message_id && self.agent.id == other.agent.id
    }

    /// The handle of the agent, with `@`.
    pub fn agent(&self) -> String {
        format!("@{}", on_one_line(&self.agent.handle))
    }

    /// How long the message has waited, in the largest unit.
    pub(crate) fn age(&self) -> String {
        let seconds = self.age_ms / 1000;
        match seconds {
            0..60 => format!("{seconds}s"),
            60..3600 => format!("{}m", seconds / 60),
            3600..172_800 => format!("{}h", seconds / 3600),
            _ => format!("{}d", seconds / 86_400),
        }
    }

    /// The beginning of the text on one line, if the user can read it. Only the agent is known by its handle.
    pub(crate) fn text(&self) -> Option<String> {
        let handle = |id: &str| Some(if id == self.agent.id { self.agent.handle.as_str() } else { "…" });
        self.content.as_ref().map(|content| on_one_line(&with_handles(content, handle)))
    }

    /// The name of the sender, if the user can read the room.
    pub(crate) fn sender(&self) -> Option<String> {
        self.sender.name.as_deref().map(on_one_line)
    }

    /// The error of the newest attempt that has one, on one line.
    pub(crate) fn error(&self) -> Option<String> {
        let error = self.attempts.iter().rev().find_map(|attempt| attempt.error.as_deref());
        error.map(on_one_line)
    }

    /// Why the work is not done, as far as that is known; the most important reason first.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        if self.state == "held" {
            causes.push(self.held_by.as_deref().map_or_else(|| "held".to_owned(), held));
        }
        causes.extend(self.dead_reason.as_deref().map(on_one_line));
        let of_agent = [
            (self.agent.paused, "paused"),
            (self.agent.stopped, "stopped"),
            (!self.agent.connected, "not connected"),
        ];
        causes.extend(of_agent.iter().filter(|(is_so, _)| *is_so).map(|(_, cause)| (*cause).to_owned()));
        let flags = self.flags.iter().filter(|flag| **flag != self.state);
        causes.extend(flags.map(|flag| on_one_line(flag)));
        causes.extend(self.error());
        causes
    }

    /// Why it cannot be retried, if that is so. The server has the last word.
    pub(crate) fn refuses_retry(&self) -> Option<&'static str> {
        match self.state.as_str() {
            _ if self.replaced_by.is_some() => Some("another message replaces this one"),
            "processed" => Some("the agent has processed this message"),
            "new" => Some("the agent has not received this message, so there is nothing to retry"),
            "processing" if !self.flags.iter().any(|flag| flag == "stuck") => {
                Some("the agent is working on this message, and is not stuck yet")
            }
            _ => None,
        }
    }

    /// Why it cannot be taken out of the queue, if that is so.
    pub(crate) fn refuses_dead_letter(&self) -> Option<&'static str> {
        match self.state.as_str() {
            _ if self.replaced_by.is_some() => Some("another message replaces this one"),
            "processed" => Some("the agent has processed this message"),
            "dead" => Some("this message is out of the queue already"),
            _ => None,
        }
    }
}

/// What holds a message, in words. The server may know of more.
fn held(by: &str) -> String {
    match by {
        "max_hops" => "agents replied to each other too many times in a row".to_owned(),
        "max_tree_messages" => "too many messages in one tree".to_owned(),
        "max_pair_messages" => "too many messages between two agents".to_owned(),
        "foreign" => "from another organization".to_owned(),
        budget => format!("over the budget {}", on_one_line(budget)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A message at an agent with this handle, in this state, with these other members.
    pub(crate) fn item(handle: &str, state: &str, members: Value) -> WorkItem {
        let mut value = json!({
            "message_id": format!("m-{handle}"), "chat_room_id": "r1", "chat_room_title": "Release plan",
            "agent": {
                "id": "0190c5a4-0000-7000-8000-0000000000b1", "handle": handle, "connected": true,
                "stopped": false, "paused": false,
            },
            "sender": { "name": "Ann" }, "content": "deploy it", "state": state, "flags": [], "age_ms": 300_000,
            "current_attempt": 1, "attempts": [], "dead_reason": null, "held_by": null, "replaced_by": null,
        });
        let members = members.as_object().unwrap();
        value.as_object_mut().unwrap().extend(members.clone());
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_item_says_what_it_is() {
        let text = "@[[0190c5a4-0000-7000-8000-0000000000b1]] @[[0190c5a4-0000-7000-8000-0000000000b2]]\ngo\u{1b}[2J";
        let attempts = json!([{ "error": null }, { "error": "time\nout\u{7}" }, { "error": null }]);
        let it = item(
            "ann/b\u{1b}",
            "failed",
            json!({ "content": text, "attempts": attempts, "flags": ["failing"] }),
        );
        assert_eq!(it.agent(), "@ann/b\u{fffd}");
        assert_eq!(it.text().unwrap(), "@ann/b\u{fffd} @… go\u{fffd}[2J");
        assert_eq!(it.causes(), ["failing", "time out\u{fffd}"]);
        let hidden =
            item("a", "held", json!({ "content": null, "held_by": "room_tokens", "flags": ["held"] }));
        assert_eq!((hidden.text(), hidden.causes()), (None, vec!["over the budget room_tokens".to_owned()]));
        for (age, shown) in [(59_999, "59s"), (60_000, "1m"), (7_200_000, "2h"), (172_800_000, "2d")] {
            assert_eq!(item("a", "new", json!({ "age_ms": age })).age(), shown);
        }
    }

    #[test]
    fn what_can_be_done_depends_on_the_state() {
        for (state, members, can_retry, can_end) in [
            ("new", json!({}), false, true),
            ("delivered", json!({}), true, true),
            ("processing", json!({}), false, true),
            ("processing", json!({ "flags": ["stuck"] }), true, true),
            ("failed", json!({}), true, true),
            ("held", json!({}), true, true),
            ("dead", json!({}), true, false),
            ("dead", json!({ "replaced_by": "m2" }), false, false),
            ("processed", json!({}), false, false),
        ] {
            let it = item("a", state, members);
            let can = (it.refuses_retry().is_none(), it.refuses_dead_letter().is_none());
            assert_eq!(can, (can_retry, can_end), "{it:?}");
        }
    }
}
