//! Messages as rows, as far as they are searched. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use domain::id::{ChatId, MessageId, ParticipantKind, Sequence};
use domain::message::{Mention, MessageKind};
use domain::search::{SearchedMessage, searched_text};

use crate::error::Fault;
use crate::message::row::{origin, stored_mentions};
use crate::row::{self, At, AtType, Id, IdType};

/// A message with the searched part of its content.
#[derive(Queryable)]
pub(super) struct SearchedRow {
    pub(super) id: Id,
    pub(super) chat_id: Id,
    pub(super) sequence: i64,
    kind: String,
    content: String,
    sender_id: Id,
    sender_kind: String,
    sender_name: String,
    mentions: String,
    created_at: At,
    foreign_origin: Option<bool>,
    originator_kind: Option<String>,
    sender_handle: Option<String>,
}

/// The SQL types of a [`SearchedRow`].
pub(super) type SearchedColumns = (
    IdType,
    IdType,
    BigInt,
    Text,
    Text,
    IdType,
    Text,
    Text,
    Text,
    AtType,
    Nullable<Bool>,
    Nullable<Text>,
    Nullable<Text>,
);

impl SearchedRow {
    /// The columns before [`SenderHandle`](crate::message::row::SenderHandle). The number is
    /// [`SEARCHED_CHARS`](domain::search::SEARCHED_CHARS).
    pub(super) const COLUMNS: &'static str = "messages.id, messages.chat_id, messages.sequence, messages.kind, \
         substr(messages.content, 1, 65536), messages.sender_id, messages.sender_kind, messages.sender_name, \
         messages.mentions, messages.created_at, messages.foreign_origin, messages.originator_kind";

    pub(super) fn into_message(self) -> Result<SearchedMessage, Fault> {
        let mentions = stored_mentions(&self.mentions)?;
        let originator = self.originator_kind.as_ref().unwrap_or(&self.sender_kind);
        let originator = row::word(originator, ParticipantKind::parse)?;
        Ok(SearchedMessage {
            id: MessageId::new(self.id.0),
            chat: ChatId::new(self.chat_id.0),
            sequence: Sequence::new(self.sequence),
            kind: row::word(&self.kind, MessageKind::parse)?,
            sender: row::participant_id(&self.sender_kind, self.sender_id.0)?,
            sender_name: self.sender_name,
            sender_handle: self.sender_handle,
            addressed: mentions.iter().filter_map(Mention::addressed_agent).collect(),
            text: searched_text(&self.content, &mentions),
            origin: origin(self.foreign_origin),
            originator,
            created_at: self.created_at.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::search::SEARCHED_CHARS;

    use super::SearchedRow;

    #[test]
    fn as_much_is_read_as_is_searched() {
        assert!(SearchedRow::COLUMNS.contains(&format!("1, {SEARCHED_CHARS})")));
    }
}
