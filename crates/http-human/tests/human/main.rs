//! The human interface on the real services, with a store in memory.
#![expect(clippy::unwrap_used, reason = "a test may end at whatever it did not expect")]

mod access;
mod agent_records;
mod agents;
mod audit;
#[path = "../../../http-wire/tests/edge/boards.rs"]
mod boards;
mod budgets;
mod bulk_deletions;
mod chats;
mod contacts;
mod control;
mod credentials;
#[path = "../../../http-wire/tests/edge/files.rs"]
mod files;
mod generic;
#[path = "../../../http-wire/tests/edge/harness.rs"]
mod harness;
mod history;
mod keys;
mod limits;
mod message_changes;
mod messages;
mod notifications;
mod once;
mod operator;
mod participants;
mod passkeys;
mod pause;
mod peers;
mod profile;
#[path = "../../../http-wire/tests/edge/reminders.rs"]
mod reminders;
mod rooms;
mod second_factor;
#[path = "../../../http-wire/tests/edge/shared.rs"]
mod shared;
mod usage;
mod webhooks;
mod work;

use domain::chat::Role;
use domain::id::ChatId;
use harness::Api;
use http_human::configure;
use testkit::TestUser as Account;

/// The base path of the interface.
const BASE: &str = "/api/v1/me";

impl Api {
    fn caller(&self) -> &Account {
        &self.ann
    }

    /// The caller's id, type, name, and handle.
    fn shown_caller(&self) -> (String, &'static str, &'static str, &str) {
        (self.ann.id.to_string(), "User", "ann Example", &self.ann.handle)
    }

    /// A room of Ann (owner), Helper and Scout (members).
    async fn room(&self) -> ChatId {
        let chat = self.empty_room(self.ann.caller).await;
        self.add(self.ann.caller, chat, self.helper.id.into(), Role::Member).await;
        self.add(self.ann.caller, chat, self.scout.id.into(), Role::Member).await;
        chat
    }
}
