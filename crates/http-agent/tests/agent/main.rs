//! The agent interface on the real services, with a store in memory.
#![expect(clippy::unwrap_used, reason = "a test may end at whatever it did not expect")]

mod access;
mod activity;
#[path = "../../../http-wire/tests/edge/boards.rs"]
mod boards;
mod chats;
mod contacts;
mod context;
mod deliveries;
mod events;
#[path = "../../../http-wire/tests/edge/files.rs"]
mod files;
mod foreign;
#[expect(dead_code, reason = "only tests of the human interface read headers and use every method")]
#[path = "../../../http-wire/tests/edge/harness.rs"]
mod harness;
mod identity;
mod messages;
mod once;
mod participants;
mod peers;
#[path = "../../../http-wire/tests/edge/reminders.rs"]
mod reminders;
#[path = "../../../http-wire/tests/edge/shared.rs"]
mod shared;

use domain::chat::Role;
use domain::id::ChatId;
use harness::Api;
use http_agent::configure;
use testkit::TestAgent as Account;

/// The base path of the interface.
const BASE: &str = "/api/v1/agent";

impl Api {
    fn caller(&self) -> &Account {
        &self.helper
    }

    /// The caller's id, type, name, and handle.
    fn shown_caller(&self) -> (String, &'static str, &'static str, &str) {
        (self.helper.id.to_string(), "Agent", "Helper", &self.helper.handle)
    }

    /// A room of Helper (owner), Ann (admin) and Scout (member).
    async fn room(&self) -> ChatId {
        let chat = self.empty_room(self.helper.caller).await;
        self.add(self.helper.caller, chat, self.ann.id.into(), Role::Admin).await;
        self.add(self.helper.caller, chat, self.scout.id.into(), Role::Member).await;
        chat
    }
}
