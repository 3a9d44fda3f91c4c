//! Messages as rows. Compiled into each store, whose tables it names.

use diesel::backend::Backend;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::sql_types::{Nullable, Text};
use domain::delivery::{Attempt, AttemptNumber, AttemptStatus, Delivery};
use domain::id::{ChatId, MessageId, ParticipantKind, Sequence, parse_uuid};
use domain::message::{Mention, MentionKind, Message, MessageKind};
use domain::page::weight;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::messages;

/// A row of `messages`.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = messages, treat_none_as_default_value = false)]
pub(crate) struct MessageRow {
    pub(crate) id: Id,
    pub(crate) chat_id: Id,
    pub(crate) sequence: i64,
    pub(crate) kind: String,
    pub(crate) content: String,
    pub(crate) sender_id: Id,
    pub(crate) sender_kind: String,
    pub(crate) sender_name: String,
    pub(crate) mentions: String,
    pub(crate) metadata: Option<String>,
    pub(crate) created_at: At,
    pub(crate) updated_at: At,
    #[diesel(select_expression = SenderHandle, select_expression_type = SenderHandle)]
    #[diesel(skip_insertion)]
    pub(crate) sender_handle: Option<String>,
}

/// The handle of a message's sender, who may be deleted.
#[derive(Clone, Copy, QueryId)]
pub(crate) struct SenderHandle;

impl SenderHandle {
    pub(crate) const TEXT: &'static str = "(CASE sender_kind \
         WHEN 'User' THEN (SELECT handle FROM users WHERE users.id = sender_id) \
         ELSE (SELECT handle FROM agents WHERE agents.id = sender_id) END)";
}

impl Expression for SenderHandle {
    type SqlType = Nullable<Text>;
}

impl<Source> AppearsOnTable<Source> for SenderHandle where messages::sender_id: AppearsOnTable<Source> {}

impl<Source> SelectableExpression<Source> for SenderHandle where
    messages::sender_id: SelectableExpression<Source>
{
}

impl<By> ValidGrouping<By> for SenderHandle
where
    messages::sender_id: ValidGrouping<By>,
{
    type IsAggregate = <messages::sender_id as ValidGrouping<By>>::IsAggregate;
}

impl<DB: Backend> QueryFragment<DB> for SenderHandle {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(Self::TEXT);
        Ok(())
    }
}

impl MessageRow {
    /// The approximate size in an answer.
    pub(super) fn weight(&self) -> usize {
        let metadata = self.metadata.as_ref().map_or(0, String::len);
        weight::of_message(&self.content, self.mentions.len(), metadata)
    }

    pub(crate) fn into_message(self, deliveries: Vec<Delivery>) -> Result<Message, Fault> {
        Ok(Message {
            id: MessageId::new(self.id.0),
            chat_id: ChatId::new(self.chat_id.0),
            sequence: Sequence::new(self.sequence),
            kind: row::word(&self.kind, MessageKind::parse)?,
            content: self.content,
            sender: row::participant_id(&self.sender_kind, self.sender_id.0)?,
            sender_name: self.sender_name,
            sender_handle: self.sender_handle,
            mentions: stored_mentions(&self.mentions)?,
            metadata: self.metadata.as_deref().map(row::json).transpose()?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            deliveries,
        })
    }
}

/// The column `number` of an attempt.
pub(crate) fn number_column(number: AttemptNumber) -> Result<i32, Fault> {
    i32::try_from(number.get()).map_err(|_| Fault::Row(format!("the attempt {}", number.get())))
}

/// The column `current_attempt`, 0 if there is none.
pub(crate) fn current_attempt_column(delivery: &Delivery) -> Result<i32, Fault> {
    delivery.current_attempt().map_or(Ok(0), number_column)
}

/// An attempt from its columns.
pub(super) fn stored_attempt(
    number: i32,
    status: &str,
    started_at: Timestamp,
    completed_at: Option<Timestamp>,
    error: Option<String>,
) -> Result<Attempt, Fault> {
    let unsigned = u32::try_from(number).ok().and_then(AttemptNumber::new);
    let unsigned = unsigned.ok_or_else(|| Fault::Row(format!("the attempt {number}")))?;
    let status = row::word(status, AttemptStatus::parse)?;
    Attempt::restore(unsigned, status, started_at, completed_at, error)
        .map_err(|inconsistent| Fault::Row(format!("{inconsistent}: attempt {number}")))
}

/// A mention in the column `mentions`.
#[derive(Serialize, Deserialize)]
struct StoredMention {
    id: String,
    of: String,
    handle: String,
    name: String,
    kind: String,
}

pub(crate) fn mentions_column(mentions: &[Mention]) -> Result<String, Fault> {
    let stored = mentions.iter().map(|mention| StoredMention {
        id: mention.id.to_string(),
        of: mention.id.kind().as_str().to_owned(),
        handle: mention.handle.clone(),
        name: mention.name.clone(),
        kind: mention.kind.as_str().to_owned(),
    });
    row::to_json(&stored.collect::<Vec<_>>())
}

pub(crate) fn stored_mentions(column: &str) -> Result<Vec<Mention>, Fault> {
    let stored = row::json::<Vec<StoredMention>>(column)?.into_iter().map(|stored| {
        Ok(Mention {
            id: row::word(&stored.of, ParticipantKind::parse)?.with_uuid(row::word(&stored.id, parse_uuid)?),
            handle: stored.handle,
            name: stored.name,
            kind: row::word(&stored.kind, MentionKind::parse)?,
        })
    });
    stored.collect()
}
