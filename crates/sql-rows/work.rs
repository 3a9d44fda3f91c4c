//! Work as rows. Compiled into each store, whose tables it names.

use std::sync::LazyLock;

use diesel::prelude::*;
use domain::account::AgentKind;
use domain::delivery::Attempt;
use domain::id::{AgentId, ChatId, MessageId, Sequence, UserId};
use domain::page::weight;
use domain::work::{WorkAgent, WorkItem, WorkScope, WorkSearch};
use uuid::Uuid;

use crate::error::Fault;
use crate::message::row::{DeliveryRow, is_shown, status};
use crate::row::{self, At, Id};

/// The approximate size of an item in an answer, without its record and its text.
const ITEM_BYTES: usize = 600;

/// A row of `deliveries` with its agent, chat, and message.
#[derive(Queryable)]
pub(crate) struct ItemRow {
    record: DeliveryRow,
    handle: String,
    name: String,
    agent_kind: String,
    chat_id: Id,
    title: Option<String>,
    /// Set if the reader may read the chat.
    is_readable: bool,
    /// Set if the chat counts towards the organization of the scope.
    is_of_organization: bool,
    message_id: Id,
    sequence: i64,
    sender_id: Id,
    sender_kind: String,
    sender_name: String,
    created_at: At,
    text: String,
}

impl ItemRow {
    /// The columns after those of the record. Values: [`reader`], [`organization`], and the number of
    /// characters that are shown.
    pub(crate) const COLUMNS: &'static str = "agents.handle, agents.name, agents.kind, chats.id, chats.title, \
         coalesce((SELECT 1 = 1 FROM participants WHERE participants.chat_id = chats.id \
             AND participants.account_id = ? AND participants.left_at IS NULL LIMIT 1), 1 = 0), \
         coalesce(chats.organization_id = ?, 1 = 0), messages.id, messages.sequence, messages.sender_id, \
         messages.sender_kind, messages.sender_name, messages.created_at, substr(messages.content, 1, ?)";

    /// Its key: agent, chat, and sequence.
    pub(crate) const fn key(&self) -> (Uuid, Uuid, i64) {
        (self.record.agent_id.0, self.chat_id.0, self.sequence)
    }

    /// The approximate size in an answer.
    pub(crate) fn weight(&self) -> usize {
        ITEM_BYTES + self.record.weight() + weight::of_text(&self.text)
    }

    /// As [`DeliveryRow::earlier_after`].
    pub(crate) fn earlier_after(&self) -> Option<i32> {
        self.record.earlier_after()
    }

    /// Converts it; `attempts` are the earlier ones, oldest first.
    pub(crate) fn into_item(self, scope: WorkScope, attempts: Vec<Attempt>) -> Result<WorkItem, Fault> {
        let shows_title = self.is_readable || self.is_of_organization || scope == WorkScope::Everything;
        let agent = WorkAgent {
            id: AgentId::new(self.record.agent_id.0),
            handle: self.handle,
            name: self.name,
            is_external: row::word(&self.agent_kind, AgentKind::parse)?.is_external(),
        };
        Ok(WorkItem {
            agent,
            chat: ChatId::new(self.chat_id.0),
            title: self.title.filter(|_| shows_title),
            message: MessageId::new(self.message_id.0),
            sequence: Sequence::new(self.sequence),
            sender: row::participant_id(&self.sender_kind, self.sender_id.0)?,
            sender_name: self.sender_name,
            written_at: self.created_at.0,
            text: self.is_readable.then_some(self.text),
            delivery: self.record.into_delivery(attempts)?,
        })
    }
}

/// The organization of a scope; nil if it has none.
pub(crate) fn organization(scope: WorkScope) -> Id {
    match scope {
        WorkScope::Of(by) => Id(by.organization().uuid()),
        WorkScope::Everything | WorkScope::OwnedBy(_) => Id(Uuid::nil()),
    }
}

/// The account of the reader; nil for the operator.
pub(crate) fn reader(scope: WorkScope) -> Id {
    Id(scope.reader().map_or(Uuid::nil(), UserId::uuid))
}

/// FROM and WHERE of the agents of a scope. Value: [`account`], unless it is that of the operator.
pub(crate) const fn agents(scope: WorkScope) -> &'static str {
    match scope {
        WorkScope::Everything => "FROM agents WHERE agents.deleted_at IS NULL",
        WorkScope::OwnedBy(_) => "FROM agents WHERE agents.owner_id = ? AND agents.deleted_at IS NULL",
        WorkScope::Of(_) => {
            "FROM users CROSS JOIN agents WHERE users.organization_id = ? AND users.deleted_at IS NULL \
             AND agents.owner_id = users.id AND agents.deleted_at IS NULL"
        }
    }
}

/// The user or the organization of a scope; `None` for the operator.
pub(crate) fn account(scope: WorkScope) -> Option<Id> {
    match scope {
        WorkScope::Everything => None,
        WorkScope::OwnedBy(user) => Some(Id(user.uuid())),
        WorkScope::Of(by) => Some(Id(by.organization().uuid())),
    }
}

/// The state of a search, or nothing.
pub(crate) fn state(search: &WorkSearch) -> &'static str {
    search.state.map_or("", |state| state.as_str())
}

/// The text that an error must contain, in lower case; empty for any.
pub(crate) fn error(search: &WorkSearch) -> String {
    search.error.as_ref().map(|text| text.to_ascii_lowercase()).unwrap_or_default()
}

/// The conditions on the row of an item. Values: the word of the state or nothing; the least number of
/// attempts; twice the time at which a restart must be, or before; twice the time since which it must be
/// open; twice the number of failures in a row.
pub(crate) static CONDITIONS: LazyLock<String> = LazyLock::new(|| {
    let shown = is_shown();
    format!(
        "? IN ('', {}) AND deliveries.current_attempt >= ? \
         AND (? IS NULL OR deliveries.restarted_at IS NULL OR deliveries.restarted_at <= ?) \
         AND (? IS NULL OR deliveries.failed_at IS NULL AND deliveries.started_at <= ?) \
         AND (? = 0 OR CASE WHEN deliveries.failed_at IS NULL OR {WAITS} THEN 0 ELSE 1 END + (\
             SELECT count(*) FROM attempts WHERE {shown} AND attempts.number > coalesce(deliveries.restarted_after, 0) \
             AND attempts.number > coalesce(\
                 (SELECT max(attempts.number) FROM attempts WHERE {shown} AND attempts.error IS NULL), 0)) >= ?)",
        status::word(),
        WAITS = status::WAITS,
    )
});

/// The error of the newest attempt that has ended.
pub(crate) const LAST_ERROR: &str = "coalesce(deliveries.error, (SELECT attempts.error FROM attempts \
     WHERE attempts.agent_id = deliveries.agent_id AND attempts.chat_id = deliveries.chat_id \
     AND attempts.sequence = deliveries.sequence AND attempts.number = deliveries.current_attempt - 1))";
