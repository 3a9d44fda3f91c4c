//! The store of attention items.

#[path = "../../sql-rows/attention.rs"]
mod row;

use std::collections::HashSet;

use async_trait::async_trait;
use diesel::OptionalExtension;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::attention::{
    Adapter, AttentionEffect, AttentionItem, AttentionOutcome, AttentionRepository, AttentionSearch,
    AttentionState, ClosedItem, DismissAttention, DismissRefused, NewItem, WhichItem, ended_tokens,
    hold_token,
};
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::delivery::HeldBy;
use domain::id::{MessageId, SubjectId, UserId};
use domain::message::{Message, NewMessage};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;
use row::{ItemRow, bind_list, can_be_answered, may_dismiss, pairs};
use uuid::Uuid;

use crate::PostgresStore;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::row::{At, AtType, Id, IdType};
use crate::run::Db;
use crate::statement::statement;

/// The SQL types of an [`ItemRow`].
type Item = (
    (
        SqlUuid,
        SqlUuid,
        Nullable<Text>,
        Text,
        Bool,
        Nullable<Text>,
        Nullable<Text>,
        Nullable<Text>,
        Timestamptz,
        Nullable<Timestamptz>,
        Nullable<Text>,
        Nullable<Timestamptz>,
        Nullable<SqlUuid>,
    ),
    (SqlUuid, Text, Text, Nullable<Text>, Text, Text),
    (Nullable<SqlUuid>, Nullable<Text>, Nullable<Text>, Nullable<Text>),
);

#[async_trait]
impl AttentionRepository for PostgresStore {
    async fn list_attention(&self, search: AttentionSearch) -> Result<Vec<AttentionItem>, StoreError> {
        self.query(search, |db, search| list_on(db, search).boxed()).await
    }

    async fn find_attention(
        &self,
        user: UserId,
        item: MessageId,
    ) -> Result<Option<AttentionItem>, StoreError> {
        self.query((user, item), |db, (user, item)| find_on(db, *user, *item).boxed()).await
    }

    async fn dismiss_attention(
        &self,
        command: DismissAttention,
    ) -> Result<Result<AttentionItem, DismissRefused>, StoreError> {
        self.change_quietly(command, |db, command| dismiss_on(db, *command).boxed()).await
    }
}

/// A room with the first items of a query, which names the table.
fn within(of_room: &str) -> String {
    format!("CROSS JOIN LATERAL (SELECT attention_items.* {of_room}) AS item")
}

async fn list_on(mut db: &Db, search: &AttentionSearch) -> Result<Vec<AttentionItem>, Fault> {
    let query = statement::<Item>(row::list(search, within));
    let rows = bind_list!(query, search).load::<ItemRow>(&mut db).await?;
    rows.into_iter().map(ItemRow::into_item).collect()
}

pub(crate) async fn find_on(
    mut db: &Db,
    user: UserId,
    item: MessageId,
) -> Result<Option<AttentionItem>, Fault> {
    let query = statement::<Item>(row::one()).bind::<SqlUuid, _>(item.uuid()).bind::<SqlUuid, _>(user.uuid());
    query.get_result::<ItemRow>(&mut db).await.optional()?.map(ItemRow::into_item).transpose()
}

async fn dismiss_on(
    mut db: &Db,
    command: DismissAttention,
) -> Result<Result<AttentionItem, DismissRefused>, Fault> {
    let DismissAttention { item, by, now } = command;
    // An answer locks the item too.
    let lock = statement::<SqlUuid>("SELECT message_id FROM attention_items WHERE message_id = ? FOR UPDATE");
    lock.bind::<SqlUuid, _>(item.uuid()).get_result::<Uuid>(&mut db).await.optional()?;
    let Some(found) = find_on(db, by.user, item).await? else { return Ok(Err(DismissRefused::NotFound)) };
    match command.decide(&found) {
        Ok(true) => {}
        Ok(false) => return Ok(Ok(found)),
        Err(refused) => return Ok(Err(refused)),
    }
    let may = statement::<Bool>(may_dismiss!())
        .bind::<SqlUuid, _>(found.chat.uuid())
        .bind::<SqlUuid, _>(found.sender.id.uuid())
        .bind::<SqlUuid, _>(by.user.uuid());
    if !may.get_result::<bool>(&mut db).await? {
        return Ok(Err(DismissRefused::Guest));
    }
    statement::<()>(row::DISMISS)
        .bind::<Timestamptz, _>(At(now))
        .bind::<Nullable<SqlUuid>, _>(Some(by.user.uuid()))
        .bind::<SqlUuid, _>(item.uuid())
        .execute(&mut db)
        .await?;
    let entry = AuditEntry::attention_ended(item, found.chat, by.user, AttentionOutcome::Dismissed, now);
    audit::append_on(db, [entry]).await?;
    Ok(find_on(db, by.user, item).await?.ok_or(DismissRefused::NotFound))
}

/// The items that these messages of one transaction answer, as far as they can be answered. They are locked, after
/// the chats.
pub(crate) async fn answerable_on(mut db: &Db, news: &[NewMessage]) -> Result<HashSet<MessageId>, Fault> {
    let mut open = HashSet::new();
    for (item, chat) in news.iter().filter_map(|new| Some((new.must_answer()?, new.chat))) {
        let lock = statement::<Bool>(concat!(can_be_answered!(), " FOR UPDATE"))
            .bind::<SqlUuid, _>(item.uuid())
            .bind::<SqlUuid, _>(chat.uuid());
        if lock.get_result::<bool>(&mut db).await.optional()?.unwrap_or(false) {
            open.insert(item);
        }
    }
    Ok(open)
}

/// Makes or ends items, as the messages of one transaction do, in their order.
pub(crate) async fn apply_on(
    db: &Db,
    stored: impl Iterator<Item = (AttentionEffect, &Message)>,
) -> Result<(), Fault> {
    for (effect, message) in stored {
        match effect {
            AttentionEffect::Opens(new) => open_on(db, &new, message).await?,
            AttentionEffect::Closes(closed) => {
                let (chat, at) = (message.chat_id, message.created_at);
                let closed = closed.told_by(message);
                let ended = closed_on(db, &closed, message).await?;
                let Some(by) = closed.by else { continue };
                let entry =
                    |id| AuditEntry::attention_ended(MessageId::new(id), chat, by, closed.outcome, at);
                let entries = ended.into_iter().map(entry).collect::<Vec<_>>();
                if !entries.is_empty() {
                    audit::append_on(db, entries).await?;
                }
                let sent = closed.is_of_command.then_some(Change::MessageSent(message.id));
                change::append_on(db, sent, at).await?;
            }
        }
    }
    Ok(())
}

async fn open_on(mut db: &Db, new: &NewItem, message: &Message) -> Result<(), Fault> {
    let at = At(message.created_at);
    statement::<()>(row::EXPIRE)
        .bind::<Timestamptz, _>(at)
        .bind::<SqlUuid, _>(message.chat_id.uuid())
        .bind::<Timestamptz, _>(at)
        .execute(&mut db)
        .await?;
    if let Some(token) = &new.token {
        statement::<()>(row::SUPERSEDE)
            .bind::<Timestamptz, _>(at)
            .bind::<SqlUuid, _>(message.chat_id.uuid())
            .bind::<SqlUuid, _>(message.sender.uuid())
            .bind::<Text, _>(token.as_str())
            .execute(&mut db)
            .await?;
    }
    statement::<()>(row::INSERT)
        .bind::<SqlUuid, _>(message.id.uuid())
        .bind::<SqlUuid, _>(message.chat_id.uuid())
        .bind::<SqlUuid, _>(message.sender.uuid())
        .bind::<Text, _>(new.kind.as_str())
        .bind::<Bool, _>(new.is_blocking)
        .bind::<Nullable<Text>, _>(new.adapter.map(Adapter::as_str))
        .bind::<Nullable<Text>, _>(new.token.as_deref())
        .bind::<Nullable<Text>, _>(new.default.as_deref())
        .bind::<Timestamptz, _>(at)
        .bind::<Nullable<Timestamptz>, _>(new.expires_at.map(At))
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Returns the items that were ended.
async fn closed_on(mut db: &Db, closed: &ClosedItem, message: &Message) -> Result<Vec<Uuid>, Fault> {
    let (at, chat) = (At(message.created_at), message.chat_id.uuid());
    let by = closed.by.map(UserId::uuid);
    let answer = by.map(|_| message.id.uuid());
    let outcome = closed.outcome.as_str();
    let mut all = Vec::new();
    match &closed.which {
        WhichItem::Of { message: item, askers, can_be_approval } => {
            for asker in askers {
                let close = statement::<SqlUuid>(row::CLOSE)
                    .bind::<Text, _>(outcome)
                    .bind::<Timestamptz, _>(at)
                    .bind::<Nullable<SqlUuid>, _>(by)
                    .bind::<Nullable<SqlUuid>, _>(answer)
                    .bind::<SqlUuid, _>(item.uuid())
                    .bind::<SqlUuid, _>(chat)
                    .bind::<SqlUuid, _>(asker.uuid())
                    .bind::<Bool, _>(*can_be_approval);
                all.extend(close.load::<Uuid>(&mut db).await?);
            }
        }
        WhichItem::Approval { token, adapters, askers } => {
            for (asker, adapter) in pairs(askers, adapters) {
                let decide = statement::<SqlUuid>(row::DECIDE)
                    .bind::<Text, _>(outcome)
                    .bind::<Timestamptz, _>(at)
                    .bind::<Nullable<SqlUuid>, _>(by)
                    .bind::<Nullable<SqlUuid>, _>(answer)
                    .bind::<SqlUuid, _>(chat)
                    .bind::<SqlUuid, _>(asker.uuid())
                    .bind::<Text, _>(token.as_str())
                    .bind::<Text, _>(adapter.as_str());
                all.extend(decide.load::<Uuid>(&mut db).await?);
            }
        }
    }
    Ok(all)
}

/// Names the hold that a stored notice is about.
pub(crate) async fn name_hold_on(
    mut db: &Db,
    notice: MessageId,
    subject: SubjectId,
    by: HeldBy,
) -> Result<(), Fault> {
    let name = statement::<()>(row::NAME_HOLD).bind::<Text, _>(hold_token(subject, by));
    name.bind::<SqlUuid, _>(notice.uuid()).execute(&mut db).await?;
    Ok(())
}

/// Ends the notices about holds that ended when a delivery of this message changed.
pub(crate) async fn release_on(
    mut db: &Db,
    message: &Message,
    by: HeldBy,
    now: Timestamp,
) -> Result<(), Fault> {
    for token in ended_tokens(message, by) {
        statement::<()>(row::RELEASE)
            .bind::<Timestamptz, _>(At(now))
            .bind::<Text, _>(token)
            .execute(&mut db)
            .await?;
    }
    Ok(())
}

/// Erases the items of erased messages.
pub(crate) async fn erase_on(mut db: &Db, messages: Vec<Uuid>) -> Result<(), Fault> {
    let erase = statement::<()>("DELETE FROM attention_items WHERE message_id = ANY(?)");
    erase.bind::<Array<SqlUuid>, _>(messages).execute(&mut db).await?;
    Ok(())
}
